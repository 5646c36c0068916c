// Files on a server, as Python reads them.
#include "ops/direct/direct_http.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "tests/ops/http/http_server.h"

namespace liquid::direct_http_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

struct Close {
  void operator()(LiquidHttpFile* file) const {
    liquid_direct_http_close(file);
  }
};
using FilePtr = std::unique_ptr<LiquidHttpFile, Close>;

class DirectHttpTest : public ::testing::Test {
 protected:
  FilePtr Open(const std::string& target) {
    return FilePtr(liquid_direct_http_open(server_.Url(target).c_str()));
  }
  int32_t Size(const FilePtr& file, uint64_t* size) {
    return liquid_direct_http_size(file.get(), size, problem_);
  }
  int32_t Read(const FilePtr& file, uint64_t offset, uint64_t room,
               std::string* bytes) {
    bytes->assign(room, 'x');
    uint64_t size = 0;
    const int32_t end = liquid_direct_http_read(
        file.get(), offset, reinterpret_cast<uint8_t*>(bytes->data()), room,
        &size, problem_);
    bytes->resize(size);
    return end;
  }

  const std::string file_ = "0123456789";
  std::string etag_ = "\"1\"";
  const HttpServer server_{[this](const ServerRequest& request) {
    if (request.target == "/refused") return ServerAnswer{403, {}, "no"};
    if (request.target == "/empty") return AnswerOf("", request);
    return request.target == "/file?secret" ? AnswerOf(file_, request, etag_)
                                            : ServerAnswer{404, {}, "no"};
  }};
  char text_[200] = "";
  const LiquidProblem problem_ = {text_, sizeof(text_)};
};

TEST_F(DirectHttpTest, ReadsAFile) {
  const FilePtr file = Open("/file?secret");
  std::string bytes;
  EXPECT_EQ(Read(file, 3, 4, &bytes), kLiquidHttpDone);
  EXPECT_EQ(bytes, "3456");
  uint64_t size = 0;
  EXPECT_EQ(Size(file, &size), kLiquidHttpDone);
  EXPECT_EQ(size, 10u);
  EXPECT_EQ(server_.requests(), 1);  // which told the size as well
  EXPECT_EQ(Read(file, 8, 4, &bytes), kLiquidHttpDone);
  EXPECT_EQ(bytes, "89");
  EXPECT_EQ(Size(Open("/empty"), &size), kLiquidHttpDone);
  EXPECT_EQ(size, 0u);
}

TEST_F(DirectHttpTest, SaysWhatIsWrong) {
  uint64_t size = 0;
  std::string bytes;
  EXPECT_EQ(Size(Open("/none?secret"), &size), kLiquidHttpMissing);
  EXPECT_THAT(text_, AllOf(HasSubstr(server_.Url("/none: ")),
                           Not(HasSubstr("secret"))));
  EXPECT_EQ(Read(Open("/none"), 0, 1, &bytes), kLiquidHttpMissing);
  EXPECT_EQ(Read(Open("/refused"), 0, 1, &bytes), kLiquidHttpFailed);
  EXPECT_THAT(text_, HasSubstr("refuses access"));
}

TEST_F(DirectHttpTest, IsOfOneVersion) {
  const FilePtr file = Open("/file?secret");
  std::string bytes;
  EXPECT_EQ(Read(file, 0, 4, &bytes), kLiquidHttpDone);
  etag_ = "\"2\"";
  EXPECT_EQ(Read(file, 4, 4, &bytes), kLiquidHttpFailed);
  EXPECT_THAT(text_, HasSubstr("changed"));
  EXPECT_EQ(Read(Open("/file?secret"), 4, 4, &bytes), kLiquidHttpDone);
}

}  // namespace
}  // namespace liquid::direct_http_test
