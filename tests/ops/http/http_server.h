// A server of HTTP/1.1 on the loopback interface that does what a test says,
// wrong things too.
#ifndef LIQUID_TESTS_OPS_HTTP_HTTP_SERVER_H_
#define LIQUID_TESTS_OPS_HTTP_HTTP_SERVER_H_

#include <openssl/ssl.h>

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace liquid {

struct ServerRequest {
  std::string method;
  std::string target;
  std::map<std::string, std::string> headers;  // names in lower case
  int number = 0;                              // of the server's, from 0 on
};

struct ServerAnswer {
  int status = 206;
  std::vector<std::string> headers;  // Content-Length comes by itself
  std::string body;
  double delay = 0;            // seconds before it
  uint64_t most = 1ull << 40;  // bytes of the body, and then the end
  bool stalls = false;         // after these bytes nothing comes, nor the end
  bool hangs_up = false;       // no answer at all
};

// Called on a thread for each connection.
using ServerHandler = std::function<ServerAnswer(const ServerRequest&)>;

// What a right server answers of a file.
ServerAnswer AnswerOf(const std::string& file, const ServerRequest& request,
                      const std::string& etag = "\"1\"");

// Thread-safe. The destructor breaks what is under way.
class HttpServer {
 public:
  // With TLS where a certificate is named, a file with its key.
  explicit HttpServer(ServerHandler handler,
                      const std::string& certificate = "");
  ~HttpServer();

  // "http://127.0.0.1:port" and the target.
  std::string Url(const std::string& target) const;
  int requests() const;
  int connections() const;

 private:
  class Connection;
  void Accept();
  void Serve(int fd);

  const ServerHandler handler_;
  SSL_CTX* tls_ = nullptr;
  int listener_ = -1;
  int port_ = 0;
  std::thread accepting_;
  mutable std::mutex mu_;
  // Guarded by mu_.
  std::vector<std::thread> serving_;
  std::set<int> open_;
  bool closing_ = false;
  int requests_ = 0;
  int connections_ = 0;
};

}  // namespace liquid

#endif  // LIQUID_TESTS_OPS_HTTP_HTTP_SERVER_H_
