// What a store of S3 says where it does not give what it was asked for.
#ifndef LIQUID_OPS_HTTP_S3_ERROR_H_
#define LIQUID_OPS_HTTP_S3_ERROR_H_

#include <string>

#include "ops/http/answer.h"

namespace liquid {

// Judges an answer of status 300 or more. `page` is the beginning of its body,
// which may be anything; `name` is the object's, for messages.
Judgement JudgeS3Error(const AnswerHead& head, const std::string& page,
                       const std::string& name);

}  // namespace liquid

#endif  // LIQUID_OPS_HTTP_S3_ERROR_H_
