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
      SendRecv
};

/// The library's; of send_recv those of a message.
constexpr const CollectiveTraits& traits(Collective collective) {
  return rondo::traits(static_cast<CollectiveKind>(collective));
}
static_assert(static_cast<int>(Collective::SendRecv) == static_cast<int>(CollectiveKind::PointToPoint));

struct CollectiveInfo {
  Collective id;
  std::string_view name;
  bool in_place = false;
};

std::span<const CollectiveInfo> all_collectives();
const CollectiveInfo& collective_info(Collective collective);
/// Also accepts the spellings of nccl-tests, MPI and torch: "alltoall", "AllReduce", "bcast",
/// "all_reduce_perf".
const CollectiveInfo* collective_by_name(std::string_view name);

/// The collective of a program with an nccl-tests name such as "all_reduce_perf", with or without a folder
/// path.
const CollectiveInfo* collective_by_program(std::string_view path);

/// All names, comma separated, for messages.
std::string collective_names();

/// The call's `count` argument for a message of `bytes`, which are those of all blocks if it has any.
size_t elements_for(Collective collective, size_t bytes, size_t element_bytes, int nranks);

/// Bus bandwidth / algorithm bandwidth.
double bus_factor(Collective collective, int nranks);

}  // namespace rondo::perf
