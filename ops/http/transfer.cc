#include "ops/http/transfer.h"

#include <sys/socket.h>

#include <algorithm>
#include <cstring>

#include "ops/core/clock.h"
#include "ops/http/s3_error.h"
#include "ops/http/url.h"

namespace liquid {
namespace {

// An error page of up to this many bytes is read to its end, so that the
// connection can be used again.
constexpr uint64_t kErrorPage = uint64_t{64} << 10;
// Of it, what may say what is wrong.
constexpr size_t kKeptPage = 4 << 10;

// No child that the process starts has the connection.
curl_socket_t OpenSocket(void* /*unused*/, curlsocktype /*purpose*/,
                         curl_sockaddr* address) {
  return socket(address->family, address->socktype | SOCK_CLOEXEC,
                address->protocol);
}

// Whether the same may go well when it is done again.
Verdict VerdictOf(CURLcode code) {
  switch (code) {
    case CURLE_COULDNT_CONNECT:
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_RESOLVE_PROXY:
    case CURLE_GOT_NOTHING:
    case CURLE_HTTP2:
    case CURLE_HTTP2_STREAM:
    case CURLE_OPERATION_TIMEDOUT:
    case CURLE_PARTIAL_FILE:
    case CURLE_RECV_ERROR:
    case CURLE_SEND_ERROR:
      return Verdict::kRetry;
    case CURLE_SSL_CONNECT_ERROR:  // broken, or no TLS is spoken there
    case CURLE_WEIRD_SERVER_REPLY:
      return Verdict::kDistrust;
    default:
      return Verdict::kFail;
  }
}

}  // namespace

Transfer::Transfer(const HttpRequest& request, const ByteRange& wanted,
                   const TransferOptions& options, const S3Request* s3)
    : request_(request),
      is_s3_(s3 != nullptr),
      wanted_(wanted),
      may_receive_(options.may_receive),
      handle_(curl_easy_init()) {
  place_ = wanted.begin - request.offset;
  while (segment_ < request.segments.size() &&
         place_ >= request.segments[segment_].iov_len) {
    place_ -= request.segments[segment_++].iov_len;
  }
  if (handle_ != nullptr) SetOptions(options, s3);
}

Transfer::~Transfer() {
  curl_easy_cleanup(handle_);
  curl_slist_free_all(headers_);
}

Transfer* Transfer::Of(CURL* handle) {
  char* self = nullptr;
  curl_easy_getinfo(handle, CURLINFO_PRIVATE, &self);
  return reinterpret_cast<Transfer*>(self);
}

void Transfer::AddHeader(const std::string& line) {
  curl_slist* const longer = curl_slist_append(headers_, line.c_str());
  if (longer != nullptr) headers_ = longer;
}

void Transfer::SetOptions(const TransferOptions& options, const S3Request* s3) {
  const RemoteObject& object = *request_.object;
  const auto set = [this](CURLoption option, auto value) {
    curl_easy_setopt(handle_, option, value);
  };
  const std::string range =
      std::to_string(wanted_.begin) + "-" + std::to_string(wanted_.end - 1);
  const std::string& url = is_s3_ ? s3->url : object.url();
  set(CURLOPT_URL, url.c_str());
  set(CURLOPT_RANGE, range.c_str());
  set(CURLOPT_USERAGENT, "liquid_tf");
  const std::string condition = object.condition();
  if (!condition.empty()) AddHeader("If-Match: " + condition);
  if (is_s3_) {
    for (const std::string& line : s3->headers) AddHeader(line);
  }
  set(CURLOPT_HTTPHEADER, headers_);
  // A name that is served elsewhere may be, but not with less protection.
  set(CURLOPT_PROTOCOLS_STR, "http,https");
  set(CURLOPT_REDIR_PROTOCOLS_STR, IsHttpsUrl(url) ? "https" : "http,https");
  // A signature is for one host.
  set(CURLOPT_FOLLOWLOCATION, is_s3_ ? 0L : 1L);
  set(CURLOPT_MAXREDIRS, 5L);
  // A signature is of the path as it is.
  set(CURLOPT_PATH_AS_IS, 1L);
  if (!options.ca_bundle.empty()) {
    set(CURLOPT_CAINFO, options.ca_bundle.c_str());
  }
  set(CURLOPT_CONNECTTIMEOUT_MS,
      static_cast<long>(options.connect_seconds * 1000));
  set(CURLOPT_LOW_SPEED_LIMIT, 1024L);
  set(CURLOPT_LOW_SPEED_TIME, static_cast<long>(options.stall_seconds));
  set(CURLOPT_NOSIGNAL, 1L);
  set(CURLOPT_BUFFERSIZE, 256L << 10);
  set(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
  set(CURLOPT_OPENSOCKETFUNCTION, &OpenSocket);
  set(CURLOPT_HEADERFUNCTION, &TakeHeader);
  set(CURLOPT_HEADERDATA, this);
  set(CURLOPT_WRITEFUNCTION, &TakeBody);
  set(CURLOPT_WRITEDATA, this);
  set(CURLOPT_ERRORBUFFER, error_);
  set(CURLOPT_PRIVATE, this);
}

// Called for each line of the headers; an empty one ends them.
size_t Transfer::TakeHeader(char* bytes, size_t size, size_t count,
                            void* self) {
  auto* const transfer = static_cast<Transfer*>(self);
  const std::string line(bytes, size * count);
  AnswerHead& head = transfer->head_;
  if (line.compare(0, 5, "HTTP/") == 0) {
    // Another answer, after one that says to go on or to look elsewhere.
    head = AnswerHead();
    transfer->judged_ = false;
  } else if (line == "\r\n" || line == "\n") {
    curl_easy_getinfo(transfer->handle_, CURLINFO_RESPONSE_CODE, &head.status);
    // After 1xx and 3xx another answer may come.
    const bool last = head.status / 100 == 2 || head.status >= 400 ||
                      (transfer->is_s3_ && head.status >= 300);
    if (last && !transfer->judged_) transfer->JudgeHead();
  } else if (!transfer->judged_) {
    head.AddLine(line);
  }
  return size * count;
}

void Transfer::JudgeHead() {
  judged_ = true;
  answered_ = MonotonicSeconds();
  judgement_ = Judge(head_, wanted_, request_.object.get());
}

size_t Transfer::TakeBody(char* bytes, size_t size, size_t count, void* self) {
  auto* const transfer = static_cast<Transfer*>(self);
  if (transfer->is_wanted() && transfer->received_ == 0 &&
      transfer->may_receive_ && !transfer->may_receive_()) {
    return CURL_WRITEFUNC_PAUSE;
  }
  // Any other number than that of the bytes ends the transfer.
  return transfer->Take(bytes, size * count) ? size * count : 0;
}

bool Transfer::Take(const char* bytes, size_t size) {
  if (!is_wanted()) {
    page_.append(bytes, std::min(size, kKeptPage - page_.size()));
    discarded_ += size;
    return discarded_ <= kErrorPage;
  }
  if (size > judgement_.length - received_) {
    judgement_.verdict = Verdict::kDistrust;
    judgement_.status = DataLoss(request_.object->name() +
                                 ": the server gives more bytes than it says");
    return false;
  }
  received_ += size;
  while (size > 0) {
    const iovec& segment = request_.segments[segment_];
    const size_t part = std::min(size, segment.iov_len - place_);
    std::memcpy(static_cast<char*>(segment.iov_base) + place_, bytes, part);
    bytes += part;
    size -= part;
    place_ += part;
    if (place_ == segment.iov_len) {
      ++segment_;
      place_ = 0;
    }
  }
  return true;
}

Status Transfer::Broken(CURLcode code) const {
  // A few of the messages quote an address, which may hold a signature.
  const bool quotes = std::strpbrk(error_, "?") != nullptr ||
                      std::strstr(error_, "://") != nullptr;
  std::string message =
      request_.object->name() + ": " +
      (*error_ == '\0' || quotes ? curl_easy_strerror(code) : error_);
  if (code == CURLE_PEER_FAILED_VERIFICATION) {
    message +=
        "; a file with the certificate of its authority can be named in the "
        "environment's SSL_CERT_FILE";
  }
  return VerdictOf(code) == Verdict::kFail ? Internal(message)
                                           : Unavailable(message);
}

Judgement Transfer::Refused(CURLcode code) const {
  // 412 is about the file, and 416 about its size.
  if (!is_s3_ || head_.status < 300 || head_.status == 412 ||
      head_.status == 416) {
    return judgement_;
  }
  // A page that was cut off does not say why; the rest of a long one is not
  // wanted.
  if (code != CURLE_OK && code != CURLE_WRITE_ERROR) {
    return {VerdictOf(code), Broken(code), 0};
  }
  return JudgeS3Error(head_, page_, request_.object->name());
}

Judgement Transfer::Ended(CURLcode code) {
  if (!judged_ && code == CURLE_OK) JudgeHead();
  if (judged_ && judgement_.verdict != Verdict::kTake) return Refused(code);
  if (code != CURLE_OK) {
    // Of a page beyond the file's end, nothing is wanted.
    if (judged_ && judgement_.length == 0) return judgement_;
    return {VerdictOf(code), Broken(code), 0};
  }
  if (received_ == judgement_.length) return judgement_;
  return {Verdict::kDistrust,
          DataLoss(request_.object->name() + ": the server gives " +
                   std::to_string(received_) + " bytes where it says " +
                   std::to_string(judgement_.length)),
          0};
}

}  // namespace liquid
