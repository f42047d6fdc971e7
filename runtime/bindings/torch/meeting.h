// Meeting: how the ranks of a group come by one unique id and join by it, through torch's store. A store may
// be older than the group and still have the id of an earlier one, which torchrun has ended or the program
// has destroyed; nobody can join by that. Any thread.
#pragma once

#include <rondo/rondo.h>

#include <chrono>
#include <string>
#include <torch/csrc/distributed/c10d/Store.hpp>

namespace rondo::torch_binding {

/// Who wants to join, and where in the store the ranks of its group meet.
struct Seat {
  std::string key;
  int rank = 0;
  int size = 1;
  std::chrono::milliseconds timeout{0};
  std::string where;  // for errors
};

/// Returns when all ranks have come; `id` is then what they met by. Throws at the timeout.
rondo_comm_t meet(c10d::Store& store, const Seat& seat, rondo_config_t config, rondo_unique_id_t& id);

/// A rank of this process leaves the group that met by the id, so that no rank of the process is to join by
/// it any more.
void leave_meeting(const rondo_unique_id_t& id);

}  // namespace rondo::torch_binding
