// SPDX-License-Identifier: Apache-2.0
#include "base/error_kinds.h"
#include "base/per_process.h"
#include "net/handshake.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <sys/random.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <vector>

namespace rondo {
namespace {

/// Library threads may still be in a handshake during process exit, so OpenSSL must not free its state then.
void keep_openssl() {
  static const int kept = OPENSSL_init_crypto(OPENSSL_INIT_NO_ATEXIT, nullptr);
  static_cast<void>(kept);
}

/// From the kernel: setting up OpenSSL's generator would be most of the cost of a rank's start.
void random_bytes(void* out, size_t bytes) {
  ssize_t got = -1;
  do got = ::getrandom(out, bytes, 0);
  while (got < 0 && errno == EINTR);
  if (got == static_cast<ssize_t>(bytes)) return;  // requests of up to 256 bytes are granted whole
  std::fputs("rondo: the system has no random numbers; a secret cannot be made\n", stderr);
  std::abort();
}

bool all_are(std::string_view text, int (*is)(int)) {
  return std::all_of(text.begin(), text.end(), [&](unsigned char c) { return is(c) != 0; });
}

bool any_is(std::string_view text, int (*is)(int)) {
  return std::any_of(text.begin(), text.end(), [&](unsigned char c) { return is(c) != 0; });
}

/// True if the text can be 32 random bytes in hexadecimal digits or in base64. Base64 must have upper-case
/// and lower-case letters and digits, so long words do not qualify.
bool looks_random(std::string_view text) {
  constexpr size_t kHexDigits = 64;
  constexpr size_t kBase64Letters = 43;
  if (text.size() >= kHexDigits && all_are(text, std::isxdigit)) return true;
  const auto is_base64 = [](int c) {
    return static_cast<int>(std::isalnum(c) != 0 ||
                            std::string_view("+/-_=").find(static_cast<char>(c)) != std::string_view::npos);
  };
  return text.size() >= kBase64Letters && all_are(text, is_base64) && any_is(text, std::isdigit) &&
         any_is(text, std::isupper) && any_is(text, std::islower);
}

Secret hashed(std::string_view text) {
  Secret secret;
  EVP_Digest(text.data(), text.size(), reinterpret_cast<unsigned char*>(secret.bytes.data()), nullptr,
             EVP_sha256(), nullptr);
  return secret;
}

/// Costs 16 MiB and some 40 ms per guess.
Result<Secret> stretched(std::string_view text, std::string_view salt) {
  constexpr uint64_t kRounds = 16384, kBlocks = 8, kLanes = 1, kMaxBytes = 32u << 20;
  Secret secret;
  if (EVP_PBE_scrypt(text.data(), text.size(), reinterpret_cast<const unsigned char*>(salt.data()),
                     salt.size(), kRounds, kBlocks, kLanes, kMaxBytes,
                     reinterpret_cast<unsigned char*>(secret.bytes.data()), secret.bytes.size()) != 1)
    return Status(ErrorKind::SecretTooShort,
                  "the secret is short, and OpenSSL has no scrypt to stretch it here: use one of 64 "
                  "hexadecimal digits, as openssl rand -hex 32 makes it");
  return secret;
}

struct StretchedSecrets {
  std::mutex mutex;
  std::map<std::pair<std::string, std::string>, Secret> secrets;  // by text and salt
};

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

Result<Secret> secret_from_text(std::string_view text, std::string_view salt) {
  keep_openssl();
  if (looks_random(text)) return hashed(text);
  auto& known = per_process<StretchedSecrets>();
  const std::lock_guard lock(known.mutex);
  const std::pair key{std::string(text), std::string(salt)};
  if (const auto found = known.secrets.find(key); found != known.secrets.end()) return found->second;
  RONDO_TRY_ASSIGN(const Secret secret, stretched(text, salt));
  known.secrets[key] = secret;
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
