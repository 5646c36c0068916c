// libjpeg-turbo's errors and warnings as liquid::Status.
#ifndef LIQUID_OPS_CODECS_JPEG_JPEG_ERRORS_H_
#define LIQUID_OPS_CODECS_JPEG_JPEG_ERRORS_H_

// clang-format off
#include <csetjmp>
#include <cstdio>  // jpeglib.h needs it and does not include it
#include <jpeglib.h>
// clang-format on

#include "ops/core/status.h"

namespace liquid {

// An error manager of libjpeg that jumps where the library would exit. A
// function that calls the library begins with
//
//   if (setjmp(errors.jump) != 0) return errors.ToStatus();
//
// and has no local variable with a destructor. Warnings that mean damaged data
// jump as well: what the library makes up for lost pixels is of no use, and
// stopping at the first keeps a short file from costing a large image's time.
struct JpegErrors {
  jpeg_error_mgr base;  // first, so that the library's pointer is ours
  jmp_buf jump;
  int code;
  char message[JMSG_LENGTH_MAX];

  // Prepares the manager and returns it in the form the library takes.
  jpeg_error_mgr* Init();
  Status ToStatus() const;
};

}  // namespace liquid

#endif  // LIQUID_OPS_CODECS_JPEG_JPEG_ERRORS_H_
