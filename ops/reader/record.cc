#include "ops/reader/record.h"

namespace liquid {

std::string Record::Where() const {
  if (is_block) {
    return shard + ", bytes " + std::to_string(row.offset) + " to " +
           std::to_string(row.offset + row.length);
  }
  if (all_groups > 0) {
    return shard + ", scan groups 1 to " + std::to_string(groups);
  }
  return shard + ", record " + std::to_string(number) + " (sample " +
         std::to_string(row.sample) + ", offset " + std::to_string(row.offset) +
         ")";
}

}  // namespace liquid
