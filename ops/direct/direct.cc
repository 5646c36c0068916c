#include "ops/direct/direct.h"

#include <string>

#include "ops/codecs/codec.h"
#include "ops/containers/pcr/pcr_record.h"
#include "ops/core/crc32c.h"
#include "ops/direct/problem.h"

namespace liquid {
namespace {

Status DecodeWhole(ByteSpan file, ByteSpan index, const LiquidImage& image,
                   uint8_t* pixels) {
  Format format;
  if (image.format < 0) {
    LIQUID_RETURN_IF_ERROR(SniffFormat(file, &format));
  } else if (image.format <= static_cast<int32_t>(kLastFormat)) {
    format = static_cast<Format>(image.format);
  } else {
    return InvalidArgument("format (" + std::to_string(image.format) +
                           ") must be one of the codecs'");
  }
  if (image.channels < 1 || image.channels > 4 ||
      (image.bits != 8 && image.bits != 16)) {
    return InvalidArgument("channels (" + std::to_string(image.channels) +
                           ") must be 1 to 4, and bits (" +
                           std::to_string(image.bits) + ") 8 or 16");
  }
  ImageInfo info;
  info.height = image.height;
  info.width = image.width;
  info.channels = static_cast<uint8_t>(image.channels);
  info.bits = static_cast<uint8_t>(image.bits);
  DecodeLimits limits;
  limits.max_pixels = image.max_pixels;
  limits.max_scans = image.max_scans;
  return DecodeIndexed(format, file, index, limits, info,
                       {0, 0, info.height, info.width}, pixels,
                       info.RowBytes());
}

Status FindPlaces(const LiquidPcr& pcr, const LiquidPcrPlaces& places) {
  if (pcr.parts < 2) {
    return InvalidArgument("parts (" + std::to_string(pcr.parts) +
                           ") must be at least 2");
  }
  PcrEntry entry;
  entry.lengths.assign(pcr.lengths, pcr.lengths + pcr.parts);
  entry.crc32cs.assign(pcr.crc32cs, pcr.crc32cs + pcr.parts);
  PcrView view;
  const ByteSpan record(pcr.record.data, pcr.record.size);
  LIQUID_RETURN_IF_ERROR(PcrView::Parse(record, entry, entry.groups(), &view));
  if (view.images() != pcr.images) {
    return DataLoss("pcr: the record has " + std::to_string(view.images()) +
                    " images, its manifest says " + std::to_string(pcr.images));
  }
  const auto put = [&record](ByteSpan part, uint64_t* place) {
    place[0] = part.size == 0 ? 0 : part.data - record.data;
    place[1] = part.size;
  };
  for (size_t i = 0; i < pcr.images; ++i) {
    for (size_t group = 1; group <= view.groups(); ++group) {
      put(view.chunk(i, group),
          places.chunks + 2 * ((group - 1) * pcr.images + i));
    }
    put(view.example(i), places.examples + 2 * i);
    places.labels[i] = view.label(i);
  }
  return OkStatus();
}

}  // namespace
}  // namespace liquid

uint32_t liquid_direct_crc32c(LiquidBytes bytes, uint32_t crc) {
  return liquid::ExtendCrc32c(crc, liquid::ByteSpan(bytes.data, bytes.size));
}

bool liquid_direct_decode(LiquidBytes file, LiquidBytes index,
                          const LiquidImage* image, uint8_t* pixels,
                          LiquidProblem problem) {
  const auto decode = [&] {
    return liquid::DecodeWhole(liquid::ByteSpan(file.data, file.size),
                               liquid::ByteSpan(index.data, index.size), *image,
                               pixels);
  };
  return liquid::Guarded(problem, decode) == liquid::StatusCode::kOk;
}

bool liquid_direct_pcr(const LiquidPcr* pcr, const LiquidPcrPlaces* places,
                       LiquidProblem problem) {
  const auto find = [&] { return liquid::FindPlaces(*pcr, *places); };
  return liquid::Guarded(problem, find) == liquid::StatusCode::kOk;
}
