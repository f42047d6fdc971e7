// SPDX-License-Identifier: Apache-2.0
// Ranks: the communicators of a group: one on the host, from the beginning, and one for each GPU that its
// calls use. Ranks find one another through torch's store. Any thread.
#pragma once

#include <c10/core/Device.h>
#include <rondo/rondo.h>

#include <atomic>
#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <torch/csrc/distributed/c10d/Store.hpp>

namespace rondo::torch_binding {

/// One rank's membership in a communicator.
class Rank {
 public:
  using Timeout = std::chrono::milliseconds;
  Rank(c10d::Store& store, const std::string& key, int rank, int size, Timeout timeout, const char* device,
       const std::string& group);
  ~Rank();  // leaves
  Rank(const Rank&) = delete;
  Rank& operator=(const Rank&) = delete;

  /// The communicator, with its timeout set for the next call.
  rondo_comm_t within(Timeout timeout);
  rondo_comm_t get() const { return comm_; }
  /// Ends all calls in flight, at every rank.
  void abort() const;

 private:
  rondo_unique_id_t id_{};  // with which the ranks joined
  rondo_comm_t comm_ = nullptr;
  std::atomic<int64_t> timeout_ms_;
};

class Ranks {
 public:
  Ranks(c10::intrusive_ptr<c10d::Store> store, std::string group, int rank, int size, Rank::Timeout timeout);

  Rank& host() { return host_; }
  /// Joined on first use, by all ranks.
  Rank& on(c10::Device device);
  void abort();

  /// "rondo:all_reduce, rank 2 of group 'default'".
  std::string place_of(const char* call) const;

 private:
  c10::intrusive_ptr<c10d::Store> store_;
  std::string group_;
  int rank_;
  int size_;
  Rank::Timeout timeout_;
  Rank host_;
  std::mutex mutex_;  // guards on_gpus_
  std::map<c10::DeviceIndex, std::unique_ptr<Rank>> on_gpus_;
};

}  // namespace rondo::torch_binding
