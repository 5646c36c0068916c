#include "ops/codecs/jpeg/jpeg_errors.h"

#include <jerror.h>

#include <cstring>
#include <iterator>
#include <string>

namespace liquid {
namespace {

// The library's own manager of errors writes to stderr, and Debian compiles it
// for programs only. jerror.h is made to be included again for the texts.
// What is missing there are lines that no error has.
#define JCOPYRIGHT_SHORT ""
#define JVERSION ""
const char* const kMessages[] = {
#define JMESSAGE(code, text) text,
#include <jerror.h>
};
constexpr int kMessageCount = static_cast<int>(std::size(kMessages));

// Writes the text of the last error or warning into `buffer`, JMSG_LENGTH_MAX
// long.
void FormatMessage(j_common_ptr library, char* buffer) {
  const jpeg_error_mgr& error = *library->err;
  const int code = error.msg_code;
  if (code <= 0 || code >= kMessageCount) {
    std::snprintf(buffer, JMSG_LENGTH_MAX, "unknown error %d", code);
    return;
  }
  const char* const format = kMessages[code];
  if (std::strstr(format, "%s") != nullptr) {
    std::snprintf(buffer, JMSG_LENGTH_MAX, format, error.msg_parm.s);
    return;
  }
  const int* const at = error.msg_parm.i;
  std::snprintf(buffer, JMSG_LENGTH_MAX, format, at[0], at[1], at[2], at[3],
                at[4], at[5], at[6], at[7]);
}

void SayNothing(j_common_ptr) {}

void Reset(j_common_ptr library) {
  library->err->num_warnings = 0;
  library->err->msg_code = 0;
}

void JumpOut(j_common_ptr library) {
  JpegErrors* errors = reinterpret_cast<JpegErrors*>(library->err);
  errors->code = library->err->msg_code;
  FormatMessage(library, errors->message);
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
  base = {};
  base.error_exit = JumpOut;
  base.emit_message = OnMessage;
  base.output_message = SayNothing;
  base.format_message = FormatMessage;
  base.reset_error_mgr = Reset;
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
