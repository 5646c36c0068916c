#include "ops/codecs/jpeg/jpeg_color.h"

#include <cstring>

#include "ops/codecs/jpeg/jpeg_codec.h"
#include "ops/codecs/jpeg/jpeg_destination.h"
#include "ops/codecs/jpeg/jpeg_errors.h"
#include "ops/codecs/jpeg/jpeg_library.h"

namespace liquid {
namespace {

constexpr int kComponents = 3;
// One for DC, at most one for each AC coefficient of luma, and chroma's AC.
constexpr int kMaxNewScans = 1 + (DCTSIZE2 - 1) + 2;

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
  Status Write(std::string* out);

 private:
  void KeepPrecision();
  void AddScan(int component, int components, int first, int last, int low);

  jpeg_decompress_struct source_;
  jpeg_compress_struct target_;
  JpegStringDestination destination_ = {};
  JpegErrors errors_;  // of both: they never run at once
  jvirt_barray_ptr coefficients_[kComponents] = {};
  jpeg_scan_info scans_[kMaxNewScans] = {};
  int scan_count_ = 0;
};

Status Transform::Read(ByteSpan bytes) {
  source_.err = errors_.Init();
  if (setjmp(errors_.jump) != 0) return errors_.ToStatus();
  jpeg_create_decompress(&source_);
  jpeg_mem_src(&source_, bytes.data, bytes.size);
  jpeg_read_header(&source_, TRUE);
  // Between these two calls the library takes requests for arrays of ours.
  for (int i = 1; i < kComponents; ++i) {
    coefficients_[i] = source_.mem->request_virt_barray(
        reinterpret_cast<j_common_ptr>(&source_), JPOOL_IMAGE, TRUE,
        (source_.image_width + DCTSIZE - 1) / DCTSIZE,
        (source_.image_height + DCTSIZE - 1) / DCTSIZE, 1);
  }
  coefficients_[0] = jpeg_read_coefficients(&source_)[0];
  return OkStatus();
}

void Transform::AddScan(int component, int components, int first, int last,
                        int low) {
  jpeg_scan_info* scan = &scans_[scan_count_++];
  scan->comps_in_scan = components;
  for (int i = 0; i < components; ++i) scan->component_index[i] = component + i;
  scan->Ss = first;
  scan->Se = last;
  scan->Ah = 0;
  scan->Al = low;
}

// Makes scans that give the bits that those of the source gave.
void Transform::KeepPrecision() {
  const int* bits = source_.coef_bits[0];  // that lack; -1: all
  AddScan(0, kComponents, 0, 0, bits[0]);
  for (int first = 1; first < DCTSIZE2;) {
    int end = first + 1;
    while (end < DCTSIZE2 && bits[end] == bits[first]) ++end;
    if (bits[first] >= 0) AddScan(0, 1, first, end - 1, bits[first]);
    first = end;
  }
  for (int i = 1; i < kComponents; ++i) AddScan(i, 1, 1, DCTSIZE2 - 1, 0);
  target_.scan_info = scans_;
  target_.num_scans = scan_count_;
}

Status Transform::Write(std::string* out) {
  target_.err = errors_.Init();
  if (setjmp(errors_.jump) != 0) return errors_.ToStatus();
  jpeg_create_compress(&target_);
  destination_.Attach(&target_, out);
  jpeg_copy_critical_parameters(&source_, &target_);
  const int table = target_.comp_info[0].quant_tbl_no;
  jpeg_set_colorspace(&target_, JCS_YCbCr);
  for (int i = 0; i < kComponents; ++i) {
    target_.comp_info[i].h_samp_factor = 1;
    target_.comp_info[i].v_samp_factor = 1;
    target_.comp_info[i].quant_tbl_no = table;
  }
  target_.arith_code = FALSE;
  target_.optimize_coding = TRUE;
  if (!IsExactJpeg(source_)) KeepPrecision();
  jpeg_write_coefficients(&target_, coefficients_);
  jpeg_finish_compress(&target_);
  return OkStatus();
}

}  // namespace

Status GrayToColor(ByteSpan gray, const DecodeLimits& limits,
                   std::string* color) {
  ImageInfo info;
  LIQUID_RETURN_IF_ERROR(PeekJpeg(gray, limits, &info));
  if (info.channels != 1) {
    return InvalidArgument("jpeg: a file of " + std::to_string(info.channels) +
                           " channels is not gray");
  }
  Transform transform;
  LIQUID_RETURN_IF_ERROR(transform.Read(gray));
  color->clear();
  return transform.Write(color);
}

}  // namespace liquid
