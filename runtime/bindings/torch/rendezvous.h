// SPDX-License-Identifier: Apache-2.0
// Rendezvous: the ranks of a group agree on one unique id through torch's store, and join with it. A store
// may be older than the group and still hold the id of an earlier one, which torchrun has ended or the
// program has destroyed; that id is unusable. Any thread.
#pragma once

#include <rondo/rondo.h>

#include <chrono>
#include <string>
#include <torch/csrc/distributed/c10d/Store.hpp>

namespace rondo::torch_binding {

/// The rank that joins, and the store key at which the ranks of its group meet.
struct RankPlace {
  std::string key;
  int rank = 0;
  int size = 1;
  std::chrono::milliseconds timeout{0};
  std::string where;  // for errors
};

/// Returns once all ranks have joined; `id` is then the id they used. Throws at the timeout.
rondo_comm_t meet(c10d::Store& store, const RankPlace& seat, rondo_config_t config, rondo_unique_id_t& id);

/// Records that a rank of this process has left the group with this id, so that no rank of the process joins
/// with it again.
void leave_meeting(const rondo_unique_id_t& id);

}  // namespace rondo::torch_binding
