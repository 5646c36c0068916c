#include "ops/codecs/jpeg/jpeg_errors.h"

#include <jerror.h>

#include <string>

namespace liquid {
namespace {

void JumpOut(j_common_ptr library) {
  JpegErrors* errors = reinterpret_cast<JpegErrors*>(library->err);
  errors->code = library->err->msg_code;
  library->err->format_message(library, errors->message);
  longjmp(errors->jump, 1);
}

// Odd headers and padding between segments leave every pixel well defined.
bool IsHarmless(int warning) {
  switch (warning) {
    case JWRN_ADOBE_XFORM:
    case JWRN_BOGUS_PROGRESSION:
    case JWRN_EXTRANEOUS_DATA:
    case JWRN_JFIF_MAJOR:
    case JWRN_NOT_SEQUENTIAL:
      return true;
    default:
      return false;
  }
}

void OnMessage(j_common_ptr library, int level) {
  if (level < 0 && !IsHarmless(library->err->msg_code)) JumpOut(library);
}

}  // namespace

jpeg_error_mgr* JpegErrors::Init() {
  jpeg_std_error(&base);
  base.error_exit = JumpOut;
  base.emit_message = OnMessage;
  code = 0;
  message[0] = '\0';
  return &base;
}

Status JpegErrors::ToStatus() const {
  const std::string text = std::string("jpeg: ") + message;
  switch (code) {
    case JERR_OUT_OF_MEMORY:
      return Unavailable(text);
    case JERR_ARITH_NOTIMPL:
    case JERR_BAD_PRECISION:
    case JERR_CCIR601_NOTIMPL:
    case JERR_CONVERSION_NOTIMPL:
    case JERR_FRACT_SAMPLE_NOTIMPL:
    case JERR_NOT_COMPILED:
    case JERR_NOTIMPL:
    case JERR_SOF_UNSUPPORTED:
      return Unimplemented(text +
                           "; baseline, progressive and arithmetic-coded "
                           "files of 8 bits are supported");
    default:
      return DataLoss(text);
  }
}

}  // namespace liquid
