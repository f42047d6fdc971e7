// What the two ends of a handshake say, byte for byte, and the proofs in it; handshake.h shows the order.
#pragma once

#include <unistd.h>

#include <array>
#include <cstring>

#include "comm/handshake.h"

namespace rondo {

inline constexpr uint32_t kMagic = 0x4f444e52;  // "RNDO"
inline constexpr uint32_t kVersion = 10;        // of everything that goes between processes

using Nonce = std::array<std::byte, 16>;

enum class Verdict : uint32_t { Welcome, WrongVersion, UnknownSession, WrongSecret };

struct Hello {
  uint32_t magic = kMagic;
  uint32_t version = kVersion;
  uint64_t session = 0;
  Nonce nonce{};
};

struct Answer {
  uint32_t magic = kMagic;
  uint32_t version = kVersion;
  Verdict verdict = Verdict::Welcome;
  uint32_t reserved = 0;
  Nonce nonce{};
  std::array<std::byte, 32> older{};  // versions before 8 read as much, to find that this is another one
};

/// Who the dialler says it is: for messages, to be believed with its proof only.
struct Speaker {
  int32_t pid = 0;
  char host[60] = {};

  static Speaker self() {
    Speaker speaker{.pid = ::getpid()};
    ::gethostname(speaker.host, sizeof speaker.host - 1);
    return speaker;
  }
};

/// All that is said before the proofs. Both are over all of it, so neither fits another conversation.
struct Transcript {
  Hello hello;
  Answer answer;
  Purpose purpose;
  Speaker speaker;
};
static_assert(sizeof(Transcript) == 32 + 64 + 32 + 64);

struct Claim {
  Purpose purpose;
  Speaker speaker;
  Digest proof{};
};

struct Receipt {
  Verdict verdict = Verdict::Welcome;
  uint32_t reserved = 0;
  Digest proof{};
};

template <typename T>
std::span<const std::byte> raw(const T& value) {
  return std::as_bytes(std::span(&value, 1));
}

inline Nonce random_nonce() {
  Nonce nonce;
  const uint64_t words[2] = {random_u64(), random_u64()};
  std::memcpy(nonce.data(), words, sizeof words);
  return nonce;
}

/// The role is in it, so that neither end can send the other's proof back.
inline Digest dialler_proof(const Secret& secret, const Transcript& said) {
  static constexpr char role[] = "dialler";
  return keyed_hash(secret, {raw(role), raw(said)});
}

inline Digest listener_proof(const Secret& secret, const Transcript& said) {
  static constexpr char role[] = "listener";
  return keyed_hash(secret, {raw(role), raw(said)});
}

/// What a user calls the secret that these two ends do not share.
inline const char* secret_name(PurposeKind kind) {
  return kind == PurposeKind::Meet ? "RONDO_SECRET" : "secret of the session";
}

}  // namespace rondo
