// Features of a serialized tf.train.Example, read where they lie.
#ifndef LIQUID_OPS_ENGINE_EXAMPLE_H_
#define LIQUID_OPS_ENGINE_EXAMPLE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "ops/core/span.h"
#include "ops/core/status.h"

namespace liquid {

// The values of one feature, of one kind.
struct ExampleFeature {
  enum class Kind { kNone, kBytes, kFloats, kInt64s };

  Kind kind = Kind::kNone;      // that of a feature without values too
  std::vector<ByteSpan> bytes;  // in the serialized Example
  std::vector<float> floats;
  std::vector<int64_t> int64s;

  size_t size() const { return bytes.size() + floats.size() + int64s.size(); }
};

// An index of an Example, whose bytes must outlive it. Thread-compatible.
class ExampleReader {
 public:
  // Error: DataLoss where the bytes are no Example.
  Status Open(ByteSpan serialized);
  // The feature of a name; of a name that comes twice, the last. Kind kNone
  // where there is none. Error: DataLoss where its bytes are no feature.
  Status Find(const std::string& name, ExampleFeature* feature) const;

 private:
  std::vector<std::pair<ByteSpan, ByteSpan>> features_;  // names and values
};

}  // namespace liquid

#endif  // LIQUID_OPS_ENGINE_EXAMPLE_H_
