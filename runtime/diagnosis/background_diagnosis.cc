// SPDX-License-Identifier: Apache-2.0
#include "diagnosis/background_diagnosis.h"

#include <new>
#include <utility>

#include "base/quiet_thread.h"

namespace rondo {

std::unique_ptr<BackgroundDiagnosis> BackgroundDiagnosis::begin(std::atomic<bool>& busy,
                                                                MembershipPtr membership, PendingWait wait,
                                                                bool is_last) {
  if (busy.exchange(true)) return nullptr;
  return std::unique_ptr<BackgroundDiagnosis>(
      new BackgroundDiagnosis(busy, std::move(membership), std::move(wait), is_last));
}

BackgroundDiagnosis::BackgroundDiagnosis(std::atomic<bool>& busy, MembershipPtr membership, PendingWait wait,
                                         bool is_last)
    : busy_(busy), membership_(std::move(membership)), wait_(std::move(wait)), is_last_(is_last) {
  auto started = try_quiet_thread("rondo-diagnose", [this] { run(); });
  if (started.ok())
    thread_ = started.take();
  else
    run();
}

BackgroundDiagnosis::~BackgroundDiagnosis() {
  stops_ = true;
  if (thread_.joinable()) thread_.join();
  busy_ = false;
}

void BackgroundDiagnosis::run() {
  try {
    find_out();
  } catch (const std::bad_alloc&) {
    report_.cause = "no memory is left to find out why";
  }
  is_over_.store(true, std::memory_order_release);  // pairs with report()
}

void BackgroundDiagnosis::find_out() {
  const auto interrupt = [this] {
    return stops_ ? Status(Code::Aborted, "the diagnosis is not needed any more") : Status();
  };
  report_ =
      is_last_ ? last_diagnosis(*membership_, wait_, interrupt) : diagnose(*membership_, wait_, interrupt);
  if (!is_last_ || report_.departed.ok()) return;
  const Status why = behind_silent_rank(*membership_, report_.departed, interrupt);
  report_.cause = why.message();
  report_.kind = why.kind();
}

}  // namespace rondo
