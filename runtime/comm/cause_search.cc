// SPDX-License-Identifier: Apache-2.0
#include "cause_search.h"

#include <new>

#include "base/backoff.h"
#include "base/quiet_thread.h"

namespace rondo {
namespace {

/// A rank closes a failed call's connections shortly before it reports the cause.
constexpr int64_t kTellingMayTake_ms = 300;

}  // namespace

CauseSearch::~CauseSearch() { end(); }

void CauseSearch::begin(const Status& cause, const PendingWait& wait, int64_t patience_ms) {
  const std::lock_guard lock(mutex_);
  if (std::exchange(has_begun_, true)) return;
  auto started = try_quiet_thread("rondo-cause", [=, this] { run(cause, wait, patience_ms); });
  if (started.ok())
    thread_ = started.take();
  else
    run(cause, wait, patience_ms);
}

void CauseSearch::end() {
  std::thread searching;
  {
    const std::lock_guard lock(mutex_);
    searching = std::move(thread_);
  }
  if (searching.joinable()) searching.join();
}

void CauseSearch::run(const Status& cause, const PendingWait& wait, int64_t patience_ms) try {
  static_cast<void>(membership_->fail(first_cause(cause, wait, patience_ms)));
} catch (const std::bad_alloc&) {
  static_cast<void>(membership_->fail(out_of_memory()));
}

Status CauseSearch::first_cause(const Status& cause, const PendingWait& wait, int64_t patience_ms) const {
  const CommState& health = *membership_->state();
  // A send that is ended withdraws what the receiver may be reading.
  if (Status ended = ended_send(*membership_, wait); !ended.ok()) return ended;
  const Deadline told = Deadline::in_ms(kTellingMayTake_ms);
  const bool is_all_heard = membership_->session()->await_news(patience_ms, health);
  wait_until([&] { return health.failed(); }, told);
  return is_all_heard || health.failed() ? cause : behind_silent_rank(*membership_, cause);
}

}  // namespace rondo
