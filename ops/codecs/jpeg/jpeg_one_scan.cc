#include "ops/codecs/jpeg/jpeg_one_scan.h"

#include <utility>
#include <vector>

#include "ops/codecs/jpeg/jpeg_scans.h"
#include "ops/codecs/jpeg/jpeg_transform.h"

namespace liquid {
namespace {

class Transform : public JpegTransform {
 public:
  explicit Transform(std::vector<JpegSegment> kept) : kept_(std::move(kept)) {}

 private:
  void Prepare() override {
    // They are among those that are kept.
    target_.write_JFIF_header = FALSE;
    target_.write_Adobe_marker = FALSE;
  }
  void WriteMarkers() override {
    for (const JpegSegment& segment : kept_) {
      jpeg_write_marker(&target_, segment.marker, segment.payload.data,
                        static_cast<unsigned>(segment.payload.size));
    }
  }

  const std::vector<JpegSegment> kept_;
};

}  // namespace

Status ToOneScan(ByteSpan jpeg, std::string* one) {
  if (HasScans(jpeg)) {
    Transform transform(FindAppSegments(jpeg));
    LIQUID_RETURN_IF_ERROR(transform.Read(jpeg));
    one->clear();
    if (transform.IsExact() && transform.Write(one).ok()) return OkStatus();
  }
  one->assign(reinterpret_cast<const char*>(jpeg.data), jpeg.size);
  return OkStatus();
}

}  // namespace liquid
