#include "ops/codecs/jpeg/jpeg_progressive.h"

#include <vector>

#include "ops/codecs/jpeg/jpeg_codec.h"
#include "ops/codecs/jpeg/jpeg_scans.h"
#include "ops/codecs/jpeg/jpeg_transform.h"

namespace liquid {
namespace {

class Transform : public JpegTransform {
  void Prepare() override { jpeg_simple_progression(&target_); }
};

}  // namespace

Status ToProgressive(ByteSpan jpeg, const DecodeLimits& limits,
                     std::string* progressive) {
  ImageInfo info;
  LIQUID_RETURN_IF_ERROR(PeekJpeg(jpeg, limits, &info));
  Transform transform;
  LIQUID_RETURN_IF_ERROR(transform.Read(jpeg));
  if (!transform.IsExact()) {
    std::vector<ByteSpan> chunks;
    LIQUID_RETURN_IF_ERROR(SplitScans(jpeg, &chunks));
    const ByteSpan& last = chunks.back();
    progressive->assign(jpeg.data, last.data + last.size);
    progressive->append("\xff\xd9", 2);
    return OkStatus();
  }
  progressive->clear();
  return transform.Write(progressive);
}

}  // namespace liquid
