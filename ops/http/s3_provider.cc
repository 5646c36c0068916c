#include "ops/http/s3_provider.h"

#include <openssl/crypto.h>
#include <pthread.h>

#include <atomic>
#include <mutex>
#include <sstream>
#include <vector>

namespace liquid {
namespace {

constexpr size_t kRoom = 32 << 10;  // a token may be long

struct Registered {
  std::mutex mu;  // held while the provider is called
  S3Provider provider = nullptr;
};

Registered* Process() {
  static std::atomic<Registered*> shared{new Registered};
  // A thread that a forked child does not have may hold the mutex.
  static const int done [[maybe_unused]] = pthread_atfork(nullptr, nullptr, [] {
    auto* const own = new Registered;
    own->provider = shared.load()->provider;
    shared.store(own);
  });
  return shared.load();
}

bool Parse(const std::string& text, S3Access* access) {
  std::istringstream lines(text);
  for (std::string* const part :
       {&access->address, &access->region, &access->key, &access->secret}) {
    if (!std::getline(lines, *part) || part->empty()) return false;
  }
  std::getline(lines, access->token);
  return access->address.find("://") != std::string::npos;
}

}  // namespace

void SetS3Provider(S3Provider provider) {
  Registered* const process = Process();
  std::lock_guard<std::mutex> lock(process->mu);
  process->provider = provider;
}

Status AskForS3Access(const std::string& bucket, bool renew, S3Access* access) {
  std::vector<char> text(kRoom);
  int32_t end = kS3Refused;
  {
    Registered* const process = Process();
    std::lock_guard<std::mutex> lock(process->mu);
    if (process->provider == nullptr) {
      return Cancelled(
          "nobody gives credentials: the process ends, or "
          "liquid_tf is not imported in it");
    }
    end = process->provider(bucket.c_str(), renew, text.data(), text.size());
  }
  text.back() = '\0';
  const std::string said = text.data();
  OPENSSL_cleanse(text.data(), text.size());
  if (end == kS3Provided) {
    return Parse(said, access) ? OkStatus()
                               : Internal("the credentials are not complete");
  }
  return end == kS3Unavailable ? Unavailable(said) : Internal(said);
}

}  // namespace liquid
