// Reads the messages that liquid_tf/_native/messages.py writes for ops.
//
// They have the format of protocol buffers, and one encoding of each value, so
// that equal graphs have equal bytes. Fields ascend by number, and each stands
// once, whatever its value; that of a list of texts or messages stands once an
// entry. Numbers are varints of two's complement, lists of them are packed, and
// reals are fixed64.
//
// Pure, thread-safe, O(bytes). What is allocated follows from the bytes at
// hand, never from a number in them.
#ifndef LIQUID_OPS_MESSAGE_MESSAGE_FIELDS_H_
#define LIQUID_OPS_MESSAGE_MESSAGE_FIELDS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "ops/core/span.h"
#include "ops/core/status.h"

namespace protozero {
class pbf_reader;
}

namespace liquid {

// The fields of one kind of message, and where their values go. They are added
// by ascending number; what they point to must outlive Read.
class MessageFields {
 public:
  // Reads the message of an entry, whose name is `path`.
  using ReadEntry = std::function<Status(ByteSpan, const std::string& path)>;

  MessageFields& Number(uint32_t number, const char* name, int64_t* value,
                        int64_t least = INT64_MIN, int64_t most = INT64_MAX);
  MessageFields& Numbers(uint32_t number, const char* name,
                         std::vector<int64_t>* values, int64_t least,
                         int64_t most = INT64_MAX);
  MessageFields& Flag(uint32_t number, const char* name, bool* value);
  MessageFields& Real(uint32_t number, const char* name, double* value,
                      double least, double most);
  // One of `allowed`, unless that is empty.
  MessageFields& Text(uint32_t number, const char* name, std::string* value,
                      std::vector<std::string> allowed = {});
  MessageFields& Texts(uint32_t number, const char* name,
                       std::vector<std::string>* values);
  MessageFields& Message(uint32_t number, const char* name, ReadEntry read);
  MessageFields& Messages(uint32_t number, const char* name, ReadEntry read);

  // Reads a message; `path` is its name in the one that holds it, empty for
  // none. Error: InvalidArgument that names field, value and constraint; values
  // are then unspecified.
  Status Read(ByteSpan bytes, const std::string& path) const;

 private:
  enum class Wire { kVarint, kFixed64, kBytes };
  struct Field {
    uint32_t number;
    const char* name;
    bool many;  // stands as often as it has entries
    Wire wire;
    // Reads the value of the field `path`, the entry of that number.
    std::function<Status(protozero::pbf_reader*, const std::string& path,
                         size_t entry)>
        read;
  };

  MessageFields& Add(Field field);
  Status Check(const protozero::pbf_reader& reader, size_t next, size_t* found,
               const std::string& where) const;
  // Error: one of the fields from `begin` to before `end` must stand there.
  Status CheckAbsent(size_t begin, size_t end, const std::string& where) const;

  std::vector<Field> fields_;
};

}  // namespace liquid

#endif  // LIQUID_OPS_MESSAGE_MESSAGE_FIELDS_H_
