// SPDX-License-Identifier: Apache-2.0
#include "ranks.h"

#include <cstring>

#include "rendezvous.h"

namespace rondo::torch_binding {
namespace {

std::string place(const char* call, int rank, const std::string& group) {
  return std::string(call) + ", rank " + std::to_string(rank) + " of group '" + group + "'";
}

}  // namespace

Rank::Rank(c10d::Store& store, const std::string& key, int rank, int size, Timeout timeout,
           const char* device, const std::string& group)
    : timeout_ms_(timeout.count()) {
  rondo_config_t config = RONDO_CONFIG_INITIALIZER;
  config.timeout_ms = timeout.count();
  config.init_timeout_ms = timeout.count();
  config.name = group.c_str();
  config.device = device;
  const std::string call =
      std::string("rondo: joining") +
      (std::strcmp(device, "host") == 0
           ? ""
           : " on a GPU, in the first call there, which all ranks of the group must make");
  comm_ = meet(store, {key, rank, size, timeout, place(call.c_str(), rank, group)}, config, id_);
}

Rank::~Rank() {
  leave_meeting(id_);
  rondo_leave(comm_);
}

rondo_comm_t Rank::within(Timeout timeout) {
  if (timeout_ms_.exchange(timeout.count()) != timeout.count()) rondo_set_timeout(comm_, timeout.count());
  return comm_;
}

void Rank::abort() const { rondo_abort(comm_); }

Ranks::Ranks(c10::intrusive_ptr<c10d::Store> store, std::string group, int rank, int size,
             Rank::Timeout timeout)
    : store_(std::move(store)),
      group_(std::move(group)),
      rank_(rank),
      size_(size),
      timeout_(timeout),
      host_(*store_, "rondo/host", rank, size, timeout, "host", group_) {}

Rank& Ranks::on(c10::Device device) {
  if (!device.is_cuda()) return host_;
  const std::lock_guard lock(mutex_);
  auto& rank = on_gpus_[device.index()];
  // GPU numbers differ between ranks, but all ranks first use their GPUs in the same order.
  if (rank == nullptr)
    rank = std::make_unique<Rank>(*store_, "rondo/cuda/" + std::to_string(on_gpus_.size()), rank_, size_,
                                  timeout_, ("cuda:" + std::to_string(device.index())).c_str(), group_);
  return *rank;
}

void Ranks::abort() {
  host_.abort();
  const std::lock_guard lock(mutex_);
  for (const auto& [index, rank] : on_gpus_)
    if (rank != nullptr) rank->abort();
}

std::string Ranks::place_of(const char* call) const { return place(call, rank_, group_); }

}  // namespace rondo::torch_binding
