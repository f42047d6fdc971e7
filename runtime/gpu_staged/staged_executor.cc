// SPDX-License-Identifier: Apache-2.0
#include "gpu_staged/staged_executor.h"

#include <atomic>

#include "base/backoff.h"
#include "base/error_kinds.h"
#include "base/log.h"
#include "base/settings.h"
#include "exported_windows.h"
#include "imported_windows.h"
#include "ipc_handle_exchange.h"
#include "staged_issue.h"
#include "watchdog.h"

namespace rondo {
namespace {

constexpr int64_t kStagingBytes = int64_t{16} << 20;
constexpr int64_t kMaxStagingBytes = int64_t{1} << 32;
constexpr int64_t kSettleAfterFailure_ms = 5000;

/// Allows a peer to notice the change, start a thread and close the memory.
constexpr int64_t kHolderGrace_ms = 300;

/// The same while this rank's executor is being destroyed.
constexpr int64_t kMaxHolderGrace_ms = 5000;

}  // namespace

Result<size_t> staging_bytes_setting(int nranks) {
  const auto least = static_cast<int64_t>(StagingGeometry::min_bytes(nranks));
  RONDO_TRY_ASSIGN(const int64_t bytes,
                   size_setting(Setting::StagingBytes, least, kMaxStagingBytes, kStagingBytes));
  return static_cast<size_t>(bytes);
}

StagedExecutor::StagedExecutor(const MembershipPtr& membership, size_t staging_bytes, std::vector<int> here)
    : membership_(membership),
      self_(membership->rank()),
      handle_exchange_(std::make_unique<IpcHandleExchange>(membership, staging_bytes)),
      exported_windows_(std::make_shared<ExportedWindows>(
          self_, membership->size(), membership->device(),
          [session = membership->session(), ranks = membership->session_ranks()](int rank) {
            return session->is_gone(ranks[static_cast<size_t>(rank)]);
          })),
      run_(LocalGroup::of(membership->session()->id(), membership->id(), here.size()), here, self_,
           membership->device(), issue_staged),
      part_(std::make_unique<StagedPart>()) {
  part_->own_tail = std::make_shared<StreamTail>(membership->device());
  part_->latest_tail = &latest_tail_;
}

/// Leaks memory that a stuck stream may still use or that peers still map.
StagedExecutor::~StagedExecutor() {
  const bool settled = settle(Deadline::in_ms(kSettleAfterFailure_ms));
  const bool closed = close_windows();
  watchdog_.reset();
  if (mappings_ == nullptr || (settled && closed)) return;
  log().warn("rank {}: memory that GPUs share is not freed, since {}", self_,
             settled ? "a peer still has it" : "a stream still uses it");
  mappings_->exported_windows = exported_windows_;
  static_cast<void>(mappings_.release());
}

void StagedExecutor::begin(const Call& call, const Signature& signature) {
  call_ = &call;
  signature_ = signature;
  running_ = false;
  refused_ = unusable_;
  if (!unusable_) failure_ = Status();
}

Progress StagedExecutor::fail(const Task& by) {
  failure_ = by.status();
  return Progress::Failed;
}

/// Runs with the first call.
Progress StagedExecutor::exchange_handles() {
  const Progress progress = handle_exchange_->advance();
  if (progress == Progress::Failed) {
    refused_ = unusable_ = handle_exchange_->refused();
    return fail(*handle_exchange_);
  }
  if (progress != Progress::Done) return progress;
  mappings_ = handle_exchange_->take();
  imported_windows_ = import_windows();
  if (!mappings_->on_host) exported_windows_->publish(mappings_->window_table);
  handle_exchange_.reset();
  watchdog_ = std::make_unique<Watchdog>(membership_, mappings_->host_words, imported_windows_);
  return Progress::Moved;
}

void StagedExecutor::plan() {
  const StagingView view{.geometry = mappings_->geometry,
                         .self = self_,
                         .staging = mappings_->staging,
                         .words = &mappings_->words.rank(self_),
                         .windows = exported_windows_.get()};
  StagedPlan plan = plan_staged(*call_, signature_, view);
  part_->mappings = mappings_.get();
  part_->rounds = std::move(plan.rounds);
  if (plan.in_place && !plan.stages) membership_->recorder().note_algorithm("gpu_windows");
  std::atomic_ref(mappings_->host_words.rank(self_).made)
      .store(signature_.sequence, std::memory_order_release);
}

Progress StagedExecutor::advance() {
  if (unusable_) return Progress::Failed;
  if (mappings_ == nullptr) return exchange_handles();
  if (!running_) {
    plan();
    if (const Status begun = run_.begin(*call_, signature_, part_.get()); !begun.ok()) {
      failure_ = begun;
      return Progress::Failed;
    }
    running_ = true;
  }
  const Progress progress = run_.advance();
  if (progress == Progress::Failed) {
    refused_ = run_.refused();
    return fail(run_);
  }
  if (progress != Progress::Done) return progress;
  failure_ = noted_mismatch(mappings_->host_words, self_);
  return failure_.ok() ? Progress::Done : Progress::Failed;
}

int StagedExecutor::blocked_on() const {
  if (handle_exchange_ != nullptr) return handle_exchange_->blocked_on();
  const int member = running_ ? run_.blocked_on() : -1;
  return member >= 0 || mappings_ == nullptr ? member
                                             : late_rank(mappings_->host_words, membership_->size(), self_);
}

void StagedExecutor::abandon() {
  if (handle_exchange_ != nullptr) handle_exchange_->abandon();
  if (running_) run_.abandon();
  running_ = false;
}

bool StagedExecutor::settle(const Deadline& deadline) {
  if (mappings_ == nullptr) return true;
  const auto at_rest = [&] {
    if (latest_tail_ != nullptr) {
      const auto passed = latest_tail_->passed();
      if (!passed.ok()) return true;  // a GPU that has failed or was reset no longer uses memory
      if (!passed.value()) return false;
    }
    const std::atomic_ref busy(mappings_->host_words.rank(self_).busy);
    return busy.load(std::memory_order_acquire) == 0;
  };
  return wait_until(at_rest, deadline);
}

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
      return error(ErrorKind::MemoryNotClosed, "{} has not closed the memory within {} s",
                   membership_->rank_text(holder), static_cast<double>(timeout_ms) / 1000);
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
