// The collectives that the benchmark knows, one row each: names, what they take, and what nccl-tests
// multiplies the algorithm bandwidth with to get the bus bandwidth. Pure data: any thread.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace rondo::perf {

enum class Collective {
  AllReduce,
  Broadcast,
  Reduce,
  AllGather,
  ReduceScatter,
  AllToAll,
  Gather,
  Scatter,
  Barrier,
  Scan,
  Exscan,
  SendRecv
};

struct CollectiveInfo {
  Collective id;
  std::string_view name;
  bool reduces;
  bool has_root;
  bool in_place;
  bool varying;    // has a form with a length for each rank
  bool in_blocks;  // the size counts one block for each rank
};

std::span<const CollectiveInfo> all_collectives();
const CollectiveInfo& collective_info(Collective collective);
/// Also as nccl-tests, MPI and torch spell it: "alltoall", "AllReduce", "bcast", "all_reduce_perf".
const CollectiveInfo* collective_by_name(std::string_view name);

/// The collective of a program named as nccl-tests names it, "all_reduce_perf" with or without folders before
/// it.
const CollectiveInfo* collective_by_program(std::string_view path);

/// All names, comma separated, for messages.
std::string collective_names();

/// Elements of one call's `count` argument for a message of `bytes`.
size_t elements_for(Collective collective, size_t bytes, size_t element_bytes, int nranks);

/// Bus bandwidth / algorithm bandwidth.
double bus_factor(Collective collective, int nranks);

}  // namespace rondo::perf
