#include "ops/http/sigv4.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/sha.h>

namespace liquid {
namespace {

constexpr char kAlgorithm[] = "AWS4-HMAC-SHA256";

const unsigned char* Bytes(const std::string& text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

std::string Hex(const std::string& bytes) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

std::string Hash(const std::string& text) {
  std::string result(SHA256_DIGEST_LENGTH, 0);
  SHA256(Bytes(text), text.size(),
         reinterpret_cast<unsigned char*>(&result[0]));
  return result;
}

std::string Sign(const std::string& key, const std::string& text) {
  std::string result(SHA256_DIGEST_LENGTH, 0);
  unsigned int size = 0;
  HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()), Bytes(text),
       text.size(), reinterpret_cast<unsigned char*>(&result[0]), &size);
  return result;
}

}  // namespace

const char* const kHashOfNothing =
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

std::string Authorization(const Signer& signer,
                          const UnsignedRequest& request) {
  const std::string& time = request.headers.at("x-amz-date");
  const std::string day = time.substr(0, 8);
  const std::string scope =
      day + "/" + signer.region + "/" + signer.service + "/aws4_request";

  std::string lines;
  std::string names;
  for (const auto& header : request.headers) {
    lines += header.first + ":" + header.second + "\n";
    names += (names.empty() ? "" : ";") + header.first;
  }
  const std::string canonical = request.method + "\n" + request.path + "\n" +
                                request.query + "\n" + lines + "\n" + names +
                                "\n" + request.payload_hash;
  const std::string to_sign = std::string(kAlgorithm) + "\n" + time + "\n" +
                              scope + "\n" + Hex(Hash(canonical));

  std::string key = Sign("AWS4" + signer.secret, day);
  for (const std::string& part :
       {signer.region, signer.service, std::string("aws4_request")}) {
    key = Sign(key, part);
  }
  return std::string(kAlgorithm) + " Credential=" + signer.key + "/" + scope +
         ", SignedHeaders=" + names + ", Signature=" + Hex(Sign(key, to_sign));
}

}  // namespace liquid
