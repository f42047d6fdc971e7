// Signature: what a call is, small enough to ride in every slot's header, so that ranks that disagree about a
// call are found where their data meets. Plain data: any thread; the same bytes between processes and hosts.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace rondo {

class Status;

// X(enumerator, name): what a caller can ask for. The _v forms are the same kind with the flag `varying`.
#define RONDO_COLLECTIVES(X)         \
  X(AllReduce, "all_reduce")         \
  X(Broadcast, "broadcast")          \
  X(Reduce, "reduce")                \
  X(AllGather, "all_gather")         \
  X(ReduceScatter, "reduce_scatter") \
  X(AllToAll, "all_to_all")          \
  X(Gather, "gather")                \
  X(Scatter, "scatter")              \
  X(Barrier, "barrier")              \
  X(Scan, "scan")                    \
  X(Exscan, "exscan")

enum class CollectiveKind : uint8_t {
#define X(enumerator, name) enumerator,
  RONDO_COLLECTIVES(X)
#undef X
      PointToPoint,  // not a collective: what a user's send and recv carry in their headers
};

inline constexpr int kCollectives = static_cast<int>(CollectiveKind::PointToPoint);

std::string_view collective_name(CollectiveKind kind);
std::optional<CollectiveKind> collective_by_name(std::string_view name);

/// Whether the collective has a root, and whether it reduces.
constexpr bool has_root(CollectiveKind kind) {
  return kind == CollectiveKind::Broadcast || kind == CollectiveKind::Reduce ||
         kind == CollectiveKind::Gather || kind == CollectiveKind::Scatter;
}
constexpr bool reduces(CollectiveKind kind) {
  return kind == CollectiveKind::AllReduce || kind == CollectiveKind::Reduce ||
         kind == CollectiveKind::ReduceScatter || kind == CollectiveKind::Scan ||
         kind == CollectiveKind::Exscan;
}

struct Signature {
  uint64_t count = 0;       // elements, as the caller gave them; _v forms: of the message at hand
  uint64_t plan = 0;        // hash of algorithm, channels and chunk bytes: how the call is carried out
  uint32_t sequence = 0;    // 1-based number of this call on its communicator
  uint32_t type = 0;        // rondo_type_t
  uint32_t type_bytes = 0;  // of one element
  uint32_t op = 0;          // rondo_op_t; user-defined ones: kUserOp
  int32_t root = -1;        // -1 where there is none
  CollectiveKind kind = CollectiveKind::Barrier;
  uint8_t varying = 0;  // 1: the _v form
  uint8_t on_gpu = 0;   // 1: made by the ranks' GPUs
  uint8_t reserved = 0;

  friend bool operator==(const Signature& a, const Signature& b);
};
static_assert(sizeof(Signature) == 40);

/// As five words, since every message is compared.
inline bool operator==(const Signature& a, const Signature& b) {
  using Words = std::array<uint64_t, sizeof(Signature) / sizeof(uint64_t)>;
  const auto x = std::bit_cast<Words>(a);
  const auto y = std::bit_cast<Words>(b);
  uint64_t differ = 0;
  for (size_t i = 0; i < x.size(); ++i) differ |= x[i] ^ y[i];
  return differ == 0;
}

/// The `op` of every user-defined reduction: handles are a process's own, so they are not compared; and of a
/// pre-multiplied sum, whose scalars may differ from rank to rank.
inline constexpr uint32_t kUserOp = 0x1000;
inline constexpr uint32_t kPremulSum = 0x1001;

/// "all_reduce(count=1000, float32, sum), call 17", in the words of the C API.
std::string describe(const Signature& signature);

/// The error of two ranks that made different calls where they should have made the same one.
Status mismatch(int rank_a, const Signature& a, int rank_b, const Signature& b);
/// The error of a call that `caller` made and `other` never did.
Status never_called(int caller, int other, const Signature& call);

}  // namespace rondo
