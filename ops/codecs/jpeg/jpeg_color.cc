#include "ops/codecs/jpeg/jpeg_color.h"

#include "ops/codecs/jpeg/jpeg_codec.h"
#include "ops/codecs/jpeg/jpeg_transform.h"

namespace liquid {
namespace {

constexpr int kComponents = 3;
// One for DC, at most one for each AC coefficient of luma, and chroma's AC.
constexpr int kMaxNewScans = 1 + (DCTSIZE2 - 1) + 2;

class Transform : public JpegTransform {
 private:
  void RequestArrays() override;
  void Prepare() override;
  void KeepPrecision();
  void AddScan(int component, int components, int first, int last, int low);

  jvirt_barray_ptr arrays_[kComponents] = {};
  jpeg_scan_info scans_[kMaxNewScans] = {};
  int scan_count_ = 0;
};

void Transform::RequestArrays() {
  for (int i = 1; i < kComponents; ++i) {
    arrays_[i] = source_.mem->request_virt_barray(
        reinterpret_cast<j_common_ptr>(&source_), JPOOL_IMAGE, TRUE,
        (source_.image_width + DCTSIZE - 1) / DCTSIZE,
        (source_.image_height + DCTSIZE - 1) / DCTSIZE, 1);
  }
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

void Transform::Prepare() {
  arrays_[0] = coefficients_[0];
  coefficients_ = arrays_;
  const int table = target_.comp_info[0].quant_tbl_no;
  jpeg_set_colorspace(&target_, JCS_YCbCr);
  for (int i = 0; i < kComponents; ++i) {
    target_.comp_info[i].h_samp_factor = 1;
    target_.comp_info[i].v_samp_factor = 1;
    target_.comp_info[i].quant_tbl_no = table;
  }
  if (!IsExact()) KeepPrecision();
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
