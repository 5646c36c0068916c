// What error pages of stores mean, wrong ones too.
#include "ops/http/s3_error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ostream>
#include <string>

namespace liquid::s3_error_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

std::string Page(const std::string& code) {
  return "<?xml version=\"1.0\"?>\n<Error><Code>" + code +
         "</Code><Message>a secret</Message></Error>";
}

struct Case {
  long status;
  std::string page;
  Verdict verdict;
  StatusCode code;
  const char* says;
};

void PrintTo(const Case& given, std::ostream* to) {
  *to << given.status << " " << given.page;
}

class S3ErrorTest : public ::testing::TestWithParam<Case> {};

TEST_P(S3ErrorTest, IsJudged) {
  const Case& given = GetParam();
  AnswerHead head;
  head.AddLine("x-amz-bucket-region: eu-north-1\r\n");
  head.status = given.status;
  const Judgement judgement = JudgeS3Error(head, given.page, "s3://bucket/key");
  EXPECT_EQ(judgement.verdict, given.verdict);
  EXPECT_EQ(judgement.status.code(), given.code);
  EXPECT_THAT(judgement.status.message(),
              AllOf(StartsWith("s3://bucket/key: "), HasSubstr(given.says),
                    Not(HasSubstr("secret"))));
}

constexpr StatusCode kInternal = StatusCode::kInternal;
INSTANTIATE_TEST_SUITE_P(
    Pages, S3ErrorTest,
    ::testing::Values(
        Case{403, Page("ExpiredToken"), Verdict::kRenew, kInternal,
             "does not accept the credentials (ExpiredToken)"},
        Case{400, Page("ExpiredToken"), Verdict::kRenew, kInternal, "renew"},
        Case{403, Page("RequestExpired"), Verdict::kRenew, kInternal, "renew"},
        Case{403, Page("InvalidToken"), Verdict::kRenew, kInternal, "renew"},
        Case{403, Page("InvalidAccessKeyId"), Verdict::kRenew, kInternal,
             "renew"},
        Case{403, Page("RequestTimeTooSkewed"), Verdict::kRenew, kInternal,
             "clock"},
        Case{403, Page("SignatureDoesNotMatch"), Verdict::kFail, kInternal,
             "AWS_SECRET_ACCESS_KEY"},
        Case{403, Page("AccessDenied"), Verdict::kFail, kInternal,
             "denies access (AccessDenied)"},
        Case{403, "", Verdict::kFail, kInternal, "denies access (status 403)"},
        Case{403, "<Code>", Verdict::kFail, kInternal, "(status 403)"},
        Case{403, Page("A secret"), Verdict::kFail, kInternal, "(status 403)"},
        Case{403, Page(std::string(65, 'a')), Verdict::kFail, kInternal,
             "(status 403)"},
        Case{404, Page("NoSuchKey"), Verdict::kFail, StatusCode::kNotFound,
             "there is no such file"},
        Case{404, "", Verdict::kFail, StatusCode::kNotFound,
             "there is no such file"},
        Case{404, Page("NoSuchBucket"), Verdict::kFail, StatusCode::kNotFound,
             "there is no such bucket"},
        Case{301, Page("PermanentRedirect"), Verdict::kFail, kInternal,
             "set AWS_REGION to eu-north-1"},
        Case{307, "", Verdict::kFail, kInternal, "another region (status 307)"},
        Case{400, Page("AuthorizationHeaderMalformed"), Verdict::kFail,
             kInternal, "set AWS_REGION to eu-north-1"},
        Case{400, Page("RequestTimeout"), Verdict::kRetry, kInternal, "400"},
        Case{400, Page("InvalidRequest"), Verdict::kFail, kInternal, "400"},
        Case{503, Page("SlowDown"), Verdict::kRetry, StatusCode::kUnavailable,
             "503"},
        Case{500, Page("InternalError"), Verdict::kRetry,
             StatusCode::kUnavailable, "500"}));

TEST(S3ErrorRegionTest, IsNotMadeUp) {
  AnswerHead head;
  head.AddLine("x-amz-bucket-region: <b>eu\r\n");
  head.status = 301;
  EXPECT_THAT(JudgeS3Error(head, "", "s3://bucket/key").status.message(),
              HasSubstr("set AWS_REGION to that one"));
}

}  // namespace
}  // namespace liquid::s3_error_test
