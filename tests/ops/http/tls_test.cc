// Who answers over TLS is checked.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <string>

#include "ops/http/http_client.h"
#include "tests/ops/http/http_server.h"

namespace liquid::tls_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// A certificate that signs itself, and its key; the file of both.
std::string MakeCertificate(const std::string& name) {
  const std::string path = ::testing::TempDir() + "liquid_tls_" + name + ".pem";
  const std::string key = path + ".key";
  const std::string command =
      "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 "
      "-nodes -days 2 -subj /CN=liquid -addext subjectAltName=" +
      name + " -keyout '" + key + "' -out '" + path + "' 2>'" + path +
      ".log' && cat '" + key + "' >> '" + path + "'";
  EXPECT_EQ(std::system(command.c_str()), 0) << command;
  return path;
}

class TlsTest : public ::testing::Test {
 protected:
  // Reads the file by a new client that trusts `authority`.
  Status Read(const HttpServer& server, const std::string& authority) {
    return Read(server.Url("/a?secret"), authority);
  }
  Status Read(const std::string& url, const std::string& authority) {
    setenv("SSL_CERT_FILE", authority.c_str(), 1);
    HttpClientOptions options;
    options.connect_seconds = 1;
    options.delays = {.005, .05};
    std::unique_ptr<HttpClient> client;
    EXPECT_TRUE(HttpClient::Make(options, &client).ok());
    std::string memory(file_.size(), 'x');
    HttpRequest request;
    request.object = std::make_shared<RemoteObject>(url);
    request.segments = {{memory.data(), memory.size()}};
    request.patience = 2;
    client->Read(&request);
    unsetenv("SSL_CERT_FILE");
    if (request.status.ok()) {
      EXPECT_EQ(memory, file_);
    } else {
      EXPECT_EQ(request.bytes, 0u);
      EXPECT_THAT(request.status.message(),
                  ::testing::Not(HasSubstr("secret")));
    }
    return request.status;
  }

  const std::string file_ = std::string(100000, 'f');
  const ServerHandler handler_ = [this](const ServerRequest& request) {
    return AnswerOf(file_, request);
  };
  const std::string certificate_ = MakeCertificate("IP:127.0.0.1");
};

TEST_F(TlsTest, ReadsFromWhomItTrusts) {
  const HttpServer server(handler_, certificate_);
  const Status status = Read(server, certificate_);
  EXPECT_TRUE(status.ok()) << status.message();
}

TEST_F(TlsTest, RefusesAnUnknownAuthority) {
  const HttpServer server(handler_, certificate_);
  const Status status = Read(server, MakeCertificate("DNS:elsewhere"));
  EXPECT_EQ(status.code(), StatusCode::kInternal);
  EXPECT_THAT(status.message(),
              AllOf(HasSubstr(server.Url("/a: ")), HasSubstr("SSL_CERT_FILE")));
  EXPECT_EQ(server.requests(), 0);
}

TEST_F(TlsTest, RefusesACertificateOfAnotherHost) {
  const std::string other = MakeCertificate("DNS:elsewhere");
  const HttpServer server(handler_, other);
  const Status status = Read(server, other);
  EXPECT_EQ(status.code(), StatusCode::kInternal);
  EXPECT_THAT(status.message(), HasSubstr("certificate subject name"));
  EXPECT_EQ(server.requests(), 0);
}

TEST_F(TlsTest, SaysThatThereAreNoCertificates) {
  const HttpServer server(handler_, certificate_);
  const Status status = Read(server, "/nowhere/ca.pem");
  EXPECT_EQ(status.code(), StatusCode::kNotFound);
  EXPECT_THAT(status.message(),
              AllOf(HasSubstr(server.Url("/a: ")),
                    HasSubstr("SSL_CERT_FILE (\"/nowhere/ca.pem\")")));
}

TEST_F(TlsTest, IsNotTurnedIntoPlainHttp) {
  const HttpServer plain(handler_);
  const HttpServer server(
      [&](const ServerRequest&) {
        return ServerAnswer{302, {"Location: " + plain.Url("/a")}, ""};
      },
      certificate_);
  EXPECT_EQ(Read(server, certificate_).code(), StatusCode::kInternal);
  EXPECT_EQ(plain.requests(), 0);
}

TEST_F(TlsTest, IsNotSpokenEverywhere) {
  const HttpServer plain(handler_);
  const std::string url = "https" + plain.Url("/a").substr(4);
  const Status status = Read(url, certificate_);
  EXPECT_EQ(status.code(), StatusCode::kUnavailable);
  EXPECT_THAT(status.message(), HasSubstr(url));
}

}  // namespace
}  // namespace liquid::tls_test
