// SPDX-License-Identifier: Apache-2.0
// Membership: one rank's place in a communicator: the session and its member ranks, their PeerInfo, the first
// failure, and the flight recorder. Shared by everything that is made for the communicator. Any thread.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "bootstrap/peer_info.h"
#include "bootstrap/session.h"
#include "health/comm_state.h"
#include "health/flight_recorder.h"

namespace rondo {

/// The sockets between two ranks of a communicator, by use. The lanes of a Schedule count from 0, those of
/// calls on GPUs from FirstGpuLane; uses with one socket, or with a set of their own, are listed after them.
enum class Port : uint16_t {
  FirstGpuLane = 0x4000,
  Shrink = 0xfffc,  // the rest are numbered by the compiler, so that no two are equal
  HostSegment,
  Staging,
  Messages,
};

class Membership {
 public:
  /// `ranks`: the communicator's members, as session ranks in order; `self`: this rank's index in them;
  /// `name`: the communicator's, for messages; `timeout_ms`: the timeout of calls.
  Membership(std::shared_ptr<Session> session, uint64_t id, std::vector<int> ranks, int self,
             const std::string& name, int64_t timeout_ms);

  int rank() const { return self_; }
  int size() const { return static_cast<int>(ranks_.size()); }
  /// The communicator's id, the same at all its ranks and unique in the session.
  uint64_t id() const { return id_; }

  const std::shared_ptr<Session>& session() const { return session_; }
  const std::vector<int>& session_ranks() const { return ranks_; }
  int session_rank(int rank) const { return ranks_[static_cast<size_t>(rank)]; }

  const PeerInfo& peer(int rank) const { return session_->member(session_rank(rank)); }
  std::string rank_text(int rank) const { return peer(rank).text(); }
  /// Whether that rank is in this process; on this host.
  bool is_here(int rank) const { return peer(rank).is_beside(peer(self_)); }
  bool is_on_this_host(int rank) const { return peer(rank).endpoint.host == peer(self_).endpoint.host; }
  /// Those that are known here to have died or left, ascending.
  std::vector<int> gone_ranks() const;
  /// This rank's GPU; -1: it uses none.
  int device() const { return device_of(self_); }
  int device_of(int rank) const { return peer(rank).device.ordinal; }

  bool failed() const { return state_->failed(); }
  /// The first failure; Ok while there is none.
  Status cause() const { return state_->cause(); }
  const std::shared_ptr<CommState>& state() const { return state_; }
  /// Keeps the first cause, tells the other ranks, and returns the first cause.
  Status fail(const Status& cause);

  FlightRecorder& recorder() const { return *recorder_; }
  const std::shared_ptr<FlightRecorder>& shared_recorder() const { return recorder_; }

  /// The timeout of calls. A call that is already waiting may keep the one it began with.
  int64_t timeout_ms() const { return timeout_ms_.load(std::memory_order_relaxed); }
  void set_timeout_ms(int64_t timeout_ms) { timeout_ms_.store(timeout_ms, std::memory_order_relaxed); }

 private:
  const std::shared_ptr<Session> session_;
  const uint64_t id_;
  const std::vector<int> ranks_;
  const int self_;
  const std::shared_ptr<CommState> state_ = std::make_shared<CommState>();
  const std::shared_ptr<FlightRecorder> recorder_;
  std::atomic<int64_t> timeout_ms_;
};

using MembershipPtr = std::shared_ptr<Membership>;

}  // namespace rondo
