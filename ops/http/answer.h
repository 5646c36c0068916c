// What a server's answer to a request for bytes means.
#ifndef LIQUID_OPS_HTTP_ANSWER_H_
#define LIQUID_OPS_HTTP_ANSWER_H_

#include <cstdint>
#include <optional>
#include <string>

#include "ops/core/status.h"
#include "ops/http/remote_object.h"

namespace liquid {

// Bytes of a file, [begin, end).
struct ByteRange {
  uint64_t begin = 0;
  uint64_t end = 0;
};

// What the headers of an answer hold; empty where they are missing.
struct AnswerHead {
  long status = 0;
  std::string content_range;
  std::string etag;
  std::string last_modified;
  std::string bucket_region;  // of a store of S3
  std::optional<uint64_t> content_length;
  double retry_after = 0;  // seconds; 0: not told

  // Takes one line, "Name: value". Others than the above are passed over.
  void AddLine(const std::string& line);
};

enum class Verdict {
  kTake,      // the body is the bytes `length` from the wanted begin on
  kRetry,     // something passing: ask again
  kDistrust,  // not what was asked for: ask again, but not often
  kRenew,     // ask again with new credentials, but not often
  kFail,      // asking again does not help
};

struct Judgement {
  Verdict verdict = Verdict::kFail;
  Status status;        // why not kTake
  uint64_t length = 0;  // of a body to take; short only at the file's end
};

// Judges an answer to a request for `wanted` of `object`, whose version it
// accepts or compares. `wanted` must not be empty. Nothing that a server says
// is trusted: it may be broken.
Judgement Judge(const AnswerHead& head, const ByteRange& wanted,
                RemoteObject* object);

// The same of an answer whose status is an error.
Judgement JudgeError(long status, const std::string& name);

}  // namespace liquid

#endif  // LIQUID_OPS_HTTP_ANSWER_H_
