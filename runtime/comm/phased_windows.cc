// A phased communicator's windows: when they are opened, and how their owner waits for those who look through
// them.
#include <time.h>

#include <atomic>

#include "base/log.h"
#include "comm/communicator.h"
#include "comm/phased.h"

namespace rondo {
namespace {

/// That long a rank may take that has to look, start a thread and close memory.
constexpr int64_t kPatience_ms = 300;

/// And that long, where this rank is about to end.
constexpr int64_t kMostPatience_ms = 5000;

void nap() {
  const timespec time{0, 200'000};
  ::nanosleep(&time, nullptr);
}

}  // namespace

PeerWindows::Parties Phased::window_parties() const {
  PeerWindows::Parties parties{.table = neighbourhood_->window_table,
                               .self = self_,
                               .device = communicator_.device(),
                               .devices = {},
                               .own = own_windows_};
  for (int rank = 0; rank < communicator_.size(); ++rank)
    parties.devices.push_back(communicator_.is_here(rank) ? communicator_.device_of(rank) : -1);
  return parties;
}

/// A stream that waits for this rank's next call holds up the closing of memory on its GPU.
bool Phased::waits_for_self(int rank) const {
  const auto load = [](uint32_t& word) { return std::atomic_ref(word).load(std::memory_order_acquire); };
  RankWords& peer = neighbourhood_->host_words.rank(rank);
  return load(peer.busy) != 0 && load(peer.made) > load(neighbourhood_->host_words.rank(self_).made);
}

Status Phased::close_window(const void* key) {
  if (!own_windows_->close(key)) return {};
  RONDO_TRY(await_holders(key));
  own_windows_->forget(key);
  return {};
}

Status Phased::await_holders(const void* key) {
  const int64_t timeout_ms = communicator_.timeout_ms();
  const Deadline deadline = Deadline::in_ms(timeout_ms);
  const Deadline patience = Deadline::in_ms(kPatience_ms);
  for (;;) {
    const int holder = own_windows_->holder(key);
    if (holder < 0) return {};
    if (patience.passed() && waits_for_self(holder)) {
      const Status why = error(Code::InProgress, "{} lets go of memory of rank {} when its stream moves on",
                               communicator_.rank_text(holder), self_);
      log().info("{}", why.message());
      return why;
    }
    if (deadline.passed())
      return error(Code::Timeout, "{} has not let go of the memory within {} s",
                   communicator_.rank_text(holder), static_cast<double>(timeout_ms) / 1000);
    nap();
  }
}

bool Phased::close_windows() {
  if (peer_windows_ == nullptr) return true;
  own_windows_->close_all();
  peer_windows_->leave();
  const Deadline deadline = Deadline::in_ms(kMostPatience_ms);
  while (own_windows_->holder() >= 0 || !peer_windows_->has_left()) {
    if (deadline.passed()) return false;
    peer_windows_->look();
    nap();
  }
  own_windows_->sweep();
  return true;
}

}  // namespace rondo
