// One question to a server and its answer, by a handle of libcurl.
#ifndef LIQUID_OPS_HTTP_TRANSFER_H_
#define LIQUID_OPS_HTTP_TRANSFER_H_

#include <curl/curl.h>

#include <cstdint>
#include <functional>
#include <string>

#include "ops/http/answer.h"
#include "ops/http/http_request.h"
#include "ops/http/s3_request.h"

namespace liquid {

struct TransferOptions {
  double connect_seconds = 10;
  int stall_seconds = 15;
  std::string ca_bundle;  // empty: none
  // Asked when the first bytes of the file have come, and then when they come
  // again: whether they are taken now, or lie until libcurl is told that the
  // transfer goes on. Null: they are.
  std::function<bool()> may_receive;
};

// Not thread-safe. Writes into the request's segments while libcurl performs
// the handle, which must not belong to a curl_multi when it is destroyed.
class Transfer {
 public:
  // Asks for `wanted`, a part of what `request` reads; of a store of S3 by
  // `s3`, which is null for other servers.
  Transfer(const HttpRequest& request, const ByteRange& wanted,
           const TransferOptions& options, const S3Request* s3);
  ~Transfer();
  Transfer(const Transfer&) = delete;
  Transfer& operator=(const Transfer&) = delete;

  // Null where there was no memory.
  CURL* handle() const { return handle_; }
  // Its transfer.
  static Transfer* Of(CURL* handle);

  // What came of it, after libcurl has ended it by `code`.
  Judgement Ended(CURLcode code);
  // Bytes of wanted() that have come.
  uint64_t received() const { return received_; }
  const ByteRange& wanted() const { return wanted_; }
  // When the answer's headers were complete, of MonotonicSeconds(); 0 before.
  double answered() const { return answered_; }
  // What the server asked to wait before the next attempt.
  double retry_after() const { return head_.retry_after; }

 private:
  static size_t TakeHeader(char* bytes, size_t size, size_t count, void* self);
  static size_t TakeBody(char* bytes, size_t size, size_t count, void* self);
  void JudgeHead();
  bool is_wanted() const {
    return judgement_.verdict == Verdict::kTake && judgement_.length > 0;
  }
  // False: the rest of the body is not wanted.
  bool Take(const char* bytes, size_t size);
  void SetOptions(const TransferOptions& options, const S3Request* s3);
  void AddHeader(const std::string& line);
  // Of an answer that is not to be taken.
  Judgement Refused(CURLcode code) const;
  Status Broken(CURLcode code) const;

  const HttpRequest& request_;
  const bool is_s3_;
  const ByteRange wanted_;
  const std::function<bool()> may_receive_;
  CURL* const handle_;
  curl_slist* headers_ = nullptr;
  char error_[CURL_ERROR_SIZE] = "";
  AnswerHead head_;
  bool judged_ = false;
  double answered_ = 0;
  Judgement judgement_;  // of the headers
  uint64_t received_ = 0;
  uint64_t discarded_ = 0;  // of a body that is not the file's
  std::string page_;        // the beginning of that body
  size_t segment_ = 0;      // where the next byte goes
  size_t place_ = 0;        // in that segment
};

}  // namespace liquid

#endif  // LIQUID_OPS_HTTP_TRANSFER_H_
