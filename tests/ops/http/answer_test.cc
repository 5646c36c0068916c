// What answers mean, wrong ones above all.
#include "ops/http/answer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ostream>
#include <string>
#include <vector>

namespace liquid::answer_test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

AnswerHead Head(long status, const std::vector<std::string>& lines = {}) {
  AnswerHead head;
  for (const std::string& line : lines) head.AddLine(line + "\r\n");
  head.status = status;
  return head;
}

struct Case {
  const char* name;
  AnswerHead head;
  Verdict verdict;
  StatusCode code = StatusCode::kOk;
  uint64_t length = 0;
  const char* says = "";
};

void PrintTo(const Case& given, std::ostream* to) { *to << given.name; }

class JudgeTest : public ::testing::TestWithParam<Case> {};

// Bytes 10 to 20 of a file are asked for.
TEST_P(JudgeTest, Judges) {
  const Case& given = GetParam();
  RemoteObject object("http://host/a.rec?secret");
  const Judgement judged = Judge(given.head, {10, 20}, &object);
  EXPECT_EQ(judged.verdict, given.verdict);
  EXPECT_EQ(judged.status.code(), given.code) << judged.status.message();
  EXPECT_EQ(judged.length, given.length);
  EXPECT_THAT(judged.status.message(), HasSubstr(given.says));
  if (!judged.status.ok()) {
    EXPECT_THAT(judged.status.message(), StartsWith("http://host/a.rec: "));
  }
  EXPECT_THAT(judged.status.message(), Not(HasSubstr("secret")));
}

Case Part(const char* name, const char* range, uint64_t length) {
  return {name, Head(206, {std::string("Content-Range: ") + range}),
          Verdict::kTake, StatusCode::kOk, length};
}

Case WrongPart(const char* name, const char* range) {
  return {name,
          Head(206, {std::string("Content-Range: ") + range}),
          Verdict::kDistrust,
          StatusCode::kDataLoss,
          0,
          "asked for bytes 10 to 20 and gave others"};
}

Case Passing(const char* name, long status) {
  return {name, Head(status), Verdict::kRetry, StatusCode::kUnavailable};
}

INSTANTIATE_TEST_SUITE_P(
    Answers, JudgeTest,
    ::testing::Values(
        Part("right", "bytes 10-19/1000", 10),
        Part("at_the_end", "bytes 10-14/15", 5),
        Part("unknown_size", "bytes 10-19/*", 10),
        WrongPart("other_begin", "bytes 0-9/1000"),
        WrongPart("too_much", "bytes 10-29/1000"),
        WrongPart("too_little", "bytes 10-14/1000"),
        WrongPart("too_little_of_unknown", "bytes 10-14/*"),
        WrongPart("past_the_end", "bytes 10-19/15"),
        WrongPart("backwards", "bytes 19-10/1000"),
        WrongPart("other_unit", "items 10-19/1000"),
        WrongPart("no_range", "bytes */1000"),
        WrongPart("no_number", "bytes 10-1x/1000"),
        WrongPart("huge", "bytes 10-19/99999999999999999999"),
        WrongPart("negative", "bytes -10-19/1000"), WrongPart("empty", ""),
        Case{"beyond", Head(416, {"content-range: bytes */10"}),
             Verdict::kTake},
        Case{"beyond_what_is_there", Head(416, {"Content-Range: bytes */30"}),
             Verdict::kDistrust, StatusCode::kDataLoss, 0, "416"},
        Case{"beyond_unknown", Head(416), Verdict::kDistrust,
             StatusCode::kDataLoss, 0, "416"},
        Case{"whole", Head(200, {"Content-Length: 1000"}), Verdict::kFail,
             StatusCode::kUnimplemented, 0,
             "use one that serves ranges, or download the file first"},
        Case{"whole_and_short", Head(200, {"Content-Length: 5"}),
             Verdict::kFail, StatusCode::kUnimplemented},
        Case{"not_found", Head(404), Verdict::kFail, StatusCode::kNotFound, 0,
             "there is no such file"},
        Case{"gone", Head(410), Verdict::kFail, StatusCode::kNotFound},
        Case{"forbidden", Head(403), Verdict::kFail, StatusCode::kInternal, 0,
             "refuses access"},
        Case{"unauthorized", Head(401), Verdict::kFail, StatusCode::kInternal},
        Case{"changed", Head(412), Verdict::kFail, StatusCode::kDataLoss, 0,
             "changed"},
        Case{"elsewhere", Head(304), Verdict::kFail, StatusCode::kInternal, 0,
             "status 304"},
        Case{"not_implemented", Head(501), Verdict::kFail,
             StatusCode::kInternal},
        Passing("timed_out", 408), Passing("too_early", 425),
        Passing("too_many", 429), Passing("failed", 500),
        Passing("bad_gateway", 502), Passing("unavailable", 503),
        Passing("gateway_timed_out", 504)),
    [](const auto& info) { return std::string(info.param.name); });

TEST(JudgeWholeTest, IsRightWhereTheWholeFileIsWanted) {
  RemoteObject object("http://host/a");
  const Judgement judged =
      Judge(Head(200, {"Content-Length: 20"}), {0, 30}, &object);
  EXPECT_EQ(judged.verdict, Verdict::kTake);
  EXPECT_EQ(judged.length, 20u);
  EXPECT_EQ(object.size(), 20u);
  EXPECT_EQ(Judge(Head(200), {0, 30}, &object).verdict, Verdict::kFail);
}

TEST(JudgeVersionTest, ADifferentFileFails) {
  RemoteObject object("http://host/a");
  const auto judge = [&object](const char* etag, const char* range) {
    return Judge(Head(206, {std::string("ETag: ") + etag,
                            std::string("Content-Range: ") + range}),
                 {0, 10}, &object);
  };
  EXPECT_EQ(judge("\"1\"", "bytes 0-9/20").verdict, Verdict::kTake);
  EXPECT_EQ(judge("\"1\"", "bytes 0-9/20").verdict, Verdict::kTake);
  for (const Judgement& judged :
       {judge("\"2\"", "bytes 0-9/20"), judge("\"1\"", "bytes 0-9/21")}) {
    EXPECT_EQ(judged.verdict, Verdict::kFail);
    EXPECT_EQ(judged.status.code(), StatusCode::kDataLoss);
    EXPECT_THAT(judged.status.message(), HasSubstr("has changed"));
  }
}

TEST(AnswerHeadTest, TakesLinesInAnyForm) {
  const AnswerHead head =
      Head(503, {"RETRY-AFTER:7", "etag: \t W/\"x y\" ", "last-modified: Mon",
                 "X", ":", "Content-Length: -1", "Retry-After: Mon, 01 Jan"});
  EXPECT_EQ(head.retry_after, 7);
  EXPECT_EQ(head.etag, "W/\"x y\"");
  EXPECT_EQ(head.last_modified, "Mon");
  EXPECT_FALSE(head.content_length.has_value());
}

}  // namespace
}  // namespace liquid::answer_test
