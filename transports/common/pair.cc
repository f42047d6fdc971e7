// SPDX-License-Identifier: Apache-2.0
#include "common/pair.h"

#include <map>
#include <mutex>

namespace rondo {

FifoLayout PairedFifo::layout(const AgreedParams& params, std::byte* slots) {
  return {.headers = headers.data(),
          .released = &released,
          .memory = slots,
          .stride_bytes = aligned_size(params.slot_bytes),
          .slot_bytes = params.slot_bytes,
          .slots = params.slots};
}

Pair::Pair(const AgreedParams& of_first, bool with_memory) : params(of_first) {
  for (PairedFifo& direction : fifo) {
    direction.headers.resize(params.slots);
    if (with_memory) direction.memory = allocate_aligned(aligned_size(params.slot_bytes) * params.slots);
  }
}

bool Pair::both_here() const {
  // Relaxed: only the flag itself is used; the FIFOs synchronise the data.
  return meeting.load(std::memory_order_relaxed) == Meeting::BothHere;
}

Status Pair::status() const {
  // Pairs with the release store in meet(): `refused` has been written.
  if (meeting.load(std::memory_order_acquire) != Meeting::Refused) return {};
  return compare(params, refused);
}

/// A Pair whose first end has been destroyed no longer counts: its weak pointer has expired.
struct MeetingPlace::Waiting {
  struct First {
    std::weak_ptr<Pair> pair;
    bool dials = false;
  };
  std::mutex mutex;
  std::map<ConnectionKey, First> first_ends;

  size_t sweep_at = 64;

  /// Occasionally drops entries whose end was destroyed before its peer arrived.
  void sweep() {
    if (first_ends.size() < sweep_at) return;
    std::erase_if(first_ends, [](const auto& entry) { return entry.second.pair.expired(); });
    sweep_at = 2 * first_ends.size() + 64;
  }
};

MeetingPlace::MeetingPlace(bool with_memory)
    : with_memory_(with_memory), waiting_(std::make_unique<Waiting>()) {}
MeetingPlace::~MeetingPlace() = default;

Result<std::shared_ptr<Pair>> MeetingPlace::meet(const ConnectionKey& key, bool dials,
                                                 const ConnectionParams& params) {
  const std::lock_guard lock(waiting_->mutex);
  const auto found = waiting_->first_ends.find(key);
  std::shared_ptr<Pair> pair = found == waiting_->first_ends.end() ? nullptr : found->second.pair.lock();
  if (pair == nullptr) {
    waiting_->sweep();
    pair = std::make_shared<Pair>(agreed(params), with_memory_);
    waiting_->first_ends[key] = {pair, dials};
    return pair;
  }
  if (found->second.dials == dials)
    return error(Code::InvalidUsage, "rank {} connects port {} to rank {} twice",
                 dials ? key.dialler : key.acceptor, key.port, dials ? key.acceptor : key.dialler);
  waiting_->first_ends.erase(found);
  const AgreedParams own = agreed(params);
  if (own == pair->params) {
    pair->meeting.store(Pair::Meeting::BothHere, std::memory_order_relaxed);
    return pair;
  }
  pair->refused = own;
  // Pairs with the acquire load in Pair::status().
  pair->meeting.store(Pair::Meeting::Refused, std::memory_order_release);
  return compare(own, pair->params);
}

}  // namespace rondo
