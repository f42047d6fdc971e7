// SPDX-License-Identifier: Apache-2.0
// The wire format of the handshake's messages and the proofs in them; handshake.h shows their order.
#pragma once

#include <unistd.h>

#include <array>
#include <cstring>

#include "net/handshake.h"

namespace rondo {

inline constexpr uint32_t kMagic = 0x4f444e52;  // "RNDO"
inline constexpr uint32_t kVersion = 20;        // of everything that processes exchange

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
  std::array<std::byte, 32> older{};  // versions before 8 read this much before they compare versions
};

/// The dialler's claimed identity: for messages, and not trusted without its proof.
struct Speaker {
  int32_t pid = 0;
  char host[60] = {};

  static Speaker self() {
    Speaker speaker{.pid = ::getpid()};
    ::gethostname(speaker.host, sizeof speaker.host - 1);
    return speaker;
  }
};

/// Everything exchanged before the proofs. Both proofs cover all of it, so neither can be replayed in another
/// handshake.
struct Transcript {
  Hello hello;
  Answer answer;
  ConnectRequest purpose;
  Speaker speaker;
};
static_assert(sizeof(Transcript) == 32 + 64 + 32 + 64);

struct Claim {
  ConnectRequest purpose;
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

/// The proof includes the role, so that neither end can send the other's proof back.
inline Digest dialler_proof(const Secret& secret, const Transcript& said) {
  static constexpr char role[] = "dialler";
  return keyed_hash(secret, {raw(role), raw(said)});
}

inline Digest listener_proof(const Secret& secret, const Transcript& said) {
  static constexpr char role[] = "listener";
  return keyed_hash(secret, {raw(role), raw(said)});
}

/// What the dialler makes of the listener's messages.
Status check_answer(const Answer& answer);
Status check_receipt(const Receipt& receipt, const Secret& secret, const Transcript& said);

/// Which failure is reported if all addresses of a peer fail: the heaviest. A timeout outweighs a refusal,
/// because the address that refuses may belong to another machine while the right one does not answer.
int weight_of(const Status& failure);

/// The user's name for the secret that the two ends do not share.
inline const char* secret_name(ConnectKind kind) {
  return kind == ConnectKind::Meet ? "RONDO_SECRET" : "secret of the session";
}

}  // namespace rondo
