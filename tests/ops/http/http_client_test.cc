// The client against a server that is right, slow, broken, or lies.
#include "ops/http/http_client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "ops/core/clock.h"
#include "ops/http/receive_turns.h"
#include "tests/ops/http/http_server.h"

namespace liquid::http_client_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

std::string RandomBytes(size_t size) {
  std::mt19937 random(static_cast<unsigned>(size));
  std::string bytes(size, 0);
  for (char& byte : bytes) byte = static_cast<char>(random());
  return bytes;
}

// A read into memory of its own, in two segments.
struct Reading {
  Reading(std::shared_ptr<RemoteObject> object, uint64_t offset, uint64_t size,
          double patience = 20)
      : memory(size, 'x') {
    request.object = std::move(object);
    request.offset = offset;
    request.segments = {{memory.data(), size / 3},
                        {memory.data() + size / 3, size - size / 3}};
    request.patience = patience;
  }
  // What was read.
  std::string bytes() const { return memory.substr(0, request.bytes); }

  std::string memory;
  HttpRequest request;
};

class HttpClientTest : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const char* name : {"http_proxy", "https_proxy", "all_proxy"}) {
      unsetenv(name);
    }
    HttpClientOptions options;
    options.connect_seconds = 2;
    options.stall_seconds = 1;
    options.delays = {.005, .05};
    ASSERT_TRUE(HttpClient::Make(options, &client_).ok());
  }

  static std::shared_ptr<RemoteObject> Object(
      const HttpServer& server, const std::string& target = "/a.rec?secret") {
    return std::make_shared<RemoteObject>(server.Url(target));
  }
  // Reads all of file_ from a server that does what `handler` says.
  void Read(const ServerHandler& handler, Reading* reading) {
    const HttpServer server(handler);
    reading->request.object = Object(server);
    client_->Read(&reading->request);
    requests_ = server.requests();
    const std::string& said = reading->request.status.message();
    EXPECT_THAT(said, Not(HasSubstr("secret")));
    if (!reading->request.status.ok()) {
      EXPECT_THAT(said, StartsWith(server.Url("/a.rec: ")));
    }
  }
  // The error of it.
  Status Fail(const ServerHandler& handler, double patience = 20) {
    Reading reading(nullptr, 0, file_.size(), patience);
    Read(handler, &reading);
    return reading.request.status;
  }
  // It goes well in spite of what the server does; the retries.
  uint64_t Succeed(const ServerHandler& handler) {
    Reading reading(nullptr, 0, file_.size());
    Read(handler, &reading);
    EXPECT_TRUE(reading.request.status.ok())
        << reading.request.status.message();
    EXPECT_EQ(reading.bytes(), file_);
    return reading.request.retries;
  }

  const std::string file_ = RandomBytes(300001);
  std::unique_ptr<HttpClient> client_;
  int requests_ = 0;  // that the server had
};

TEST_F(HttpClientTest, ReadsRangesOverOneConnection) {
  const HttpServer server([this](const ServerRequest& request) {
    return AnswerOf(file_, request);
  });
  const auto object = Object(server);
  const std::pair<uint64_t, uint64_t> ranges[] = {
      {0, 1}, {0, 300001}, {300000, 1}, {17, 100000}, {299000, 5000}};
  for (const auto& [offset, size] : ranges) {
    Reading reading(object, offset, size);
    client_->Read(&reading.request);
    ASSERT_TRUE(reading.request.status.ok())
        << reading.request.status.message();
    EXPECT_EQ(reading.bytes(), file_.substr(offset, size));
    EXPECT_EQ(reading.request.retries, 0u);
  }
  EXPECT_EQ(object->size(), 300001u);
  EXPECT_EQ(server.requests(), 5);
  EXPECT_EQ(server.connections(), 1);
  // The size is known by now, so nobody is asked for what lies beyond.
  for (const auto& [offset, size] :
       {std::pair<uint64_t, uint64_t>{300001, 7}, {17, 0}}) {
    Reading reading(object, offset, size);
    client_->Read(&reading.request);
    EXPECT_TRUE(reading.request.status.ok());
    EXPECT_EQ(reading.request.bytes, 0u);
  }
  EXPECT_EQ(server.requests(), 5);
}

TEST_F(HttpClientTest, TheFirstReadMayLieBeyondTheEnd) {
  Reading reading(nullptr, 300001, 10);
  Read(
      [this](const ServerRequest& request) { return AnswerOf(file_, request); },
      &reading);
  EXPECT_TRUE(reading.request.status.ok()) << reading.request.status.message();
  EXPECT_EQ(reading.request.bytes, 0u);
}

TEST_F(HttpClientTest, TellsSizes) {
  const HttpServer server([this](const ServerRequest& request) {
    if (request.target == "/none") return ServerAnswer{404, {}, ""};
    if (request.target == "/unknown") {
      return ServerAnswer{206, {"Content-Range: bytes 0-0/*"}, "x"};
    }
    return AnswerOf(request.target == "/empty" ? "" : file_, request);
  });
  const auto size = [&](const std::string& target) {
    const auto object = Object(server, target);
    uint64_t bytes = 7;
    const Status status = client_->Size(object, 20, &bytes);
    return std::pair(status.code(), bytes);
  };
  EXPECT_EQ(size("/a.rec"), std::pair(StatusCode::kOk, uint64_t{300001}));
  EXPECT_EQ(size("/empty"), std::pair(StatusCode::kOk, uint64_t{0}));
  EXPECT_EQ(size("/none"), std::pair(StatusCode::kNotFound, uint64_t{7}));
  EXPECT_EQ(size("/unknown"),
            std::pair(StatusCode::kUnimplemented, uint64_t{7}));
}

TEST_F(HttpClientTest, ManyRequestsWaitTogether) {
  const HttpServer server([this](const ServerRequest& request) {
    ServerAnswer answer = AnswerOf(file_, request);
    answer.delay = .1;
    return answer;
  });
  const auto object = Object(server);
  std::vector<std::unique_ptr<Reading>> readings;
  std::atomic<int> left{64};
  const double begun = MonotonicSeconds();
  for (int i = 0; i < 64; ++i) {
    readings.push_back(std::make_unique<Reading>(object, i * 1000, 1000));
    readings.back()->request.done = [&left] { --left; };
    client_->Start(&readings.back()->request);
  }
  while (left > 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  // One after another they would take 6.4 s.
  EXPECT_LT(MonotonicSeconds() - begun, 3);
  for (int i = 0; i < 64; ++i) {
    EXPECT_TRUE(readings[i]->request.status.ok());
    EXPECT_EQ(readings[i]->bytes(), file_.substr(i * 1000, 1000));
  }
}

// Answers come after kLate seconds, but the first ones at once, and stall in
// their middle until the client gives them up.
class ReceiveTest : public HttpClientTest {
 protected:
  static constexpr double kLate = .3;

  // Seconds until all that come late are there.
  double SecondsBehind(size_t stalled) {
    std::mutex mu;
    std::set<std::string> asked;
    const HttpServer server([&](const ServerRequest& request) {
      const std::string& range = request.headers.at("range");
      ServerAnswer answer = AnswerOf(file_, request);
      std::lock_guard<std::mutex> lock(mu);
      const bool again = !asked.insert(range).second;
      if (std::stoul(range.substr(6)) >= stalled * 1000) {
        answer.delay = kLate;
      } else if (!again && range.find("500-") == std::string::npos) {
        answer.most = 500;
        answer.stalls = true;
      }
      return answer;
    });
    const auto object = Object(server);
    std::vector<std::unique_ptr<Reading>> readings;
    std::atomic<int> left{40};
    std::atomic<double> last{0};
    const double begun = MonotonicSeconds();
    for (size_t i = 0; i < 40; ++i) {
      readings.push_back(std::make_unique<Reading>(object, i * 1000, 1000));
      readings.back()->request.done = [&, i] {
        if (i >= stalled) last = MonotonicSeconds() - begun;
        --left;
      };
      client_->Start(&readings.back()->request);
    }
    while (left > 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    EXPECT_LT(MonotonicSeconds() - begun, 5);
    for (size_t i = 0; i < 40; ++i) {
      EXPECT_TRUE(readings[i]->request.status.ok())
          << readings[i]->request.status.message();
      EXPECT_EQ(readings[i]->bytes(), file_.substr(i * 1000, 1000));
    }
    return last;
  }
};

TEST_F(ReceiveTest, AFewAreReceivedAtATime) {
  constexpr double kWaited = kLate + .9 * ReceiveTurns::kLongest;
  EXPECT_GT(SecondsBehind(ReceiveTurns::kMost), kWaited);
  // Where one more may be received none waits, but for a machine that does.
  double least = kWaited;
  for (int i = 0; i < 3 && least >= kWaited; ++i) {
    least = std::min(least, SecondsBehind(ReceiveTurns::kMost - 1));
  }
  EXPECT_LT(least, kWaited);
}

// Reads a thousand bytes so often, one after the other; the seconds that the
// slowest takes.
class HedgedTest : public HttpClientTest {
 protected:
  double ReadMany(int count, const ServerHandler& handler) {
    const HttpServer server(handler);
    const auto object = Object(server);
    double slowest = 0;
    for (int i = 0; i < count; ++i) {
      Reading reading(object, i * 1000, 1000);
      const double begun = MonotonicSeconds();
      client_->Read(&reading.request);
      slowest = std::max(slowest, MonotonicSeconds() - begun);
      EXPECT_TRUE(reading.request.status.ok())
          << reading.request.status.message();
      EXPECT_EQ(reading.bytes(), file_.substr(i * 1000, 1000));
      EXPECT_EQ(reading.request.retries, 0u);
    }
    requests_ = server.requests();
    return slowest;
  }
  // Whether it is for one of them, well after the first hundred.
  static bool IsSlow(const ServerRequest& request) {
    return request.headers.at("range") == "bytes=150000-150999";
  }
  // An answer that comes late.
  ServerAnswer Late(const ServerRequest& request, double seconds) const {
    ServerAnswer answer = AnswerOf(file_, request);
    answer.delay = seconds;
    return answer;
  }
};

TEST_F(HedgedTest, WhatIsSlowIsAskedForASecondTime) {
  std::atomic<int> asked{0};
  EXPECT_LT(ReadMany(200,
                     [&](const ServerRequest& request) {
                       const bool slow = IsSlow(request) && asked++ == 0;
                       return Late(request, slow ? 3 : 0);
                     }),
            2);
  EXPECT_EQ(asked, 2);
}

TEST_F(HedgedTest, ASecondAnswerThatIsWrongIsNotTaken) {
  std::atomic<int> asked{0};
  EXPECT_GE(ReadMany(200,
                     [&](const ServerRequest& request) {
                       if (!IsSlow(request)) return Late(request, 0);
                       if (asked++ == 0) return Late(request, .5);
                       return ServerAnswer{500, {}, ""};
                     }),
            .5);
  EXPECT_EQ(asked, 2);
}

TEST_F(HedgedTest, ASlowServerIsNotAskedTwice) {
  // One in fifty at most, and those only that are slower than usual.
  ReadMany(100, [this](const ServerRequest& request) {
    return Late(request, request.number < 70 ? .001 : .08);
  });
  EXPECT_LE(requests_, 102);
}

TEST_F(HttpClientTest, RepeatsWhatPasses) {
  for (const int status : {408, 429, 500, 502, 503, 504}) {
    EXPECT_EQ(Succeed([&](const ServerRequest& request) {
                ServerAnswer answer = AnswerOf(file_, request);
                if (request.number < 3) answer.status = status;
                return answer;
              }),
              3u);
    EXPECT_EQ(requests_, 4);
  }
}

TEST_F(HttpClientTest, GoesOnWhereAConnectionBroke) {
  std::vector<std::string> asked;
  EXPECT_EQ(Succeed([&](const ServerRequest& request) {
              asked.push_back(request.headers.at("range"));
              ServerAnswer answer = AnswerOf(file_, request);
              if (request.number < 2) answer.most = 100000;
              return answer;
            }),
            2u);
  EXPECT_THAT(asked,
              ::testing::ElementsAre("bytes=0-300000", "bytes=100000-300000",
                                     "bytes=200000-300000"));
}

TEST_F(HttpClientTest, RepeatsWhereNothingComes) {
  const double begun = MonotonicSeconds();
  EXPECT_EQ(Succeed([&](const ServerRequest& request) {
              ServerAnswer answer = AnswerOf(file_, request);
              answer.hangs_up = request.number == 0;
              if (request.number == 1) answer.most = 5000;
              answer.stalls = request.number == 1;
              return answer;
            }),
            2u);
  EXPECT_GT(MonotonicSeconds() - begun, 1);
}

TEST_F(HttpClientTest, WaitsAsLongAsTheServerWants) {
  const double begun = MonotonicSeconds();
  Succeed([&](const ServerRequest& request) {
    ServerAnswer answer = AnswerOf(file_, request);
    if (request.number == 0) {
      answer.status = 503;
      answer.headers.push_back("Retry-After: 1");
    }
    return answer;
  });
  EXPECT_GT(MonotonicSeconds() - begun, 1);
}

TEST_F(HttpClientTest, GivesUpAfterItsPatience) {
  const double begun = MonotonicSeconds();
  const Status status = Fail(
      [&](const ServerRequest&) {
        return ServerAnswer{503, {}, "later"};
      },
      .3);
  EXPECT_EQ(status.code(), StatusCode::kUnavailable);
  EXPECT_THAT(status.message(), AllOf(HasSubstr("status 503: it is overloaded"),
                                      HasSubstr(" attempts in 0 s)")));
  EXPECT_GT(requests_, 5);
  EXPECT_LT(MonotonicSeconds() - begun, 2);
}

TEST_F(HttpClientTest, AsksOnceForWhatIsRefused) {
  for (const auto& [number, code] : {std::pair{404, StatusCode::kNotFound},
                                     {403, StatusCode::kInternal},
                                     {400, StatusCode::kInternal},
                                     {412, StatusCode::kDataLoss}}) {
    const Status status = Fail([status = number](const ServerRequest&) {
      return ServerAnswer{status, {}, "secret of an error page"};
    });
    EXPECT_EQ(status.code(), code);
    EXPECT_THAT(status.message(),
                HasSubstr("status " + std::to_string(number)));
    EXPECT_EQ(requests_, 1);
  }
}

TEST_F(HttpClientTest, DoesNotTakeTheWholeFileForAPart) {
  const std::string large = RandomBytes(4 << 20);
  Reading reading(nullptr, 5, 100);
  Read(
      [&](const ServerRequest&) {
        return ServerAnswer{200, {}, large};
      },
      &reading);
  EXPECT_EQ(reading.request.status.code(), StatusCode::kUnimplemented);
  EXPECT_THAT(reading.request.status.message(), HasSubstr("serves ranges"));
  EXPECT_EQ(reading.memory, std::string(100, 'x'));
}

TEST_F(HttpClientTest, DoesNotTakeOtherBytes) {
  const auto other = [](const std::string& range, size_t size) {
    return [=](const ServerRequest&) {
      return ServerAnswer{
          206, {"Content-Range: bytes " + range}, std::string(size, 'y')};
    };
  };
  for (const auto& handler :
       {other("1-300001/400000", 300001), other("0-300000/300001", 300000),
        other("0-300000/300001", 300002), other("*/300001", 300001)}) {
    Reading reading(nullptr, 0, file_.size());
    Read(handler, &reading);
    EXPECT_EQ(reading.request.status.code(), StatusCode::kDataLoss);
    EXPECT_EQ(requests_, 4);
    EXPECT_EQ(reading.request.bytes, 0u);
  }
  EXPECT_EQ(Succeed([&](const ServerRequest& request) {
              return request.number < 3 ? other("7-8/9", 2)(request)
                                        : AnswerOf(file_, request);
            }),
            3u);
}

TEST_F(HttpClientTest, AFileThatChangesIsAnError) {
  for (const bool compares : {true, false}) {
    std::string etag = "\"1\"";
    const HttpServer server([&](const ServerRequest& request) {
      ServerRequest asked = request;
      if (!compares) asked.headers.erase("if-match");
      return AnswerOf(file_, asked, etag);
    });
    const auto object = Object(server);
    Reading first(object, 0, 10), second(object, 10, 10);
    client_->Read(&first.request);
    EXPECT_TRUE(first.request.status.ok());
    etag = "\"2\"";
    client_->Read(&second.request);
    EXPECT_EQ(second.request.status.code(), StatusCode::kDataLoss);
    EXPECT_THAT(second.request.status.message(), HasSubstr("changed"));
    EXPECT_EQ(second.memory, std::string(10, 'x'));
    EXPECT_EQ(server.requests(), 2);
  }
}

TEST_F(HttpClientTest, FollowsToAnotherPlace) {
  const HttpServer elsewhere([this](const ServerRequest& request) {
    return AnswerOf(file_, request);
  });
  EXPECT_EQ(Succeed([&](const ServerRequest&) {
              return ServerAnswer{
                  302, {"Location: " + elsewhere.Url("/b?signature")}, "there"};
            }),
            0u);
  const Status status = Fail([](const ServerRequest& request) {
    return ServerAnswer{302, {"Location: " + request.target}, "here"};
  });
  EXPECT_THAT(status.message(), HasSubstr("redirect"));
  EXPECT_EQ(Fail([](const ServerRequest&) {
              return ServerAnswer{302, {"Location: file:///etc/passwd"}, ""};
            }).code(),
            StatusCode::kInternal);
}

TEST_F(HttpClientTest, AsksTheProxyOfTheEnvironment) {
  const HttpServer proxy([this](const ServerRequest& request) {
    return request.target == "http://elsewhere.invalid/a.rec?x"
               ? AnswerOf(file_, request)
               : ServerAnswer{404, {}, ""};
  });
  setenv("http_proxy", proxy.Url("").c_str(), 1);
  Reading reading(
      std::make_shared<RemoteObject>("http://elsewhere.invalid/a.rec?x"), 5, 9);
  client_->Read(&reading.request);
  unsetenv("http_proxy");
  EXPECT_TRUE(reading.request.status.ok()) << reading.request.status.message();
  EXPECT_EQ(reading.bytes(), file_.substr(5, 9));
}

TEST_F(HttpClientTest, SaysThatNobodyListens) {
  std::string url;
  {
    url =
        HttpServer([](const ServerRequest&) { return ServerAnswer(); }).Url("");
  }
  Reading reading(std::make_shared<RemoteObject>(url + "/a?secret"), 0, 10, .1);
  client_->Read(&reading.request);
  EXPECT_EQ(reading.request.status.code(), StatusCode::kUnavailable);
  EXPECT_THAT(reading.request.status.message(),
              AllOf(StartsWith(url + "/a: Failed to connect"),
                    Not(HasSubstr("secret"))));
}

TEST_F(HttpClientTest, RefusesWhatIsNoAddress) {
  for (const char* url : {"http://", "http://a b/c?secret", "ftp://host/a"}) {
    Reading reading(std::make_shared<RemoteObject>(url), 0, 10);
    client_->Read(&reading.request);
    EXPECT_EQ(reading.request.status.code(), StatusCode::kInternal) << url;
    EXPECT_THAT(reading.request.status.message(), Not(HasSubstr("secret")));
  }
}

TEST_F(HttpClientTest, ItsEndCancels) {
  const HttpServer server([this](const ServerRequest& request) {
    ServerAnswer answer = AnswerOf(file_, request);
    answer.status = request.target == "/busy" ? 503 : 206;
    answer.most = 100;
    answer.stalls = true;
    return answer;
  });
  Reading stalled(Object(server), 0, 1000);
  Reading waiting(Object(server, "/busy"), 0, 1000);
  std::atomic<int> ended{0};
  for (Reading* reading : {&stalled, &waiting}) {
    reading->request.done = [&ended] { ++ended; };
    client_->Start(&reading->request);
  }
  while (server.requests() < 2) std::this_thread::yield();
  client_ = nullptr;
  EXPECT_EQ(ended, 2);
  EXPECT_EQ(stalled.request.status.code(), StatusCode::kCancelled);
  EXPECT_EQ(waiting.request.status.code(), StatusCode::kCancelled);
}

// One answer in ten fails, each in another way.
TEST_F(HttpClientTest, AStormOfFailuresCostsRetriesOnly) {
  std::mutex mu;
  std::mt19937 random(1);
  const HttpServer server([&](const ServerRequest& request) {
    ServerAnswer answer = AnswerOf(file_, request);
    std::lock_guard<std::mutex> lock(mu);
    if (random() % 10 != 0) return answer;
    switch (random() % 5) {
      case 0:
        return ServerAnswer{503, {}, "busy"};
      case 1:
        answer.hangs_up = true;
        return answer;
      case 2:
        answer.most = random() % 20000;
        return answer;
      case 3:
        return ServerAnswer{206, {"Content-Range: bytes 0-0/300001"}, "y"};
      default:
        return ServerAnswer{500, {}, std::string(100000, 'e')};
    }
  });
  const auto object = Object(server);
  uint64_t retries = 0;
  std::vector<std::thread> threads;
  std::mutex sum;
  for (unsigned t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      std::mt19937 place(t);
      for (int i = 0; i < 50; ++i) {
        const uint64_t offset = place() % 280000;
        Reading reading(object, offset, 20000);
        client_->Read(&reading.request);
        EXPECT_TRUE(reading.request.status.ok())
            << reading.request.status.message();
        EXPECT_EQ(reading.bytes(), file_.substr(offset, 20000));
        std::lock_guard<std::mutex> lock(sum);
        retries += reading.request.retries;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_GT(retries, 10u);
  // libcurl itself repeats what an old connection did not answer.
  EXPECT_GE(server.requests(), 400 + static_cast<int>(retries));
}

TEST(ProcessClientTest, AForkedChildHasItsOwn) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "the thread sanitizer starts no threads in a forked child";
#endif
  const std::string file = RandomBytes(1000);
  const HttpServer server(
      [&](const ServerRequest& request) { return AnswerOf(file, request); });
  const auto read = [&] {
    HttpClient* client = nullptr;
    EXPECT_TRUE(HttpClient::Process(&client).ok());
    Reading reading(std::make_shared<RemoteObject>(server.Url("/a")), 0, 1000);
    client->Read(&reading.request);
    return reading.request.status.ok() && reading.bytes() == file;
  };
  ASSERT_TRUE(read());
  HttpClient *one = nullptr, *other = nullptr;
  ASSERT_TRUE(HttpClient::Process(&one).ok());
  ASSERT_TRUE(HttpClient::Process(&other).ok());
  EXPECT_EQ(one, other);
  const pid_t child = fork();
  if (child == 0) _exit(read() ? 7 : 1);
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(WEXITSTATUS(status), 7);
}

}  // namespace
}  // namespace liquid::http_client_test
