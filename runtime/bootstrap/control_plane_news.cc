// SPDX-License-Identifier: Apache-2.0
// Flushing failure notices through the control tree. A connection between two ranks can close before the
// notice that explains it has arrived: its other end heard of a third rank's death sooner, gave up its call
// and closed. A rank that observes this sends a sounding through the tree. When the answers are back, every
// notice that any rank knew when the sounding passed it has arrived: notices and soundings stay in order on
// each edge.
//
//     0   1 sounds: 0 asks 2 and 3, and answers 1 once both have answered or are gone.
//   / | \  (the edges of the tree)
//  1  2  3
#include <algorithm>

#include "control_plane.h"

namespace rondo {

bool ControlPlane::await_news(int64_t at_most_ms, const CommState& health) {
  if (context_ == nullptr) return true;
  uint64_t number = 0;
  {
    const std::lock_guard lock(mutex_);
    number = ++next_sounding_;
  }
  context_->event_loop().post([this, number] { sound({rank_, number}, -1); });
  const Deadline deadline = Deadline::in_ms(at_most_ms);
  std::unique_lock lock(mutex_);
  while (!sounded_.contains(number) && !health.failed() && !deadline.passed())
    changed_.wait_for(lock, std::chrono::milliseconds(std::min(deadline.left_ms(), kInterruptEvery_ms)));
  return sounded_.contains(number);
}

/// Forwards the sounding to all neighbours but the one that it came from.
void ControlPlane::sound(const SoundingId& id, int from_rank) {
  const auto [found, is_new] = soundings_.try_emplace(id, Sounding{from_rank, {}});
  if (!is_new) return answer_sounding(id, from_rank);  // it arrived twice, because the tree has changed
  for (auto& [rank, edge] : edges_) {
    if (rank == from_rank) continue;
    found->second.open.insert(rank);
    edge.socket->send(MessageType::Sounding, ByteWriter().put(id));
  }
  end_sounding(id, -1);
}

/// `rank` has answered, or is gone.
void ControlPlane::end_sounding(const SoundingId& id, int rank) {
  const auto found = soundings_.find(id);
  if (found == soundings_.end()) return;
  found->second.open.erase(rank);
  if (!found->second.open.empty()) return;
  const int from_rank = found->second.from_rank;
  soundings_.erase(found);
  answer_sounding(id, from_rank);
}

void ControlPlane::answer_sounding(const SoundingId& id, int from_rank) {
  if (from_rank < 0) {
    const std::lock_guard lock(mutex_);
    sounded_.insert(id.number);
    changed_.notify_all();
  } else if (const auto asker = edges_.find(from_rank); asker != edges_.end()) {
    asker->second.socket->send(MessageType::Sounded, ByteWriter().put(id));
  }
}

/// No sounding waits for an answer from `rank` any more.
void ControlPlane::end_soundings(int rank) {
  std::vector<SoundingId> open;
  for (const auto& [id, sounding] : soundings_) open.push_back(id);
  for (const SoundingId& id : open) end_sounding(id, rank);
}

}  // namespace rondo
