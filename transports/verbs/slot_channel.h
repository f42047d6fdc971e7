// SPDX-License-Identifier: Apache-2.0
// SlotChannel: messages over connected queue pairs, or over one set of them after the other. A message is one
// write with immediate, or is striped (verbs/write_order.h), which carries its SlotHeader and its bytes to
// the peer's slot. Only completions are believed: a slot is read after the completion of its write, and
// filled again after the completion of the own write from it. The bytes of a posted message leave from where
// they are, and go where the peer has named a place for them (verbs/places.h). They are needed until the peer
// has given the message back: a device that fails may have acknowledged what its host never sees. Used by the
// connection's thread.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "transports/connection.h"
#include "verbs/flow_control.h"
#include "verbs/pair_set.h"

namespace rondo::verbs {

class SlotChannel {
 public:
  struct ChannelParts {
    std::shared_ptr<Devices> devices;
    RingLayout layout;
    int peer_rank = -1;
    std::string gpu_obstacle;        // as ZeroCopy's
    std::unique_ptr<PairSet> pairs;  // destroyed first
  };
  explicit SlotChannel(ChannelParts parts);

  /// A slot for the next message; null if none is free.
  std::byte* acquire();
  void commit(size_t bytes, const Signature& signature);
  const std::string& gpu_obstacle() const { return parts_.gpu_obstacle; }
  /// Registers the memory, so that messages can be posted from it.
  void export_memory(const ExportableMemory& memory) {
    if (works() && (memory.gpu == nullptr || gpu_obstacle().empty())) parts_.pairs->add_user_memory(memory);
  }
  /// As ZeroCopy.
  bool can_post(const std::byte* data, size_t bytes) const {
    return leaves_in_place(bytes) && parts_.pairs->has_regions(data, bytes);
  }
  bool post(const std::byte* data, size_t bytes, const Signature& signature);
  std::optional<size_t> room_ahead() const { return works() ? named_.room(flow_.released()) : 0; }
  void expect_next(std::byte* place, size_t bytes, const Signature* signature);
  void expect_all(std::byte* place, size_t bytes, const Signature& signature);
  /// Whether posted bytes may still be read.
  bool has_posted() const { return unsettled_ != 0; }
  /// Whether the peer may still write to places.
  bool has_named() const { return !named_.is_empty(); }
  /// Notices that were sent and read, over these queue pairs.
  uint64_t notices_sent() const { return named_.notices(); }
  uint64_t notices_read() const { return known_.notices(); }
  /// Whether all messages have reached the peer, and those that were posted have been given back; and whether
  /// the peer knows as much of its own.
  bool flushed();
  const Arrival* peek();
  void release();

  /// Of the connection.
  const Status& failure() const { return failure_; }
  /// Of the queue pairs, whose messages others may carry again, and which one has failed.
  const Status& path_failure() const { return path_failure_; }
  size_t failed_pair() const { return failed_pair_; }
  bool works() const { return failure_.ok() && path_failure_.ok(); }
  /// Finds failures that no completion tells.
  void check_device();

  /// Ends the queue pairs, unless that was done; messages that have arrived stay. `why`, and which of them:
  /// unless one has failed. Returns how far this end has come.
  FlowControl::Standing suspend(const Status& why, size_t pair = 0);
  /// Gives up queue pairs: takes in how far the peer has come.
  Status abandon(const FlowControl::Standing& peers);
  /// After that: the nth message that has not arrived at the peer, if there is one.
  std::optional<Connection::Unsent> unsent(size_t nth) const;
  /// Goes on over other queue pairs, on the same pages, by sending again what has not arrived at the peer.
  void resume(ChannelParts parts, const FlowControl::Standing& peers);

  /// Whether what is awaited is there.
  bool is_ready(Connection::Awaiting what) const {
    return what == Connection::Awaiting::Arrival ? flow_.has_arrival() : has_room() && is_flushed();
  }
  /// Lets the next completion wake a thread that sleeps on descriptor(), and takes in those before it; false:
  /// there were some that may be awaited.
  bool arm();
  int descriptor() const { return parts_.pairs->descriptor(); }

  /// Messages that were sent, that have reached the peer, and that have arrived from it.
  uint64_t sent() const { return flow_.sent(); }
  uint64_t delivered() const { return delivered_; }
  /// Of the sent ones, how many before the first that was posted and may still be read from where it is.
  uint64_t settled() const { return settled_; }
  uint64_t arrived() const { return flow_.arrived(); }
  /// Takes in some completions.
  void poll();
  /// Takes in those of all pairs, so that arrived() is up to date.
  void poll_all();
  /// Ends everything, as PairSet::withdraw().
  void withdraw();

 private:
  /// The bytes of a message that do not lie in its slot.
  struct PostedBytes {
    const std::byte* data = nullptr;  // null: they lie in the slot
    PairRegions regions;
  };
  bool has_room() const { return works() && has_free_slot(); }
  bool has_free_slot() const { return flow_.has_room(delivered_, known_.until()); }
  bool is_flushed() const { return flow_.sent() == delivered_ && unsettled_ == 0 && !(owes() && works()); }
  /// Whether the peer waits until it is told that a message that it has posted was given back.
  bool owes() const { return flow_.told_messages() < owed_; }
  SlotHeader* header_of_sent(uint64_t message) const {
    return reinterpret_cast<SlotHeader*>(parts_.pairs->outgoing_at(flow_.place_of_sent(message)));
  }
  std::byte* bytes_of_sent(uint64_t message) const {
    return reinterpret_cast<std::byte*>(header_of_sent(message) + 1);
  }
  PostedBytes& posted(uint64_t message) { return posted_[message % posted_.size()]; }
  /// Bytes that go inline are copied by the device's library anyway.
  bool leaves_in_place(size_t bytes) const {
    return works() && sizeof(SlotHeader) + bytes > parts_.pairs->inline_bytes();
  }
  void hand_over(size_t bytes, const Signature& signature, const std::byte* posted_bytes);
  void leave(uint64_t message);
  void settle(uint64_t messages);
  void recall_unsent(uint64_t from);
  void end_pairs();
  size_t poll_once();
  void take_in();
  void take_message(const ArrivalOrder::ArrivedWrite& write);
  void take_arrival();
  void make_visible(const NamedPlaces::TakenPlace& place, uint64_t bytes);
  bool is_visible();
  void give_back(bool all = false);
  void send(uint64_t message, uint16_t given_back);
  bool find_or_register(std::byte* place, size_t bytes, PairRegions& found);
  void notify();
  void take_notice(const ArrivalOrder::ArrivedWrite& write);
  void heed_pairs();
  void fail(const Status& status) {
    if (failure_.ok() && !status.ok()) failure_ = status;
  }
  void lose_path(const Status& status, size_t pair) {
    if (!path_failure_.ok() || status.ok()) return;
    path_failure_ = status;
    failed_pair_ = pair;
  }

  ChannelParts parts_;
  FlowControl flow_;
  uint64_t delivered_ = 0;
  uint32_t credit_messages_ = 0;     // on their way
  std::vector<PostedBytes> posted_;  // by message
  size_t unsettled_ = 0;             // of them
  uint64_t settled_ = 0;             // see settled()
  uint64_t owed_ = 0;              // messages up to the last one that the peer has posted, of those released
  NamedPlaces named_;              // for messages of the peer's
  KnownPlaces known_;              // for own messages
  uint64_t restarted_ = 0;         // messages that had arrived then
  std::vector<uint32_t> lengths_;  // of arrived writes, by message
  Signature signature_;            // of arrival_: the peer can no longer change it
  std::optional<Arrival> arrival_;
  bool is_arrival_posted_ = false;
  std::shared_ptr<const GpuMemory> gpu_;  // to which places belong, if to one
  bool is_reading_back_ = false;          // arrival_, which a GPU cannot see before
  Status failure_;
  Status path_failure_;
  size_t failed_pair_ = 0;
  bool is_suspended_ = false;  // the queue pairs have been ended
};

}  // namespace rondo::verbs
