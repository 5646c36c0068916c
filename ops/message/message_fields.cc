#include "ops/message/message_fields.h"

#include <algorithm>
#include <cstdio>
#include <protozero/pbf_reader.hpp>
#include <utility>

namespace liquid {
namespace {

using protozero::pbf_reader;
using protozero::pbf_wire_type;

Status CheckRange(const std::string& name, int64_t value, int64_t least,
                  int64_t most) {
  if (value >= least && value <= most) return OkStatus();
  const std::string least_text = std::to_string(least);
  return InvalidArgument(
      name + " (" + std::to_string(value) + ") must be " +
      (most == INT64_MAX ? "at least " + least_text
                         : "in " + least_text + ".." + std::to_string(most)));
}

Status CheckAllowed(const std::string& name, const std::string& value,
                    const std::vector<std::string>& allowed) {
  if (allowed.empty() ||
      std::find(allowed.begin(), allowed.end(), value) != allowed.end()) {
    return OkStatus();
  }
  std::string list;
  for (const std::string& one : allowed) {
    list += (list.empty() ? "" : ", ") + one;
  }
  return InvalidArgument(name + " (\"" + value + "\") must be one of " + list);
}

std::string RealText(double value) {
  char text[32];
  std::snprintf(text, sizeof(text), "%g", value);
  return text;
}

std::string EntryName(const std::string& path, size_t entry) {
  return path + "[" + std::to_string(entry) + "]";
}

}  // namespace

MessageFields& MessageFields::Add(Field field) {
  fields_.push_back(std::move(field));
  return *this;
}

MessageFields& MessageFields::Number(uint32_t number, const char* name,
                                     int64_t* value, int64_t least,
                                     int64_t most) {
  return Add({number, name, false, Wire::kVarint,
              [=](pbf_reader* reader, const std::string& path, size_t) {
                *value = reader->get_int64();
                return CheckRange(path, *value, least, most);
              }});
}

MessageFields& MessageFields::Numbers(uint32_t number, const char* name,
                                      std::vector<int64_t>* values,
                                      int64_t least, int64_t most) {
  return Add({number, name, false, Wire::kBytes,
              [=](pbf_reader* reader, const std::string& path, size_t) {
                values->clear();
                for (const int64_t value : reader->get_packed_int64()) {
                  LIQUID_RETURN_IF_ERROR(CheckRange(
                      EntryName(path, values->size()), value, least, most));
                  values->push_back(value);
                }
                return OkStatus();
              }});
}

MessageFields& MessageFields::Flag(uint32_t number, const char* name,
                                   bool* value) {
  return Add({number, name, false, Wire::kVarint,
              [=](pbf_reader* reader, const std::string& path, size_t) {
                const int64_t given = reader->get_int64();
                *value = given != 0;
                return CheckRange(path, given, 0, 1);
              }});
}

MessageFields& MessageFields::Real(uint32_t number, const char* name,
                                   double* value, double least, double most) {
  return Add({number, name, false, Wire::kFixed64,
              [=](pbf_reader* reader, const std::string& path, size_t) {
                *value = reader->get_double();
                if (*value >= least && *value <= most) return OkStatus();
                return InvalidArgument(path + " (" + RealText(*value) +
                                       ") must be from " + RealText(least) +
                                       " to " + RealText(most));
              }});
}

MessageFields& MessageFields::Text(uint32_t number, const char* name,
                                   std::string* value,
                                   std::vector<std::string> allowed) {
  return Add({number, name, false, Wire::kBytes,
              [value, allowed = std::move(allowed)](
                  pbf_reader* reader, const std::string& path, size_t) {
                *value = reader->get_string();
                return CheckAllowed(path, *value, allowed);
              }});
}

MessageFields& MessageFields::Texts(uint32_t number, const char* name,
                                    std::vector<std::string>* values) {
  values->clear();
  return Add({number, name, true, Wire::kBytes,
              [=](pbf_reader* reader, const std::string&, size_t) {
                values->push_back(reader->get_string());
                return OkStatus();
              }});
}

MessageFields& MessageFields::Message(uint32_t number, const char* name,
                                      ReadEntry read) {
  return Add({number, name, false, Wire::kBytes,
              [read = std::move(read)](pbf_reader* reader,
                                       const std::string& path, size_t) {
                const protozero::data_view view = reader->get_view();
                return read(ByteSpan(view.data(), view.size()), path);
              }});
}

MessageFields& MessageFields::Messages(uint32_t number, const char* name,
                                       ReadEntry read) {
  return Add({number, name, true, Wire::kBytes,
              [read = std::move(read)](pbf_reader* reader,
                                       const std::string& path, size_t entry) {
                const protozero::data_view view = reader->get_view();
                return read(ByteSpan(view.data(), view.size()),
                            EntryName(path, entry));
              }});
}

Status MessageFields::CheckAbsent(size_t begin, size_t end,
                                  const std::string& where) const {
  for (size_t f = begin; f < end; ++f) {
    if (fields_[f].many) continue;
    return InvalidArgument(where + ": field " + fields_[f].name +
                           " must be there, behind those of lower numbers");
  }
  return OkStatus();
}

// Finds the field at which a reader stands, where it may: `next` is the first
// that has not been read yet.
Status MessageFields::Check(const pbf_reader& reader, size_t next,
                            size_t* found, const std::string& where) const {
  size_t f = 0;
  while (f < fields_.size() && fields_[f].number != reader.tag()) ++f;
  if (f == fields_.size()) {
    return InvalidArgument(where + ": field " + std::to_string(reader.tag()) +
                           " must be one of 1.." +
                           std::to_string(fields_.back().number));
  }
  const Field& field = fields_[f];
  const std::string name = where + ": field " + field.name;
  if (f + 1 == next && !field.many) {
    return InvalidArgument(name + " must stand once, and stands again");
  }
  if (f + 1 < next) {
    return InvalidArgument(name + " must stand before " +
                           fields_[next - 1].name);
  }
  if (f >= next) LIQUID_RETURN_IF_ERROR(CheckAbsent(next, f, where));
  constexpr pbf_wire_type kTypes[] = {pbf_wire_type::varint,
                                      pbf_wire_type::fixed64,
                                      pbf_wire_type::length_delimited};
  const pbf_wire_type type = kTypes[static_cast<size_t>(field.wire)];
  if (reader.wire_type() != type) {
    return InvalidArgument(
        name + " must have the wire type " +
        std::to_string(static_cast<uint32_t>(type)) + ", not " +
        std::to_string(static_cast<uint32_t>(reader.wire_type())));
  }
  *found = f;
  return OkStatus();
}

// The library throws on a field that passes the end, among others; nothing of
// that leaves this function.
Status MessageFields::Read(ByteSpan bytes, const std::string& path) const {
  const std::string where = path.empty() ? "message" : "message " + path;
  pbf_reader reader(reinterpret_cast<const char*>(bytes.data), bytes.size);
  size_t next = 0;   // the first field that has not been read
  size_t entry = 0;  // of the last one that has
  try {
    while (reader.next()) {
      size_t f = 0;
      LIQUID_RETURN_IF_ERROR(Check(reader, next, &f, where));
      entry = f + 1 == next ? entry + 1 : 0;
      next = f + 1;
      LIQUID_RETURN_IF_ERROR(fields_[f].read(
          &reader, (path.empty() ? "" : path + ".") + fields_[f].name, entry));
    }
  } catch (const protozero::exception& error) {
    return InvalidArgument(where + " must be whole, and is damaged or cut " +
                           (next == 0 ? "at its begin"
                                      : std::string("at or behind field ") +
                                            fields_[next - 1].name) +
                           " (" + error.what() + ")");
  }
  return CheckAbsent(next, fields_.size(), where);
}

}  // namespace liquid
