#include "ops/containers/recordio/recordio.h"

#include <cstddef>
#include <cstring>

#include "ops/codecs/jpeg/jpeg_index.h"
#include "ops/containers/recordio/fragment.h"
#include "ops/containers/recordio/little_endian.h"

namespace liquid {
namespace {

constexpr size_t kSampleHeader = 24;

// The header has room for one label and none for "no label": a quiet NaN with
// these bits stands for it, so that the readers of other projects, which always
// return a label, return one that nobody mistakes for a class.
constexpr uint32_t kNoLabel = 0x7fc00000;

void AppendFragment(FragmentFlag flag, const uint8_t* data, size_t size,
                    std::string* out) {
  AppendLittleEndian<uint32_t>(kRecordIOMagic, out);
  AppendLittleEndian<uint32_t>(flag << 29 | static_cast<uint32_t>(size), out);
  out->append(reinterpret_cast<const char*>(data), size);
  out->append((4 - size % 4) % 4, '\0');
}

uint32_t FloatBits(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  return bits;
}

float BitsFloat(uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}

}  // namespace

Status AppendRecord(ByteSpan payload, std::string* out) {
  // dmlc-core refuses the whole payload, not only a fragment, at this size.
  if (payload.size > kRecordIOMaxSize) {
    return InvalidArgument("a record's payload (" +
                           std::to_string(payload.size) +
                           " bytes) must be less than 2^29 bytes");
  }
  out->reserve(out->size() + kFragmentHeader + payload.size + 4);
  size_t begin = 0;
  bool cut = false;
  while (true) {
    // From one magic to the next; both lie at multiples of 4.
    const size_t size =
        FindMagic(ByteSpan(payload.data + begin, payload.size - begin));
    if (begin + size == payload.size) break;
    AppendFragment(cut ? kMiddle : kFirst, payload.data + begin, size, out);
    cut = true;
    begin += size + 4;
  }
  AppendFragment(cut ? kLast : kWhole, payload.data + begin,
                 payload.size - begin, out);
  return OkStatus();
}

Status ParseRecord(ByteSpan framed, std::string* scratch, ByteSpan* payload) {
  size_t position = 0;
  bool joining = false;
  while (true) {
    Fragment fragment;
    LIQUID_RETURN_IF_ERROR(
        ParseFragment(framed, position, 0, joining, &fragment));
    if (fragment.framed > framed.size - position) {
      return DataLoss("fragment of " + std::to_string(fragment.size) +
                      " bytes" + AtOffset(position) +
                      " passes the end of the record, " +
                      std::to_string(framed.size));
    }
    const ByteSpan data(framed.data + position + kFragmentHeader,
                        fragment.size);
    position += fragment.framed;
    if (fragment.flag == kWhole) {
      *payload = data;
      break;
    }
    if (fragment.flag == kFirst) {
      joining = true;
      scratch->clear();
      scratch->reserve(framed.size);
    } else {
      AppendLittleEndian<uint32_t>(kRecordIOMagic, scratch);
    }
    scratch->append(reinterpret_cast<const char*>(data.data), data.size);
    if (fragment.flag == kLast) {
      *payload = ByteSpan(scratch->data(), scratch->size());
      break;
    }
  }
  if (position != framed.size) {
    return DataLoss(std::to_string(framed.size - position) +
                    " bytes follow the record's end" + AtOffset(position));
  }
  return OkStatus();
}

Status AppendSamplePayload(const SampleRecord& sample, std::string* out) {
  if (sample.labels.size() > kRecordIOMaxSize / 4) {
    return InvalidArgument("a sample's labels (" +
                           std::to_string(sample.labels.size()) +
                           ") must fit into a record of 2^29 bytes");
  }
  // Where nothing follows, the image is all the rest: id2 = 0, as MXNet's own
  // tools write it. An empty image before more cannot be told from that.
  const bool more = sample.index.size != 0 || sample.example.size != 0;
  if (sample.image.size == 0 && more) {
    return InvalidArgument(
        "a sample with an index or an example must have an image");
  }
  // How it begins, and its size, are how a reader finds the index.
  size_t index_size = 0, other_size = 0;
  if (!JpegIndexSize(sample.index, &index_size).ok() ||
      index_size != sample.index.size ||
      !JpegIndexSize(sample.example, &other_size).ok() || other_size != 0) {
    return InvalidArgument(
        "a sample's index must be that of a JPEG, and its example a "
        "tf.train.Example");
  }
  const bool in_header = sample.labels.size() <= 1;
  const uint32_t label = sample.labels.size() == 1 ? FloatBits(sample.labels[0])
                                                   : (in_header ? kNoLabel : 0);
  AppendLittleEndian<uint32_t>(
      in_header ? 0 : static_cast<uint32_t>(sample.labels.size()), out);
  AppendLittleEndian<uint32_t>(label, out);
  AppendLittleEndian<uint64_t>(sample.id, out);
  AppendLittleEndian<uint64_t>(more ? sample.image.size : 0, out);
  if (!in_header) {
    for (float value : sample.labels) {
      AppendLittleEndian<uint32_t>(FloatBits(value), out);
    }
  }
  for (ByteSpan part : {sample.image, sample.index, sample.example}) {
    out->append(reinterpret_cast<const char*>(part.data), part.size);
  }
  return OkStatus();
}

Status ParseSamplePayload(ByteSpan payload, SampleRecord* sample) {
  if (payload.size < kSampleHeader) {
    return DataLoss("payload of " + std::to_string(payload.size) +
                    " bytes is shorter than the 24-byte header of a sample");
  }
  const uint32_t flag = LoadLittleEndian<uint32_t>(payload.data);
  const uint32_t label = LoadLittleEndian<uint32_t>(payload.data + 4);
  sample->id = LoadLittleEndian<uint64_t>(payload.data + 8);
  const uint64_t image_size = LoadLittleEndian<uint64_t>(payload.data + 16);

  size_t position = kSampleHeader;
  sample->labels.clear();
  if (flag > (payload.size - position) / 4) {
    return DataLoss("flag says " + std::to_string(flag) +
                    " labels, more than the payload's " +
                    std::to_string(payload.size) + " bytes hold" + AtOffset(0));
  }
  if (flag > 0) {
    sample->labels.reserve(flag);
    for (uint32_t i = 0; i < flag; ++i, position += 4) {
      sample->labels.push_back(
          BitsFloat(LoadLittleEndian<uint32_t>(payload.data + position)));
    }
  } else if (label != kNoLabel) {
    sample->labels.push_back(BitsFloat(label));
  }
  const size_t rest = payload.size - position;
  if (image_size > rest) {
    return DataLoss("id2 says an image of " + std::to_string(image_size) +
                    " bytes, but " + std::to_string(rest) + " are left" +
                    AtOffset(16));
  }
  const size_t size = image_size ? static_cast<size_t>(image_size) : rest;
  sample->image = ByteSpan(payload.data + position, size);
  position += size;
  const ByteSpan behind(payload.data + position, rest - size);
  size_t index_size = 0;
  const Status status = JpegIndexSize(behind, &index_size);
  if (!status.ok()) {
    return DataLoss(status.message() + AtOffset(position));
  }
  sample->index = ByteSpan(behind.data, index_size);
  sample->example =
      ByteSpan(behind.data + index_size, behind.size - index_size);
  return OkStatus();
}

}  // namespace liquid
