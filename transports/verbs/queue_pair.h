// SPDX-License-Identifier: Apache-2.0
// QueuePair: a reliable connection of its own, with one completion queue for both directions and the channel
// on which a thread can sleep. It is made and connected on a thread that may block in the kernel; afterwards
// it belongs to the connection's thread.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "base/clock.h"
#include "verbs/device.h"

namespace rondo::verbs {

/// Where a queue pair and its slots are, as its peer has to know.
struct PairAddress {
  uint32_t queue_pair = 0;    // its number, 24 bits
  uint32_t first_packet = 0;  // its number, 24 bits
  uint32_t key = 0;           // to the slots that the peer writes
  uint64_t slots_at = 0;
};

/// The path between two ports.
struct Path {
  uint8_t port = 0;  // number of the own port
  uint32_t gid_index = 0;
  std::array<uint8_t, 16> peer_gid{};
  uint16_t peer_lid = 0;
  bool by_gid = true;  // otherwise by LID, inside a subnet of InfiniBand
  uint32_t mtu = 0;    // bytes
  uint8_t service_level = 0;
  uint8_t traffic_class = 0;
  uint8_t timeout = 16;  // a packet is sent again after 4.096 us x 2^timeout: 0.27 s
  uint8_t retries = 6;   // 7 is endless on some devices
};

class QueuePair {
 public:
  struct Depths {
    uint32_t sends = 0;
    uint32_t receives = 0;
  };
  /// In the state RESET.
  static Result<std::unique_ptr<QueuePair>> make(std::shared_ptr<Domain> domain, const Depths& depths);
  ~QueuePair();
  QueuePair(const QueuePair&) = delete;
  QueuePair& operator=(const QueuePair&) = delete;

  uint32_t number() const { return pair_->qp_num; }
  Device& device() const { return domain_->device(); }
  UserRegions& user_regions() const { return domain_->user_regions(); }
  /// The longest message whose bytes a post copies.
  uint32_t inline_bytes() const { return inline_bytes_; }

  /// RESET to INIT, in which receives may be posted. `pkey_index`: of the partition, in the port's table;
  /// `rights`: the peer's.
  Status prepare(uint8_t port, uint16_t pkey_index, unsigned rights = IBV_ACCESS_REMOTE_WRITE);
  /// The options of Enhanced Connection Establishment that the device offers or, once connected, that it
  /// uses; 0, no vendor, if it has none.
  ibv_ece ece() const;
  /// Before connect(): what the peer offers.
  Status set_ece(ibv_ece ece);
  /// INIT to RTR and RTS: the kernel may take a second to resolve an address.
  Status connect(const Path& path, const PairAddress& peer, uint32_t first_packet);

  struct GatheredBytes {
    const void* from = nullptr;
    uint32_t bytes = 0;
    uint32_t local_key = 0;
  };
  /// A write of these pieces of the own memory, one behind the other, to the peer's; without bytes only the
  /// immediate travels.
  struct Write {
    uint64_t id = 0;
    std::array<GatheredBytes, 2> pieces;
    uint64_t to = 0;
    uint32_t remote_key = 0;
    std::optional<uint32_t> immediate;  // without it the peer learns nothing
  };
  Status post(const Write& write) { return post({&write, 1}); }
  static constexpr size_t kMaxWrites = 2;
  /// At most kMaxWrites, in this order.
  Status post(std::span<const Write> writes);
  /// A read of one byte of the peer's memory.
  struct ReadByte {
    const std::byte* at = nullptr;
    uint32_t remote_key = 0;
    std::byte* to = nullptr;
    uint32_t local_key = 0;
  };
  Status post_read(const ReadByte& read);
  /// Posts receives, which take immediates and no bytes. Their completions have this id.
  static constexpr uint64_t kReceive = ~uint64_t{0};
  Status post_receives(uint32_t count);

  /// The next completions; there may be more only if these are kBatch.
  static constexpr size_t kBatch = 16;
  Result<std::span<const ibv_wc>> poll();

  /// Has the next completion wake who sleeps on descriptor(). What completed before does not: poll again.
  Status arm();
  int descriptor() const { return channel_->fd; }

  /// Ends all sending and receiving, by moving the queue pair to ERR. Once it is drained no byte lands in
  /// memory of this end any more, and none is read.
  void end();
  static Deadline drain_deadline() { return Deadline::in_ms(kDrainMs); }
  /// After end(): takes the completions that are owed; those that were not polled yet are passed to
  /// `completed`.
  template <typename Completed>
  void drain(const Deadline& deadline, Completed&& completed) {
    if (!std::exchange(must_drain_, false)) return;
    while (outstanding_ != 0 && !deadline.passed()) {
      const auto found = poll();
      if (!found.ok()) return;
      for (const ibv_wc& one : found.value()) completed(one);
    }
  }
  template <typename Completed>
  void withdraw(Completed&& completed) {
    end();
    drain(drain_deadline(), completed);
  }
  void withdraw() {
    withdraw([](const ibv_wc&) {});
  }

 private:
  static constexpr int64_t kDrainMs = 1000;  // a device that failed completes nothing

  QueuePair(std::shared_ptr<Domain> domain, const Library& verbs)
      : domain_(std::move(domain)), verbs_(verbs) {}
  Status make_completion_queue(const Depths& depths);
  Status make_pair(const Depths& depths);
  Status modify(ibv_qp_attr attr, int mask, const char* state);
  Status failed(const char* what, int error_number) const;

  const std::shared_ptr<Domain> domain_;
  const Library& verbs_;
  ibv_comp_channel* channel_ = nullptr;
  ibv_cq* completions_ = nullptr;
  ibv_qp* pair_ = nullptr;
  uint32_t inline_bytes_ = 0;
  uint64_t outstanding_ = 0;  // work requests whose completions were not polled
  bool is_active_ = false;    // between INIT and ERR
  bool must_drain_ = false;   // in ERR, by this end
  std::array<ibv_wc, kBatch> polled_;
};

}  // namespace rondo::verbs
