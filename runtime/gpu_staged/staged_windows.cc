// SPDX-License-Identifier: Apache-2.0
// A staged communicator's windows: how they are set up, and how their owner waits until peers unmap them.
#include <atomic>

#include "base/backoff.h"
#include "base/log.h"
#include "exported_windows.h"
#include "gpu_staged/staged_executor.h"
#include "imported_windows.h"
#include "ipc_handle_exchange.h"

namespace rondo {
namespace {

/// Allows a peer to notice the change, start a thread and close the memory.
constexpr int64_t kHolderGrace_ms = 300;

/// The same while this rank's executor is being destroyed.
constexpr int64_t kMaxHolderGrace_ms = 5000;

}  // namespace

std::shared_ptr<ImportedWindows> StagedExecutor::import_windows() const {
  ImportedWindows::WindowParties parties{.table = mappings_->window_table,
                                         .self = self_,
                                         .device = membership_->device(),
                                         .devices = {},
                                         .own = exported_windows_};
  for (int rank = 0; rank < membership_->size(); ++rank)
    parties.devices.push_back(membership_->is_here(rank) ? membership_->device_of(rank) : -1);
  return ImportedWindows::make(std::move(parties));
}

void StagedExecutor::open_window(const void* key, std::byte* at, size_t bytes,
                                 std::shared_ptr<const void> kept) {
  exported_windows_->add(key, at, bytes, std::move(kept));
}

/// A peer's stream that waits for this rank's next call delays the closing of memory on the peer's GPU.
bool StagedExecutor::waits_for_self(int rank) const {
  const auto load = [](uint32_t& word) { return std::atomic_ref(word).load(std::memory_order_acquire); };
  RankWords& peer = mappings_->host_words.rank(rank);
  return load(peer.busy) != 0 && load(peer.made) > load(mappings_->host_words.rank(self_).made);
}

Status StagedExecutor::close_window(const void* key) {
  if (!exported_windows_->close(key)) return {};
  RONDO_TRY(await_holders(key));
  exported_windows_->forget(key);
  return {};
}

Status StagedExecutor::await_holders(const void* key) {
  const int64_t timeout_ms = membership_->timeout_ms();
  const Deadline deadline = Deadline::in_ms(timeout_ms);
  const Deadline grace = Deadline::in_ms(kHolderGrace_ms);
  for (Backoff backoff(true);; backoff.wait()) {
    const int holder = exported_windows_->holder(key);
    if (holder < 0) return {};
    if (grace.passed() && waits_for_self(holder)) {
      const Status why = error(Code::InProgress, "{} will close memory of rank {} when its stream advances",
                               membership_->rank_text(holder), self_);
      log().info("{}", why.message());
      return why;
    }
    if (deadline.passed())
      return error(Code::Timeout, "{} has not closed the memory within {} s", membership_->rank_text(holder),
                   static_cast<double>(timeout_ms) / 1000);
  }
}

bool StagedExecutor::close_windows() {
  if (imported_windows_ == nullptr) return true;
  exported_windows_->close_all();
  imported_windows_->leave();
  const auto closed = [&] {
    imported_windows_->look();
    return exported_windows_->holder() < 0 && imported_windows_->has_left();
  };
  if (!wait_until(closed, Deadline::in_ms(kMaxHolderGrace_ms))) return false;
  exported_windows_->sweep();
  return true;
}

}  // namespace rondo
