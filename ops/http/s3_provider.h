// Where the process's access to buckets comes from: a function of whoever knows
// the environment's credentials.
#ifndef LIQUID_OPS_HTTP_S3_PROVIDER_H_
#define LIQUID_OPS_HTTP_S3_PROVIDER_H_

#include <cstdint>
#include <string>

#include "ops/core/status.h"
#include "ops/http/s3_request.h"

namespace liquid {

enum S3ProviderEnd : int32_t {
  kS3Provided = 0,
  kS3Unavailable = 1,  // it may go well later
  kS3Refused = 2,
};

// Gives the access to a bucket: address, region, key, secret and token, with
// "\n" between them and a zero at the end, in `room` bytes of `text`; or there
// a sentence about what is wrong. `renew`: those that were given last are of no
// use. May wait.
using S3Provider = int32_t (*)(const char* bucket, bool renew, char* text,
                               uint64_t room);

// Thread-safe. Null: none from now on; returns when none is being called. A
// forked child has its parent's.
void SetS3Provider(S3Provider provider);

// Asks it, and waits. Errors, without the bucket's name: Unavailable where it
// may go well later, Cancelled where there is no provider, Internal for all
// else.
Status AskForS3Access(const std::string& bucket, bool renew, S3Access* access);

}  // namespace liquid

#endif  // LIQUID_OPS_HTTP_S3_PROVIDER_H_
