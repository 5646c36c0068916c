// The client against a store that checks signatures, and a provider that waits,
// fails and gives what has expired.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "ops/core/clock.h"
#include "ops/http/http_client.h"
#include "ops/http/s3_provider.h"
#include "ops/http/sigv4.h"
#include "tests/ops/http/http_server.h"

namespace liquid::s3_client_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

// What the provider does: a function has no other memory than the process's.
struct Environment {
  std::mutex mu;
  std::string address;
  int version = 0;  // of the secret that it knows
  int32_t end = kS3Provided;
  double delay = 0;
  std::vector<std::string> buckets;  // that it was asked for
  int renewed = 0;
};
Environment* environment = nullptr;

int32_t Provide(const char* bucket, bool renew, char* text, uint64_t room) {
  std::unique_lock<std::mutex> lock(environment->mu);
  environment->buckets.emplace_back(bucket);
  if (renew) {
    ++environment->renewed;
    ++environment->version;
  }
  const double delay = environment->delay;
  const int32_t end = environment->end;
  const std::string version = std::to_string(environment->version);
  const std::string said = end == kS3Provided
                               ? environment->address + "/" + bucket +
                                     "\nus-east-1\nKEY" + version + "\nSECRET" +
                                     version + "\nTOKEN" + version
                               : "metadata are missing";
  lock.unlock();
  std::this_thread::sleep_for(std::chrono::duration<double>(delay));
  std::strncpy(text, said.c_str(), room);
  return end;
}

class S3ClientTest : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const char* name : {"http_proxy", "https_proxy", "all_proxy"}) {
      unsetenv(name);
    }
    environment = &environment_;
    SetS3Provider(&Provide);
    HttpClientOptions options;
    options.delays = {.005, .05};
    ASSERT_TRUE(HttpClient::Make(options, &client_).ok());
    server_ = std::make_unique<HttpServer>(
        [this](const ServerRequest& request) { return Answer(request); });
    environment_.address = server_->Url("");
  }
  void TearDown() override {
    client_ = nullptr;
    SetS3Provider(nullptr);
  }

  // A store whose credentials are those of version_.
  ServerAnswer Answer(const ServerRequest& request) {
    const auto header = [&request](const std::string& name) {
      const auto found = request.headers.find(name);
      return found == request.headers.end() ? "" : found->second;
    };
    const std::string version = std::to_string(version_);
    const auto refuse = [](const std::string& code) {
      return ServerAnswer{403, {}, "<Error><Code>" + code + "</Code></Error>"};
    };
    if (header("x-amz-security-token") != "TOKEN" + version) {
      return refuse("ExpiredToken");
    }
    UnsignedRequest parts;
    parts.method = request.method;
    parts.path = request.target;
    for (const char* name : {"host", "x-amz-content-sha256", "x-amz-date",
                             "x-amz-security-token"}) {
      parts.headers[name] = header(name);
    }
    parts.payload_hash = kHashOfNothing;
    if (header("authorization") !=
        Authorization({"KEY" + version, "SECRET" + version, "us-east-1", "s3"},
                      parts)) {
      return refuse("SignatureDoesNotMatch");
    }
    if (request.target == "/bucket/none") {
      return {404, {}, "<Code>NoSuchKey</Code>"};
    }
    if (request.target == "/bucket/moved") {
      return {
          301,
          {"x-amz-bucket-region: eu-north-1", "Location: http://127.0.0.1/"},
          ""};
    }
    return AnswerOf(file_, request);
  }

  Status Read(const std::string& path, double patience = 20) {
    std::string memory(file_.size(), 'x');
    HttpRequest request;
    request.object = std::make_shared<RemoteObject>(path);
    request.segments = {{&memory[0], memory.size()}};
    request.patience = patience;
    client_->Read(&request);
    if (request.status.ok()) {
      EXPECT_EQ(memory, file_);
    } else {
      EXPECT_THAT(request.status.message(),
                  AllOf(StartsWith("s3://"), Not(HasSubstr("SECRET")),
                        Not(HasSubstr("TOKEN"))));
    }
    return request.status;
  }

  const std::string file_ = std::string(100000, 'a') + "end";
  Environment environment_;
  std::atomic<int> version_{0};
  std::unique_ptr<HttpServer> server_;
  std::unique_ptr<HttpClient> client_;
};

TEST_F(S3ClientTest, SignsRequests) {
  for (const char* key :
       {"a.rec", "a/b c+d?e#f%g.rec", "a/../b", "/a", "\xff"}) {
    const Status status = Read(std::string("s3://bucket/") + key);
    EXPECT_TRUE(status.ok()) << status.message();
  }
  // It was asked once.
  EXPECT_THAT(environment_.buckets, ::testing::ElementsAre("bucket"));
  EXPECT_TRUE(Read("S3://other/a").ok());
  EXPECT_EQ(environment_.buckets.size(), 2u);
}

TEST_F(S3ClientTest, RenewsCredentialsThatExpire) {
  EXPECT_TRUE(Read("s3://bucket/a").ok());
  version_ = 1;
  std::vector<std::string> memory(20, std::string(file_.size(), 'x'));
  std::vector<HttpRequest> requests(20);
  std::atomic<int> left{20};
  for (int i = 0; i < 20; ++i) {
    requests[i].object = std::make_shared<RemoteObject>("s3://bucket/a");
    requests[i].segments = {{&memory[i][0], memory[i].size()}};
    requests[i].done = [&left] { --left; };
    client_->Start(&requests[i]);
  }
  while (left > 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  for (int i = 0; i < 20; ++i) {
    EXPECT_TRUE(requests[i].status.ok()) << requests[i].status.message();
    EXPECT_EQ(memory[i], file_);
    EXPECT_LE(requests[i].retries, 1u);
  }
  EXPECT_EQ(environment_.renewed, 1);
}

TEST_F(S3ClientTest, GivesUpWhereNewCredentialsAreRefusedToo) {
  version_ = -1;
  const Status status = Read("s3://bucket/a");
  EXPECT_THAT(status.message(), HasSubstr("(ExpiredToken)"));
  EXPECT_EQ(environment_.renewed, 3);
  EXPECT_EQ(server_->requests(), 4);
}

TEST_F(S3ClientTest, SaysWhatIsWrong) {
  EXPECT_EQ(Read("s3://bucket/none").code(), StatusCode::kNotFound);
  EXPECT_THAT(Read("s3://bucket/moved").message(),
              HasSubstr("set AWS_REGION to eu-north-1"));
  EXPECT_EQ(Read("s3://bucket").code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(server_->requests(), 2);
}

TEST_F(S3ClientTest, RefusesWithoutCredentials) {
  environment_.end = kS3Refused;
  const Status status = Read("s3://bucket/a");
  EXPECT_EQ(status.code(), StatusCode::kInternal);
  EXPECT_EQ(status.message(), "s3://bucket/a: metadata are missing");
  SetS3Provider(nullptr);
  EXPECT_EQ(Read("s3://other/a").code(), StatusCode::kCancelled);
  EXPECT_EQ(server_->requests(), 0);
}

TEST_F(S3ClientTest, WaitsForCredentialsThatMayCome) {
  environment_.end = kS3Unavailable;
  const Status status = Read("s3://bucket/a", .2);
  EXPECT_EQ(status.code(), StatusCode::kUnavailable);
  EXPECT_THAT(status.message(), HasSubstr("metadata are missing (the last of"));
  std::thread later([this] {
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    std::lock_guard<std::mutex> lock(environment_.mu);
    environment_.end = kS3Provided;
  });
  EXPECT_TRUE(Read("s3://bucket/a").ok());
  later.join();
}

// A provider that hangs holds up nobody but who needs it.
TEST_F(S3ClientTest, ReadsOthersMeanwhile) {
  environment_.delay = 1;
  std::string memory(file_.size(), 'x');
  HttpRequest slow;
  slow.object = std::make_shared<RemoteObject>("s3://bucket/a");
  slow.segments = {{&memory[0], memory.size()}};
  std::atomic<bool> ended{false};
  slow.done = [&ended] { ended = true; };
  client_->Start(&slow);
  const HttpServer plain([this](const ServerRequest& request) {
    return AnswerOf(file_, request);
  });
  std::string other(10, 'x');
  HttpRequest fast;
  fast.object = std::make_shared<RemoteObject>(plain.Url("/a"));
  fast.segments = {{&other[0], other.size()}};
  client_->Read(&fast);
  EXPECT_TRUE(fast.status.ok());
  EXPECT_FALSE(ended);
  while (!ended) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_TRUE(slow.status.ok()) << slow.status.message();
}

// A client that ends, or a provider that goes, waits for a call to end.
TEST_F(S3ClientTest, EndsWhileAProviderIsCalled) {
  environment_.delay = .3;
  std::string memory(10, 'x');
  HttpRequest request;
  request.object = std::make_shared<RemoteObject>("s3://bucket/a");
  request.segments = {{&memory[0], memory.size()}};
  std::atomic<bool> ended{false};
  request.done = [&ended] { ended = true; };
  client_->Start(&request);
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  const double begun = MonotonicSeconds();
  SetS3Provider(nullptr);
  EXPECT_GT(MonotonicSeconds() - begun, .1);
  client_ = nullptr;
  EXPECT_TRUE(ended);
}

// While another thread is in the provider, as it may be for ever.
TEST_F(S3ClientTest, AForkedChildAsksForItself) {
  environment_.delay = .5;
  std::thread asking([] {
    S3Access access;
    EXPECT_TRUE(AskForS3Access("bucket", false, &access).ok());
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  {
    std::lock_guard<std::mutex> lock(environment_.mu);
    environment_.delay = 0;
  }
  const pid_t child = fork();
  if (child == 0) {
    alarm(10);
    S3Access access;
    const bool right = AskForS3Access("bucket", false, &access).ok() &&
                       access.token == "TOKEN0";
    SetS3Provider(nullptr);
    _exit(right ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  asking.join();
}

}  // namespace
}  // namespace liquid::s3_client_test
