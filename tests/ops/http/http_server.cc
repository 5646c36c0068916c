#include "tests/ops/http/http_server.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <chrono>
#include <cstdio>
#include <utility>

namespace liquid {

// Bytes to and from a client, by TLS or not.
class HttpServer::Connection {
 public:
  Connection(int fd, SSL_CTX* tls) : fd_(fd) {
    if (tls == nullptr) return;
    ssl_ = SSL_new(tls);
    SSL_set_fd(ssl_, fd);
    sound_ = SSL_accept(ssl_) == 1;
  }
  ~Connection() { SSL_free(ssl_); }

  // The next line without its end; false where there is none.
  bool Line(std::string* line) {
    size_t end;
    while ((end = in_.find("\r\n")) == std::string::npos) {
      char bytes[4096];
      const auto n = !sound_           ? 0
                     : ssl_ != nullptr ? SSL_read(ssl_, bytes, sizeof(bytes))
                                       : recv(fd_, bytes, sizeof(bytes), 0);
      if (n <= 0) return false;
      in_.append(bytes, static_cast<size_t>(n));
    }
    *line = in_.substr(0, end);
    in_.erase(0, end + 2);
    return true;
  }
  bool Send(const std::string& bytes) {
    size_t done = 0;
    while (done < bytes.size()) {
      const size_t left = bytes.size() - done;
      const auto n = ssl_ != nullptr
                         ? SSL_write(ssl_, &bytes[done], static_cast<int>(left))
                         : send(fd_, &bytes[done], left, MSG_NOSIGNAL);
      if (n <= 0) return false;
      done += static_cast<size_t>(n);
    }
    return true;
  }

 private:
  const int fd_;
  SSL* ssl_ = nullptr;
  bool sound_ = true;
  std::string in_;
};

ServerAnswer AnswerOf(const std::string& file, const ServerRequest& request,
                      const std::string& etag) {
  ServerAnswer answer;
  const std::string total = std::to_string(file.size());
  answer.headers = {"ETag: " + etag};
  const auto condition = request.headers.find("if-match");
  if (condition != request.headers.end() && condition->second != etag) {
    answer.status = 412;
    return answer;
  }
  unsigned long first = 0, last = 0;
  const auto range = request.headers.find("range");
  if (range == request.headers.end() ||
      std::sscanf(range->second.c_str(), "bytes=%lu-%lu", &first, &last) != 2) {
    answer.status = 200;
    answer.body = file;
    return answer;
  }
  if (first >= file.size()) {
    answer.status = 416;
    answer.headers.push_back("Content-Range: bytes */" + total);
    answer.body = "there are no such bytes";
    return answer;
  }
  last = std::min<unsigned long>(last, file.size() - 1);
  answer.headers.push_back("Content-Range: bytes " + std::to_string(first) +
                           "-" + std::to_string(last) + "/" + total);
  answer.body = file.substr(first, last + 1 - first);
  return answer;
}

HttpServer::HttpServer(ServerHandler handler, const std::string& certificate)
    : handler_(std::move(handler)) {
  signal(SIGPIPE, SIG_IGN);  // SSL_write to one who has gone
  if (!certificate.empty()) {
    tls_ = SSL_CTX_new(TLS_server_method());
    EXPECT_EQ(SSL_CTX_use_certificate_file(tls_, certificate.c_str(),
                                           SSL_FILETYPE_PEM),
              1);
    EXPECT_EQ(SSL_CTX_use_PrivateKey_file(tls_, certificate.c_str(),
                                          SSL_FILETYPE_PEM),
              1);
  }
  listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  EXPECT_EQ(bind(listener_, reinterpret_cast<sockaddr*>(&address), size), 0);
  EXPECT_EQ(listen(listener_, 128), 0);
  EXPECT_EQ(
      getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size), 0);
  port_ = ntohs(address.sin_port);
  accepting_ = std::thread(&HttpServer::Accept, this);
}

HttpServer::~HttpServer() {
  {
    std::lock_guard<std::mutex> lock(mu_);
    closing_ = true;
    for (const int fd : open_) shutdown(fd, SHUT_RDWR);
  }
  shutdown(listener_, SHUT_RDWR);
  accepting_.join();
  close(listener_);
  for (std::thread& thread : serving_) thread.join();
  SSL_CTX_free(tls_);
}

std::string HttpServer::Url(const std::string& target) const {
  return (tls_ != nullptr ? "https://127.0.0.1:" : "http://127.0.0.1:") +
         std::to_string(port_) + target;
}

int HttpServer::requests() const {
  std::lock_guard<std::mutex> lock(mu_);
  return requests_;
}

int HttpServer::connections() const {
  std::lock_guard<std::mutex> lock(mu_);
  return connections_;
}

void HttpServer::Accept() {
  for (;;) {
    const int fd = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    std::lock_guard<std::mutex> lock(mu_);
    if (closing_ || fd < 0) {
      if (fd >= 0) close(fd);
      return;
    }
    const int on = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    open_.insert(fd);
    ++connections_;
    serving_.emplace_back(&HttpServer::Serve, this, fd);
  }
}

void HttpServer::Serve(int fd) {
  Connection connection(fd, tls_);
  std::string line;
  bool goes_on = true;
  while (goes_on && connection.Line(&line)) {
    ServerRequest request;
    request.method = line.substr(0, line.find(' '));
    line.erase(0, request.method.size() + 1);
    request.target = line.substr(0, line.find(' '));
    while (connection.Line(&line) && !line.empty()) {
      const size_t colon = line.find(": ");
      if (colon == std::string::npos) continue;
      std::string name = line.substr(0, colon);
      std::transform(name.begin(), name.end(), name.begin(), ::tolower);
      request.headers[name] = line.substr(colon + 2);
    }
    {
      std::lock_guard<std::mutex> lock(mu_);
      request.number = requests_++;
    }
    const ServerAnswer answer = handler_(request);
    std::this_thread::sleep_for(std::chrono::duration<double>(answer.delay));
    if (answer.hangs_up) break;
    std::string text = "HTTP/1.1 " + std::to_string(answer.status) + " X\r\n";
    for (const std::string& header : answer.headers) text += header + "\r\n";
    text +=
        "Content-Length: " + std::to_string(answer.body.size()) + "\r\n\r\n";
    text += answer.body.substr(0, answer.most);
    goes_on = connection.Send(text) && answer.most >= answer.body.size();
    if (answer.stalls) {
      // Until the client goes away, or the server.
      pollfd gone = {fd, POLLIN, 0};
      poll(&gone, 1, -1);
      break;
    }
  }
  std::lock_guard<std::mutex> lock(mu_);
  open_.erase(fd);
  close(fd);
}

}  // namespace liquid
