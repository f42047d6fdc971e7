// What users call the collectives. collective_by_name() knows them as NCCL, MPI and PyTorch spell them, too:
// "allreduce", "AllGather", "bcast".
#pragma once

#include <string>
#include <string_view>

namespace rondo {

/// The sentence about a name that none of them has, with those that there are.
std::string no_collective(std::string_view name);

}  // namespace rondo
