// SPDX-License-Identifier: Apache-2.0
// The collectives: a row of traits each, from which everything that depends on what a collective reads,
// writes and combines is derived. Pure data: any thread.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace rondo {

/// Which ranks.
enum class RankSet : uint8_t { All, Root };
/// What a buffer holds: one vector or block, or a block for each rank.
enum class BlockCount : uint8_t { One, OnePerRank };
/// Which ranks' operands a result combines: none's, all ranks', or those of the ranks up to or before the
/// own.
enum class Operands : uint8_t { None, All, UpTo, Before };

// X(enumerator, name, ranks that read sendbuf, ranks that write recvbuf, sendbuf holds, recvbuf holds,
// operands). The _v forms are the same kind with the flag `varying`.
#define RONDO_COLLECTIVES(X)                                               \
  X(AllReduce, "all_reduce", All, All, One, One, All)                      \
  X(Broadcast, "broadcast", Root, All, One, One, None)                     \
  X(Reduce, "reduce", All, Root, One, One, All)                            \
  X(AllGather, "all_gather", All, All, One, OnePerRank, None)              \
  X(ReduceScatter, "reduce_scatter", All, All, OnePerRank, One, All)       \
  X(AllToAll, "all_to_all", All, All, OnePerRank, OnePerRank, None)        \
  X(Gather, "gather", All, Root, One, OnePerRank, None)                    \
  X(Scatter, "scatter", Root, All, OnePerRank, One, None)                  \
  X(Barrier, "barrier", All, All, One, One, None) /* blocks of no bytes */ \
  X(Scan, "scan", All, All, One, One, UpTo)                                \
  X(Exscan, "exscan", All, All, One, One, Before)

enum class CollectiveKind : uint8_t {
#define X(enumerator, ...) enumerator,
  RONDO_COLLECTIVES(X)
#undef X
      PointToPoint,  // not a collective: what a user's send and recv carry in their headers
};

inline constexpr int kCollectives = static_cast<int>(CollectiveKind::PointToPoint);

inline constexpr std::array<CollectiveKind, kCollectives> kAllCollectives{
#define X(enumerator, ...) CollectiveKind::enumerator,
    RONDO_COLLECTIVES(X)
#undef X
};

struct CollectiveTraits {
  std::string_view name;
  RankSet readers;
  RankSet writers;
  BlockCount sends;
  BlockCount receives;
  Operands operands;

  constexpr bool reads(int rank, int root) const { return readers == RankSet::All || rank == root; }
  /// Whether the rank needs a recvbuf, even if the call leaves it as it is: see has_result().
  constexpr bool writes(int rank, int root) const { return writers == RankSet::All || rank == root; }
  constexpr bool has_result(int rank, int root) const {
    return writes(rank, root) && (operands != Operands::Before || rank > 0);
  }
  constexpr bool has_root() const { return readers == RankSet::Root || writers == RankSet::Root; }
  constexpr bool reduces() const { return operands != Operands::None; }
  constexpr bool is_scan() const { return operands == Operands::UpTo || operands == Operands::Before; }
  /// If it reduces, a rank's result combines the operands of the ranks from 0 to before this one.
  constexpr int operands_end(int rank, int nranks) const {
    return operands == Operands::All ? nranks : operands == Operands::UpTo ? rank + 1 : rank;
  }
  /// Whether something follows the last operand, such as avg's division. Nothing does in a scan.
  constexpr bool finishes() const { return operands == Operands::All; }
  /// Whether every rank receives from every other.
  constexpr bool is_mutual() const { return !has_root() && !is_scan(); }
  /// Whether sendbuf, or recvbuf, holds a block for each rank.
  constexpr bool sends_blocks() const { return sends == BlockCount::OnePerRank; }
  constexpr bool receives_blocks() const { return receives == BlockCount::OnePerRank; }
  /// Whether one of them does, so that there is a _v form.
  constexpr bool has_blocks() const { return sends_blocks() || receives_blocks(); }
};

inline constexpr std::array<CollectiveTraits, kCollectives + 1> kCollectiveTraits{{
#define X(enumerator, name, readers, writers, sends, receives, operands) \
  {name, RankSet::readers, RankSet::writers, BlockCount::sends, BlockCount::receives, Operands::operands},
    RONDO_COLLECTIVES(X)
#undef X
        {"send/recv", RankSet::All, RankSet::All, BlockCount::One, BlockCount::One, Operands::None},
}};

constexpr const CollectiveTraits& traits(CollectiveKind kind) {
  return kCollectiveTraits[static_cast<size_t>(kind)];
}
/// What multiplies the bandwidth by which a call takes the longer of a rank's buffers, to get its bus
/// bandwidth as nccl-tests defines it.
constexpr double bus_factor(CollectiveKind kind, int nranks) {
  const double n = nranks;
  if (kind == CollectiveKind::AllReduce) return 2 * (n - 1) / n;
  return traits(kind).has_blocks() ? (n - 1) / n : 1;  // of n blocks, the rank's own stays
}
constexpr bool has_root(CollectiveKind kind) { return traits(kind).has_root(); }
constexpr bool reduces(CollectiveKind kind) { return traits(kind).reduces(); }

/// "an unknown collective" if `kind`, which may come from a peer, is none.
std::string_view collective_name(CollectiveKind kind);
/// Also as NCCL, MPI and PyTorch spell it: "allreduce", "AllGather", "bcast".
std::optional<CollectiveKind> collective_by_name(std::string_view name);
/// The error sentence for a name that no collective has; lists those there are.
std::string no_collective(std::string_view name);

}  // namespace rondo
