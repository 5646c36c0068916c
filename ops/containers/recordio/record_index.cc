#include "ops/containers/recordio/record_index.h"

#include <algorithm>
#include <charconv>

namespace liquid {
namespace {

bool IsBlank(char c) { return c == ' ' || c == '\t'; }

// Reads the number at `*begin`, with the blanks before it. It may not have a
// plus sign.
template <typename T>
bool ReadNumber(const char** begin, const char* end, T* value) {
  *begin = std::find_if_not(*begin, end, IsBlank);
  const auto [next, error] = std::from_chars(*begin, end, *value);
  if (error != std::errc()) return false;
  *begin = next;
  return true;
}

bool ReadLine(const char* begin, const char* end, RecordIndexEntry* entry) {
  int64_t offset;
  if (!ReadNumber(&begin, end, &entry->key)) return false;
  if (begin == end || !IsBlank(*begin)) return false;
  if (!ReadNumber(&begin, end, &offset) || offset < 0) return false;
  entry->offset = static_cast<uint64_t>(offset);
  return std::all_of(begin, end, IsBlank);
}

}  // namespace

Status ParseRecordIndex(ByteSpan text, std::vector<RecordIndexEntry>* entries) {
  std::vector<RecordIndexEntry> read;
  const char* begin = reinterpret_cast<const char*>(text.data);
  const char* const end = begin + text.size;
  for (uint64_t line = 1; begin != end; ++line) {
    const char* const feed = std::find(begin, end, '\n');
    const char* stop = feed;
    if (stop != begin && stop[-1] == '\r') --stop;
    RecordIndexEntry entry;
    if (!std::all_of(begin, stop, IsBlank)) {
      if (!ReadLine(begin, stop, &entry)) {
        constexpr ptrdiff_t kShown = 40;
        std::string shown(begin, std::min(stop - begin, kShown));
        std::replace_if(
            shown.begin(), shown.end(),
            [](char c) { return c < ' ' || c > '~'; }, '?');
        return DataLoss("line " + std::to_string(line) + " (\"" + shown +
                        "\") must be a key and an offset, two integers");
      }
      read.push_back(entry);
    }
    begin = feed == end ? end : feed + 1;
  }
  *entries = std::move(read);
  return OkStatus();
}

void AppendRecordIndex(const std::vector<RecordIndexEntry>& entries,
                       std::string* text) {
  for (const RecordIndexEntry& entry : entries) {
    *text +=
        std::to_string(entry.key) + '\t' + std::to_string(entry.offset) + '\n';
  }
}

}  // namespace liquid
