#include "comm/secret.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <sys/random.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace rondo {
namespace {

/// Threads of the library's may still be greeting others while the process ends: what OpenSSL has must not be
/// taken from under them.
void keep_openssl() {
  static const int kept = OPENSSL_init_crypto(OPENSSL_INIT_NO_ATEXIT, nullptr);
  static_cast<void>(kept);
}

/// The kernel's own: to set up OpenSSL's generator would be most of what a rank's start costs.
void random_bytes(void* out, size_t bytes) {
  ssize_t got = -1;
  do got = ::getrandom(out, bytes, 0);
  while (got < 0 && errno == EINTR);
  if (got == static_cast<ssize_t>(bytes)) return;  // requests of up to 256 bytes are granted whole
  std::fputs("rondo: the system has no random numbers; a secret cannot be made\n", stderr);
  std::abort();
}

}  // namespace

Secret random_secret() {
  Secret secret;
  random_bytes(secret.bytes.data(), secret.bytes.size());
  return secret;
}

uint64_t random_u64() {
  uint64_t value = 0;
  while (value == 0) random_bytes(&value, sizeof value);
  return value;
}

Secret secret_from_text(std::string_view text) {
  keep_openssl();
  Secret secret;
  EVP_Digest(text.data(), text.size(), reinterpret_cast<unsigned char*>(secret.bytes.data()), nullptr,
             EVP_sha256(), nullptr);
  return secret;
}

Digest keyed_hash(const Secret& secret, std::initializer_list<std::span<const std::byte>> parts) {
  keep_openssl();
  std::vector<std::byte> message;
  for (auto part : parts) message.insert(message.end(), part.begin(), part.end());
  Digest digest{};
  HMAC(EVP_sha256(), secret.bytes.data(), static_cast<int>(secret.bytes.size()),
       reinterpret_cast<const unsigned char*>(message.data()), message.size(),
       reinterpret_cast<unsigned char*>(digest.data()), nullptr);
  return digest;
}

bool same_digest(const Digest& a, const Digest& b) {
  return CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

}  // namespace rondo
