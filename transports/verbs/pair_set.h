// SPDX-License-Identifier: Apache-2.0
// PairSet: the queue pairs of a connection, over which its writes take turns (verbs/write_order.h). They are
// on one port or on several, which may belong to different devices. What completes and arrives is passed on
// in the order of the writes, so that its user sees one pair. Each pair has a completion queue of its own,
// since devices cannot share one; the pair whose turn it is is polled first, so a message costs one poll.
// Every pair has receives posted for all writes that can be on their way; they are posted again before what a
// completion says is passed on. Used by the connection's thread.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "base/fd.h"
#include "verbs/flow_control.h"
#include "verbs/places.h"
#include "verbs/queue_pair.h"
#include "verbs/read_back.h"
#include "verbs/slot_memory.h"
#include "verbs/write_order.h"

namespace rondo::verbs {

/// This end of a queue pair, the slots as its device has registered them, and where the peer's are.
struct PairEnd {
  std::shared_ptr<SlotMemory> outgoing;  // shared by the pairs of a device
  std::shared_ptr<SlotMemory> incoming;
  std::unique_ptr<ReadBack> read_back;  // where the terms say so
  std::unique_ptr<QueuePair> pair;      // destroyed first
  PairAddress peer;
};

class PairSet {
 public:
  /// What a set needs of each of its pairs.
  static QueuePair::Depths depths(const RingLayout& layout);
  /// The pairs, at least one, are connected and have depths().receives receives posted.
  static Result<std::unique_ptr<PairSet>> make(const RingLayout& layout, int peer_rank,
                                               std::vector<PairEnd> ends);

  /// What lies at an offset in the memory of the messages, or behind it.
  std::byte* outgoing_at(uint64_t offset) const { return ends_[0].outgoing->at(offset); }
  const std::byte* incoming_at(uint64_t offset) const { return ends_[0].incoming->at(offset); }
  size_t pairs() const { return ends_.size(); }

  /// The longest write whose bytes a post copies.
  uint32_t inline_bytes() const;
  void add_user_memory(const ExportableMemory& memory) const;
  bool has_regions(const std::byte* data, size_t bytes) const;
  /// False, and none, if one of the devices has no such region.
  bool find_regions(const std::byte* data, size_t bytes, PairRegions& found) const;

  /// Writes with credits alone whose own completions have not come. Each gives a message back, and is
  /// acknowledged before the messages that it allows arrive.
  static uint32_t max_credit_writes(const RingLayout& layout) {
    return static_cast<uint32_t>(layout.max_messages());
  }
  /// A write to the peer's slots, at the place where its first bytes lie in the own ones.
  struct SlotWrite {
    WriteKind kind = WriteKind::Message;
    uint64_t offset = 0;
    uint32_t slot_bytes = 0;          // 0: only credits travel
    const std::byte* data = nullptr;  // what follows, if anything
    uint32_t bytes = 0;
    const PairRegions* regions = nullptr;  // of `data`
    uint16_t given_back = 0;
    // Where the bytes of a message go, behind its header, which goes to the slot.
    uint64_t place = 0;
    const PlaceKeys* place_keys = nullptr;  // null: to the slot
  };
  void post(const SlotWrite& write);

  /// Takes in completions, of the pair whose turn it is or else of another one. How many; there may be more.
  size_t poll();
  std::optional<WriteKind> take_complete() { return sent_.take_complete(); }
  std::optional<ArrivalOrder::ArrivedWrite> take_arrived() { return arriving_.take_arrived(); }

  /// Reads a byte that has arrived in memory of a GPU back from there, through every port: afterwards the GPU
  /// sees what came before.
  void begin_reading_back(const std::byte* at, const PairRegions& regions);
  bool has_read_back();

  /// As QueuePair, of all pairs.
  void arm();
  int descriptor() const { return any_.valid() ? any_.get() : ends_[0].pair->descriptor(); }

  struct PairFailure {
    Status status;
    bool is_of_path = false;  // what was lost may be sent again over another path
    size_t pair = 0;
  };
  /// The first one.
  const std::optional<PairFailure>& failure() const { return failure_; }
  /// Finds failures that no completion tells.
  void check_devices();

  /// As QueuePair::withdraw(), of all pairs; afterwards the memory is registered no more, and its pages stay.
  void withdraw();

 private:
  /// A part of a write, as offsets from its beginning.
  struct Part {
    uint32_t from = 0;
    uint32_t to = 0;
    uint32_t bytes() const { return to - from; }
  };
  static QueuePair::Write gather(const SlotWrite& write, const PairEnd& end, size_t pair, const Part& part);
  Status post(const SlotWrite& write, size_t pair, const Part& part, uint64_t number,
              uint32_t immediate) const;
  PairSet(const RingLayout& layout, int peer_rank, std::vector<PairEnd> ends);
  Status watch_all();
  size_t poll(size_t pair);
  void take(size_t pair, const ibv_wc& completion);
  void take_arrival(size_t pair, const ibv_wc& completion);
  void lose(size_t pair, const Status& status, bool is_of_path = true) {
    if (!failure_ && !status.ok()) failure_ = PairFailure{status, is_of_path, pair};
  }

  const int peer_rank_;
  std::vector<PairEnd> ends_;
  std::vector<uint32_t> spent_receives_;  // by pair
  SendOrder sent_;
  ArrivalOrder arriving_;
  std::optional<PairFailure> failure_;
  Fd any_;  // readable when the descriptor of a pair is, if there are several
};

}  // namespace rondo::verbs
