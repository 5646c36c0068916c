#include "ops/http/s3_error.h"

#include <algorithm>
#include <initializer_list>
#include <utility>

namespace liquid {
namespace {

constexpr char kLetters[] =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

// The letters between <Code> and </Code>; empty where there are none.
std::string CodeOf(const std::string& page) {
  const std::string tag = "<Code>";
  const size_t found = page.find(tag);
  if (found == std::string::npos) return "";
  const size_t begin = found + tag.size();
  const size_t end = page.find('<', begin);
  if (end == std::string::npos || end - begin > 64) return "";
  const std::string code = page.substr(begin, end - begin);
  return code.find_first_not_of(kLetters) == std::string::npos ? code : "";
}

bool IsOne(const std::string& code, std::initializer_list<const char*> names) {
  return std::find(names.begin(), names.end(), code) != names.end();
}

}  // namespace

Judgement JudgeS3Error(const AnswerHead& head, const std::string& page,
                       const std::string& name) {
  const std::string code = CodeOf(page);
  const std::string shown =
      code.empty() ? "status " + std::to_string(head.status) : code;
  const auto fail = [](Verdict verdict, Status status) {
    return Judgement{verdict, std::move(status), 0};
  };
  if (code == "NoSuchBucket") {
    return fail(Verdict::kFail, NotFound(name + ": there is no such bucket"));
  }
  if (code == "NoSuchKey" || head.status == 404) {
    return fail(Verdict::kFail, NotFound(name + ": there is no such file"));
  }
  if (code == "RequestTimeTooSkewed") {
    return fail(Verdict::kRenew,
                Internal(name + ": the store says that this machine's clock is "
                                "wrong (RequestTimeTooSkewed): set it"));
  }
  if (IsOne(code,
            {"ExpiredToken", "ExpiredTokenException", "InvalidToken",
             "InvalidAccessKeyId", "RequestExpired", "TokenRefreshRequired"})) {
    return fail(
        Verdict::kRenew,
        Internal(name + ": the store does not accept the credentials (" + code +
                 "), and the environment has no others: renew them"));
  }
  if (IsOne(code, {"PermanentRedirect", "TemporaryRedirect",
                   "AuthorizationHeaderMalformed"}) ||
      head.status / 100 == 3) {
    const std::string region =
        head.bucket_region.empty() ? "that one" : head.bucket_region;
    return fail(Verdict::kFail,
                Internal(name + ": the bucket lies in another region (" +
                         shown + "): set AWS_REGION to " + region));
  }
  if (code == "SignatureDoesNotMatch") {
    return fail(
        Verdict::kFail,
        Internal(name + ": the store does not accept the signature: look at "
                        "AWS_SECRET_ACCESS_KEY and AWS_ENDPOINT_URL"));
  }
  if (head.status == 401 || head.status == 403) {
    return fail(
        Verdict::kFail,
        Internal(name + ": the store denies access (" + shown +
                 "): the credentials of the environment must be allowed to get "
                 "this object; of a bucket that they may not list, missing "
                 "files are denied, too"));
  }
  // Anything else means what it means of other servers.
  const Judgement plain = JudgeError(head.status, name);
  return code == "RequestTimeout" ? fail(Verdict::kRetry, plain.status) : plain;
}

}  // namespace liquid
