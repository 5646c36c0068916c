// A finding as JSON: an object of names and values, in their order.
#ifndef LIQUID_OPS_GPU_BENCH_ROW_H_
#define LIQUID_OPS_GPU_BENCH_ROW_H_

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

namespace liquid {

inline std::string JsonString(const std::string& text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    if (static_cast<unsigned char>(c) < 0x20) {
      char escaped[8];
      std::snprintf(escaped, sizeof(escaped), "\\u%04x", c);
      quoted += escaped;
    } else {
      quoted += c;
    }
  }
  return quoted + '"';
}

class Row {
 public:
  Row& Add(const char* name, const std::string& value) {
    return AddJson(name, JsonString(value));
  }
  Row& Add(const char* name, const char* value) {
    return Add(name, std::string(value));
  }
  Row& Add(const char* name, bool value) {
    return AddJson(name, value ? "true" : "false");
  }
  Row& Add(const char* name, double value) {
    char text[32] = "null";  // JSON has no other
    if (std::isfinite(value)) std::snprintf(text, sizeof(text), "%.6g", value);
    return AddJson(name, text);
  }
  Row& Add(const char* name, int64_t value) {
    return AddJson(name, std::to_string(value));
  }
  Row& Add(const char* name, int value) { return Add(name, int64_t{value}); }
  Row& Add(const char* name, uint64_t value) {
    return AddJson(name, std::to_string(value));
  }
  Row& Add(const char* name, uint32_t value) {
    return Add(name, uint64_t{value});
  }
  Row& Add(const char* name, const Row& value) {
    return AddJson(name, value.Json());
  }
  Row& Add(const char* name, const std::vector<Row>& values) {
    std::string list;
    for (const Row& value : values) {
      list += (list.empty() ? "" : ",\n") + value.Json();
    }
    return AddJson(name, "[" + list + "]");
  }
  // `json` is a value already.
  Row& AddJson(const char* name, const std::string& json) {
    members_ += (members_.empty() ? "" : ", ") + JsonString(name) + ": " + json;
    return *this;
  }
  std::string Json() const { return "{" + members_ + "}"; }

 private:
  std::string members_;
};

}  // namespace liquid

#endif  // LIQUID_OPS_GPU_BENCH_ROW_H_
