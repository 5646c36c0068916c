#include "ops/engine/example.h"

#include <cstring>
#include <protozero/pbf_reader.hpp>
#include <protozero/version.hpp>

namespace liquid {
namespace {

using protozero::data_view;
using protozero::pbf_reader;
using protozero::pbf_wire_type;
using Kind = ExampleFeature::Kind;

ByteSpan Span(const data_view& view) {
  return ByteSpan(view.data(), view.size());
}

pbf_reader Reader(ByteSpan bytes) {
  return pbf_reader(
      data_view(reinterpret_cast<const char*>(bytes.data), bytes.size));
}

// Whether the reader is at a field of that number and encoding; one of another
// encoding is not known.
bool Is(const pbf_reader& reader, uint32_t tag,
        pbf_wire_type type = pbf_wire_type::length_delimited) {
  return reader.tag() == tag && reader.wire_type() == type;
}

// Calls `read` with the reader at each field. Error: DataLoss for bytes that
// are no message.
template <typename Read>
Status ForEach(pbf_reader reader, Read read) {
  try {
    while (reader.next()) read(&reader);
  } catch (const protozero::exception&) {
    return DataLoss("the record's Example cannot be parsed");
  }
  return OkStatus();
}

// message FloatList { repeated float value = 1 [packed = true]; }
void ReadFloats(pbf_reader list, std::vector<float>* values) {
  while (list.next()) {
    if (Is(list, 1)) {
      const auto packed = list.get_packed_float();
      values->insert(values->end(), packed.begin(), packed.end());
    } else if (Is(list, 1, pbf_wire_type::fixed32)) {
      values->push_back(list.get_float());
    } else {
      list.skip();
    }
  }
}

// message Int64List { repeated int64 value = 1 [packed = true]; }
void ReadInt64s(pbf_reader list, std::vector<int64_t>* values) {
  while (list.next()) {
    if (Is(list, 1)) {
      const auto packed = list.get_packed_int64();
      values->insert(values->end(), packed.begin(), packed.end());
    } else if (Is(list, 1, pbf_wire_type::varint)) {
      values->push_back(list.get_int64());
    } else {
      list.skip();
    }
  }
}

// message BytesList { repeated bytes value = 1; }
void ReadBytes(pbf_reader list, std::vector<ByteSpan>* values) {
  while (list.next()) {
    if (Is(list, 1)) {
      values->push_back(Span(list.get_view()));
    } else {
      list.skip();
    }
  }
}

}  // namespace

// message Example { Features features = 1; }
// message Features { map<string, Feature> feature = 1; }
Status ExampleReader::Open(ByteSpan serialized) {
  features_.clear();
  return ForEach(Reader(serialized), [this](pbf_reader* example) {
    if (!Is(*example, 1)) return example->skip();
    pbf_reader features = example->get_message();
    while (features.next()) {
      if (!Is(features, 1)) {
        features.skip();
        continue;
      }
      pbf_reader entry = features.get_message();
      ByteSpan name, value;
      while (entry.next()) {
        if (Is(entry, 1)) {
          name = Span(entry.get_view());
        } else if (Is(entry, 2)) {
          value = Span(entry.get_view());
        } else {
          entry.skip();
        }
      }
      features_.emplace_back(name, value);
    }
  });
}

// message Feature {
//   oneof kind { BytesList bytes_list = 1; FloatList float_list = 2;
//                Int64List int64_list = 3; }
// }
Status ExampleReader::Find(const std::string& name,
                           ExampleFeature* feature) const {
  *feature = ExampleFeature();
  for (auto entry = features_.rbegin(); entry != features_.rend(); ++entry) {
    const ByteSpan key = entry->first;
    if (key.size != name.size() ||
        (key.size > 0 && std::memcmp(key.data, name.data(), key.size) != 0)) {
      continue;
    }
    return ForEach(Reader(entry->second), [feature](pbf_reader* field) {
      const uint32_t tag = field->tag();
      if (tag < 1 || tag > 3 || !Is(*field, tag)) return field->skip();
      const Kind kind = static_cast<Kind>(tag);
      // The last kind is that of the feature; a list that comes twice is one.
      if (kind != feature->kind) *feature = ExampleFeature();
      feature->kind = kind;
      pbf_reader list = field->get_message();
      if (kind == Kind::kBytes) ReadBytes(list, &feature->bytes);
      if (kind == Kind::kFloats) ReadFloats(list, &feature->floats);
      if (kind == Kind::kInt64s) ReadInt64s(list, &feature->int64s);
    });
  }
  return OkStatus();
}

}  // namespace liquid
