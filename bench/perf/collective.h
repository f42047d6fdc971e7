// SPDX-License-Identifier: Apache-2.0
// The collectives that the benchmark supports, one row each: name, properties, and the factor by which
// nccl-tests multiplies the algorithm bandwidth to get the bus bandwidth. Pure data: any thread.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "base/collective.h"

namespace rondo::perf {

enum class Collective {
#define X(enumerator, ...) enumerator,
  RONDO_COLLECTIVES(X)
#undef X
      SendRecv,
  Hypercube  // an all_gather by messages, as nccl-tests has it
};

/// Whether it consists of sends and receives: such have no algorithms.
constexpr bool is_of_messages(Collective collective) { return collective >= Collective::SendRecv; }

/// The library's; of send_recv those of a message.
constexpr const CollectiveTraits& traits(Collective collective) {
  const auto kind = static_cast<CollectiveKind>(collective);
  return rondo::traits(collective == Collective::Hypercube ? CollectiveKind::AllGather : kind);
}
static_assert(static_cast<int>(Collective::SendRecv) == static_cast<int>(CollectiveKind::PointToPoint));

struct CollectiveInfo {
  Collective id;
  std::string_view name;
  bool in_place = false;
  bool in_all = true;  // "all" includes it
};

std::span<const CollectiveInfo> all_collectives();
const CollectiveInfo& collective_info(Collective collective);
/// Also accepts the spellings of nccl-tests, MPI and torch: "alltoall", "AllReduce", "bcast",
/// "all_reduce_perf".
const CollectiveInfo* collective_by_name(std::string_view name);

struct NamedProgram {
  const CollectiveInfo* collective = nullptr;  // null: it has no such name
  bool varying = false;                        // "alltoallv_perf"
};
/// What a program with an nccl-tests name such as "all_reduce_perf" measures, with or without a folder path.
NamedProgram named_program(std::string_view path);

/// All names, comma separated, for messages.
std::string collective_names();

/// The call's `count` argument for a message of `bytes`, which are those of all blocks if it has any.
size_t elements_for(Collective collective, size_t bytes, size_t element_bytes, int nranks);

/// The share of the larger buffer that the algorithm bandwidth counts; nccl-tests counts what a rank of
/// hypercube receives from others.
double algorithm_factor(Collective collective, int nranks);

/// Bus bandwidth / algorithm bandwidth.
double bus_factor(Collective collective, int nranks);

}  // namespace rondo::perf
