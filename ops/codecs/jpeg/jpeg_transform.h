// Files of the same quantised coefficients as others: what rewrites share.
#ifndef LIQUID_OPS_CODECS_JPEG_JPEG_TRANSFORM_H_
#define LIQUID_OPS_CODECS_JPEG_JPEG_TRANSFORM_H_

#include <string>

#include "ops/codecs/jpeg/jpeg_destination.h"
#include "ops/codecs/jpeg/jpeg_errors.h"
#include "ops/codecs/jpeg/jpeg_library.h"
#include "ops/core/span.h"
#include "ops/core/status.h"

namespace liquid {

// Reads one file and writes another. Not thread-safe.
class JpegTransform {
 public:
  JpegTransform() = default;
  virtual ~JpegTransform() {
    jpeg_destroy_compress(&target_);
    jpeg_destroy_decompress(&source_);
  }
  JpegTransform(const JpegTransform&) = delete;
  JpegTransform& operator=(const JpegTransform&) = delete;

  Status Read(ByteSpan bytes) {
    source_.err = errors_.Init();
    if (setjmp(errors_.jump) != 0) return errors_.ToStatus();
    jpeg_create_decompress(&source_);
    jpeg_mem_src(&source_, bytes.data, bytes.size);
    jpeg_read_header(&source_, TRUE);
    RequestArrays();
    coefficients_ = jpeg_read_coefficients(&source_);
    return OkStatus();
  }
  bool IsExact() const { return IsExactJpeg(source_); }
  Status Write(std::string* out) {
    target_.err = errors_.Init();
    if (setjmp(errors_.jump) != 0) return errors_.ToStatus();
    jpeg_create_compress(&target_);
    destination_.Attach(&target_, out);
    jpeg_copy_critical_parameters(&source_, &target_);
    target_.arith_code = FALSE;
    target_.optimize_coding = TRUE;
    Prepare();
    jpeg_write_coefficients(&target_, coefficients_);
    WriteMarkers();
    jpeg_finish_compress(&target_);
    return OkStatus();
  }

 protected:
  // Asks the library for arrays beside those of the source.
  virtual void RequestArrays() {}
  // Makes the target differ from the source.
  virtual void Prepare() = 0;
  // Writes what stands between SOI and the tables.
  virtual void WriteMarkers() {}

  jpeg_decompress_struct source_ = {};
  jpeg_compress_struct target_ = {};
  jvirt_barray_ptr* coefficients_ = nullptr;

 private:
  JpegStringDestination destination_ = {};
  JpegErrors errors_;  // of both: they never run at once
};

}  // namespace liquid

#endif  // LIQUID_OPS_CODECS_JPEG_JPEG_TRANSFORM_H_
