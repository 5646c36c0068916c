#include "ops/codecs/jpeg/jpeg_progressive.h"

#include <cstring>
#include <vector>

#include "ops/codecs/jpeg/jpeg_codec.h"
#include "ops/codecs/jpeg/jpeg_destination.h"
#include "ops/codecs/jpeg/jpeg_errors.h"
#include "ops/codecs/jpeg/jpeg_library.h"
#include "ops/codecs/jpeg/jpeg_scans.h"

namespace liquid {
namespace {

class Transform {
 public:
  Transform() {
    std::memset(&source_, 0, sizeof(source_));
    std::memset(&target_, 0, sizeof(target_));
  }
  ~Transform() {
    jpeg_destroy_compress(&target_);
    jpeg_destroy_decompress(&source_);
  }
  Transform(const Transform&) = delete;
  Transform& operator=(const Transform&) = delete;

  Status Read(ByteSpan bytes);
  bool IsExact() const { return IsExactJpeg(source_); }
  Status Write(std::string* out);

 private:
  jpeg_decompress_struct source_;
  jpeg_compress_struct target_;
  JpegStringDestination destination_ = {};
  JpegErrors errors_;  // of both: they never run at once
  jvirt_barray_ptr* coefficients_ = nullptr;
};

Status Transform::Read(ByteSpan bytes) {
  source_.err = errors_.Init();
  if (setjmp(errors_.jump) != 0) return errors_.ToStatus();
  jpeg_create_decompress(&source_);
  jpeg_mem_src(&source_, bytes.data, bytes.size);
  jpeg_read_header(&source_, TRUE);
  coefficients_ = jpeg_read_coefficients(&source_);
  return OkStatus();
}

Status Transform::Write(std::string* out) {
  target_.err = errors_.Init();
  if (setjmp(errors_.jump) != 0) return errors_.ToStatus();
  jpeg_create_compress(&target_);
  destination_.Attach(&target_, out);
  jpeg_copy_critical_parameters(&source_, &target_);
  target_.arith_code = FALSE;
  target_.optimize_coding = TRUE;
  jpeg_simple_progression(&target_);
  jpeg_write_coefficients(&target_, coefficients_);
  jpeg_finish_compress(&target_);
  return OkStatus();
}

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
