// Who gives the credentials for s3://: a function of Python's.
#ifndef LIQUID_OPS_DIRECT_DIRECT_S3_H_
#define LIQUID_OPS_DIRECT_DIRECT_S3_H_

#include <cstdint>

extern "C" {

// See S3Provider (ops/http/s3_provider.h). It is called by threads that Python
// does not know.
typedef int32_t (*LiquidS3Provider)(const char* bucket, bool renew, char* text,
                                    uint64_t room);

// Null: none from now on. Returns when none is being called: Python may end.
void liquid_direct_s3_provider(LiquidS3Provider provider);

}  // extern "C"

#endif  // LIQUID_OPS_DIRECT_DIRECT_S3_H_
