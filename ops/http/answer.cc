#include "ops/http/answer.h"

#include <strings.h>

#include <algorithm>
#include <cctype>
#include <utility>

namespace liquid {
namespace {

// A number of digits alone, below 2^63.
bool ParseNumber(const std::string& text, uint64_t* number) {
  if (text.empty() || text.size() > 18) return false;
  *number = 0;
  for (const char c : text) {
    if (c < '0' || c > '9') return false;
    *number = *number * 10 + static_cast<uint64_t>(c - '0');
  }
  return true;
}

struct ContentRange {
  std::optional<ByteRange> range;  // none: "*"
  std::optional<uint64_t> total;
};

// "bytes 0-99/1234", "bytes 0-99/*" or "bytes */1234".
bool ParseContentRange(const std::string& text, ContentRange* result) {
  const std::string unit = "bytes ";
  const size_t slash = text.find('/');
  if (text.compare(0, unit.size(), unit) != 0 || slash == std::string::npos) {
    return false;
  }
  const std::string range = text.substr(unit.size(), slash - unit.size());
  const std::string total = text.substr(slash + 1);
  uint64_t number;
  if (total != "*") {
    if (!ParseNumber(total, &number)) return false;
    result->total = number;
  }
  if (range == "*") return result->total.has_value();
  const size_t dash = range.find('-');
  ByteRange bytes;
  if (dash == std::string::npos ||
      !ParseNumber(range.substr(0, dash), &bytes.begin) ||
      !ParseNumber(range.substr(dash + 1), &bytes.end) ||
      bytes.end < bytes.begin) {
    return false;
  }
  ++bytes.end;
  result->range = bytes;
  return !result->total || bytes.end <= *result->total;
}

const char* Meaning(long status) {
  switch (status) {
    case 401:
    case 403:
      return ": it refuses access; look at the credentials, and whether a "
             "signed address has expired";
    case 404:
    case 410:
      return ": there is no such file";
    case 408:
    case 504:
      return ": it took too long";
    case 412:
      return ": the file has changed since it was opened; open it again";
    case 429:
      return ": it is asked too often; lower Tuning(threads=)";
    case 500:
      return ": it failed";
    case 502:
    case 503:
      return ": it is overloaded, or down for a while";
    default:
      return status >= 300 && status < 400
                 ? ": it names another place, but not where"
                 : "";
  }
}

bool IsPassing(long status) {
  return status == 408 || status == 425 || status == 429 ||
         (status >= 500 && status != 501 && status != 505);
}

Judgement Fail(Verdict verdict, Status status) {
  return {verdict, std::move(status), 0};
}

std::string Shown(const ByteRange& range) {
  return "bytes " + std::to_string(range.begin) + " to " +
         std::to_string(range.end);
}

// The whole file came. That is right where the whole file was wanted.
Judgement JudgeWhole(const AnswerHead& head, const ByteRange& wanted,
                     const std::string& name) {
  if (wanted.begin == 0 && head.content_length &&
      *head.content_length <= wanted.end) {
    return {Verdict::kTake, OkStatus(), *head.content_length};
  }
  return Fail(Verdict::kFail,
              Unimplemented(name + ": the server gives the whole file where " +
                            Shown(wanted) +
                            " are asked for: use one that serves ranges, or "
                            "download the file first"));
}

Judgement JudgePart(const ContentRange& given, const ByteRange& wanted,
                    const std::string& name, const std::string& said) {
  const bool right =
      given.range && given.range->begin == wanted.begin &&
      (given.range->end == wanted.end ||
       (given.range->end < wanted.end && given.total == given.range->end));
  if (right) {
    return {Verdict::kTake, OkStatus(), given.range->end - given.range->begin};
  }
  return Fail(Verdict::kDistrust,
              DataLoss(name + ": the server was asked for " + Shown(wanted) +
                       " and gave others (Content-Range \"" + said + "\")"));
}

// Nothing lies there.
Judgement JudgeBeyond(const ContentRange& given, const ByteRange& wanted,
                      const std::string& name) {
  if (given.total && wanted.begin >= *given.total) {
    return {Verdict::kTake, OkStatus(), 0};
  }
  return Fail(Verdict::kDistrust,
              DataLoss(name + ": the server says that it has no " +
                       Shown(wanted) + " (status 416)"));
}

Status FailedStatus(long status, const std::string& name) {
  const std::string message = name + ": the server answers with status " +
                              std::to_string(status) + Meaning(status);
  if (status == 404 || status == 410) return NotFound(message);
  if (status == 412) return DataLoss(message);
  return IsPassing(status) ? Unavailable(message) : Internal(message);
}

}  // namespace

void AnswerHead::AddLine(const std::string& line) {
  const size_t colon = line.find(':');
  if (colon == std::string::npos) return;
  const std::string blank = " \t\r\n";
  const std::string name = line.substr(0, colon);
  std::string value;
  const size_t first = line.find_first_not_of(blank, colon + 1);
  if (first != std::string::npos) {
    value = line.substr(first, line.find_last_not_of(blank) + 1 - first);
  }
  const auto is = [&name](const char* other) {
    return strcasecmp(name.c_str(), other) == 0;
  };
  uint64_t number;
  if (is("Content-Range")) {
    content_range = value;
  } else if (is("ETag")) {
    etag = value;
  } else if (is("Last-Modified")) {
    last_modified = value;
  } else if (is("x-amz-bucket-region")) {
    // It goes into a message.
    const auto odd = [](unsigned char c) {
      return !std::isalnum(c) && c != '-';
    };
    if (std::none_of(value.begin(), value.end(), odd)) bucket_region = value;
  } else if (is("Content-Length") && ParseNumber(value, &number)) {
    content_length = number;
  } else if (is("Retry-After") && ParseNumber(value, &number)) {
    retry_after = static_cast<double>(number);
  }
}

Judgement JudgeError(long status, const std::string& name) {
  return Fail(IsPassing(status) ? Verdict::kRetry : Verdict::kFail,
              FailedStatus(status, name));
}

Judgement Judge(const AnswerHead& head, const ByteRange& wanted,
                RemoteObject* object) {
  const std::string& name = object->name();
  ContentRange given;
  Judgement result;
  switch (head.status) {
    case 200:
      result = JudgeWhole(head, wanted, name);
      given.total = head.content_length;
      break;
    case 206:
    case 416:
      if (!ParseContentRange(head.content_range, &given)) given = {};
      result = head.status == 206
                   ? JudgePart(given, wanted, name, head.content_range)
                   : JudgeBeyond(given, wanted, name);
      break;
    default:
      return JudgeError(head.status, name);
  }
  if (result.verdict != Verdict::kTake) return result;
  const Status same =
      object->Accept({head.etag, head.last_modified, given.total});
  return same.ok() ? result : Fail(Verdict::kFail, same);
}

}  // namespace liquid
