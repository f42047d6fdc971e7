// SPDX-License-Identifier: Apache-2.0
// Schedule: a collective algorithm as data.
//
// An algorithm is defined once, as a pure function from (shape, rank) to a Schedule: for that rank, a linear
// list of Steps per lane. The verifier, the simulator and every executor read the same Schedule, so they
// cannot disagree about the algorithm. Steps name chunks, never bytes; a Layout (layout.h) maps a chunk to
// bytes for one call. Plain data: any thread once built.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/signature.h"
#include "schedule/levels.h"
#include "schedule/step.h"

namespace rondo {

/// What an algorithm may know about a call: never size, type or addresses, so one Schedule serves all calls.
struct Shape {
  CollectiveKind kind = CollectiveKind::AllReduce;
  int nranks = 1;
  int root = 0;             // if the kind has one
  bool varying = false;     // a _v form: chunk lengths differ; each known to its sender and receiver
  bool commutative = true;  // false: operands must be combined in rank order
  Levels levels = {};       // groups of ranks that are close; none: all are alike
  /// The ranks in an order in which close ones, and so those of each group, are consecutive; empty: that of
  /// their numbers. Outlives the Shape.
  std::span<const int> order = {};
  /// The groups instead of levels, if hosts differ in size: how many ranks each has, in that order. Outlives
  /// the Shape.
  std::span<const int> hosts = {};
  /// Of a vector, or of the blocks of a group, how many equal parts each place of the largest groups (of
  /// unequal hosts, of the smallest) carries between groups; empty: one each. Outlives the Shape.
  std::span<const int> weights = {};

  /// The levels, or one if the groups are hosts.
  int level_count() const { return hosts.empty() ? levels.count() : 1; }
  /// Whether operands are combined in the order of the ranks' numbers, whatever `order` is.
  bool keeps_rank_order() const { return traits(kind).is_scan() || (reduces(kind) && !commutative); }
};

struct Chunks {
  int input = 1;
  int output = 1;
  int parts = 1;  // of a block: C
  bool operator==(const Chunks&) const = default;
};
/// The table at Buffer.
Chunks chunks_of(const Shape& shape, int parts);

struct Ref {
  Buffer buffer = Buffer::None;
  int chunk = 0;
};
inline Ref input(int chunk) { return {Buffer::Input, chunk}; }
inline Ref output(int chunk) { return {Buffer::Output, chunk}; }
inline Ref scratch(int chunk) { return {Buffer::Scratch, chunk}; }

/// A Step as builders write it. The verbs follow from the fields that are set: `recv` from several ranks
/// reduces their messages, from the own rank alone means just the source; `dst` implies a copy, and so on.
struct Move {
  std::vector<int> recv =
      {};  // ranks, and scratch_operand()s, in the order of combination; the own rank: `src`
  Ref src = {};
  Ref dst = {};
  std::vector<int> send = {};
  bool finish = false;
  int count = 1;
  int after_lane = -1;  // wait for this Step of another lane
  int after_step = 0;
  bool after_tile_before = false;  // for that of the tile before
};

/// Steps that run in sequence. A connection is named by (peer, port): a lane sends to and receives from its
/// peers' lanes with the same port, and no two lanes of a rank share a port.
struct Lane {
  uint16_t port = 0;
  std::vector<Step> steps;
};

struct Schedule {
  int nranks = 1;
  int rank = 0;
  Chunks chunks;
  int scratch_chunks = 0;
  int slot_chunks = 1;  // maximum chunks in one slot; the same at all ranks, regardless of their own Steps
  std::vector<Lane> lanes;
  std::vector<std::vector<int>> peer_sets;  // interned: equal sets share an index

  /// A Schedule without steps, with the chunks of chunks_of().
  Schedule(const Shape& shape, int rank, int parts = 1, int scratch_chunks = 0);

  /// Appends to a lane, creating it if needed, with its index as port; returns the Step's index.
  int add(int lane, const Move& move);
  int add(const Move& move) { return add(0, move); }
  /// Whether a member of a receive set is another rank, from which a slot comes.
  bool is_peer(int member) const { return !is_scratch_operand(member) && member != rank; }
  /// The index of a peer set, which is added if it is new; Step::kNone if it is empty.
  uint16_t intern(const std::vector<int>& ranks);
};

/// Human-readable: "recv 3 + input[2] -> output[2], send 1".
std::string to_string(const Schedule& schedule, const Step& step);

/// The whole Schedule, one line per Step.
std::string to_string(const Schedule& schedule);

/// How the caller's buffers overlap in an in-place call.
struct InPlace {
  /// The Input chunk that shares memory with this Output chunk at this rank; -1: none. Blocks of `parts`
  /// chunks.
  static int input_of_output(const Shape& shape, int rank, int parts, int output_chunk);
};

}  // namespace rondo
