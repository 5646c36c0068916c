// Files on servers of http:// and https://, and objects of s3://, as Python
// reads them.
//
// As in direct.h, but the requests are made by the thread of the process's
// client, for which these functions wait.
#ifndef LIQUID_OPS_DIRECT_DIRECT_HTTP_H_
#define LIQUID_OPS_DIRECT_DIRECT_HTTP_H_

#include <cstdint>

#include "ops/direct/direct.h"

extern "C" {

// How a function ended.
enum LiquidHttpEnd : int32_t {
  kLiquidHttpDone = 0,
  kLiquidHttpMissing = 1,  // there is no such file
  kLiquidHttpFailed = 2,
};

// One version of a file: it is an error where another one is met.
struct LiquidHttpFile;

// Asks for nothing yet. Null where there is no memory. The caller closes it.
LiquidHttpFile* liquid_direct_http_open(const char* url);
void liquid_direct_http_close(LiquidHttpFile* file);

// The file's bytes.
int32_t liquid_direct_http_size(LiquidHttpFile* file, uint64_t* size,
                                LiquidProblem problem);

// Reads up to `room` bytes from `offset` on; `*size` of them, fewer only at the
// file's end.
int32_t liquid_direct_http_read(LiquidHttpFile* file, uint64_t offset,
                                uint8_t* bytes, uint64_t room, uint64_t* size,
                                LiquidProblem problem);

}  // extern "C"

#endif  // LIQUID_OPS_DIRECT_DIRECT_HTTP_H_
