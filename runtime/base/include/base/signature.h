// SPDX-License-Identifier: Apache-2.0
// Signature: identifies a call, small enough to fit in every slot header, so that ranks that disagree are
// detected where their data meets. Plain data: any thread; the same bytes between processes and hosts.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <string>

#include "base/collective.h"

namespace rondo {

class Status;

/// What a call is made for: itself, or a function of the C API that is more than a collective.
enum class CallPurpose : uint8_t { Collective, Split, DetectHosts };

struct Signature {
  uint64_t count = 0;       // elements, as passed by the caller; _v forms: of this message
  uint64_t plan = 0;        // how the call is executed: hash of algorithm, channels and chunk bytes
  uint32_t sequence = 0;    // 1-based number of this call on its communicator
  uint32_t type = 0;        // rondo_type_t
  uint32_t type_bytes = 0;  // of one element
  uint32_t op = 0;          // rondo_op_t; user-defined ones: kUserOp
  int32_t root = -1;        // -1 if there is none
  CollectiveKind kind = CollectiveKind::Barrier;
  uint8_t varying = 0;  // 1: the _v form
  uint8_t on_gpu = 0;   // 1: runs on the ranks' GPUs
  CallPurpose purpose = CallPurpose::Collective;

  friend bool operator==(const Signature& a, const Signature& b);
};
static_assert(sizeof(Signature) == 40);

/// A Signature, for speed: every message has one, and is checked.
using SignatureWords = std::array<uint64_t, sizeof(Signature) / sizeof(uint64_t)>;

inline bool operator==(const Signature& a, const Signature& b) {
  const auto x = std::bit_cast<SignatureWords>(a);
  const auto y = std::bit_cast<SignatureWords>(b);
  uint64_t differ = 0;
  for (size_t i = 0; i < x.size(); ++i) differ |= x[i] ^ y[i];
  return differ == 0;
}

/// Writes a word at a time. A processor forwards a word to a load from a store that is under way, but not two
/// of them to one load, which then waits for all earlier stores, of which one may be waiting for a cache line
/// of another core.
inline void write_words(Signature& to, const SignatureWords& words) {
  using Word [[gnu::may_alias]] = uint64_t;
  for (size_t i = 0; i < words.size(); ++i) {
    uint64_t word = words[i];
    asm("" : "+r"(word));  // keeps the compiler from combining two
    reinterpret_cast<Word*>(&to)[i] = word;
  }
}
/// Likewise copies one that may just have been written.
inline void copy_words(Signature& to, const Signature& from) {
  using Word [[gnu::may_alias]] = const uint64_t;
  const auto* const words = reinterpret_cast<Word*>(&from);
  write_words(to, {words[0], words[1], words[2], words[3], words[4]});
}

/// The `op` of every user-defined reduction (handles are local to a process, so they are not compared), and
/// of every pre-multiplied sum (scalars may differ between ranks).
inline constexpr uint32_t kUserOp = 0x1000;
inline constexpr uint32_t kPremulSum = 0x1001;

/// "all_reduce(count=1000, float32, sum), call 17", in the words of the C API.
std::string describe(const Signature& signature);

/// The error if two ranks made different calls instead of the same one.
Status mismatch(int rank_a, const Signature& a, int rank_b, const Signature& b);
/// The error of a call that `caller` made but `other` never did.
Status never_called(int caller, int other, const Signature& call);

}  // namespace rondo
