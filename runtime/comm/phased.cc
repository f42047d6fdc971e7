#include "comm/phased.h"

#include <time.h>

#include <atomic>

#include "base/log.h"
#include "base/settings.h"
#include "comm/communicator.h"

namespace rondo {
namespace {

constexpr int64_t kStagingBytes = int64_t{16} << 20;
constexpr int64_t kMostStagingBytes = int64_t{1} << 32;
constexpr int64_t kSettleAfterFailure_ms = 5000;

}  // namespace

Result<size_t> staging_bytes_setting(int nranks) {
  const auto least = static_cast<int64_t>(StagingGeometry::least_bytes(nranks));
  RONDO_TRY_ASSIGN(const int64_t bytes,
                   size_setting(Setting::StagingBytes, least, kMostStagingBytes, kStagingBytes));
  return static_cast<size_t>(bytes);
}

Phased::Phased(Communicator& communicator, Introduction::Parties parties, std::vector<int> here)
    : communicator_(communicator),
      self_(parties.self),
      introduction_(parties),
      own_windows_(std::make_shared<OwnWindows>(parties.self, communicator.size(), parties.device,
                                                [session = parties.session, ranks = parties.ranks](int rank) {
                                                  return session->is_gone(ranks[static_cast<size_t>(rank)]);
                                                })),
      run_(Crew::of(parties.session->id(), parties.communicator, here.size()), here, parties.self,
           parties.device, issue_phased) {
  part_.own_tail = std::make_shared<StreamTail>(parties.device);
  part_.latest_tail = &latest_tail_;
}

/// What a stream that never comes to an end may still use is left to the end of the process, as is what peers
/// do not let go of.
Phased::~Phased() {
  const bool settled = settle(Deadline::in_ms(kSettleAfterFailure_ms));
  const bool closed = close_windows();
  watch_.reset();
  if (neighbourhood_ == nullptr || (settled && closed)) return;
  log().warn("rank {}: memory that GPUs share is not freed, since {}", self_,
             settled ? "a peer still has it" : "a stream still uses it");
  neighbourhood_->own_windows = own_windows_;
  static_cast<void>(neighbourhood_.release());
}

void Phased::begin(const Call& call, const Signature& signature) {
  call_ = &call;
  signature_ = signature;
  running_ = false;
  refused_ = unusable_;
  if (!unusable_) failure_ = Status();
}

Progress Phased::fail(const Task& by) {
  failure_ = by.status();
  return Progress::Failed;
}

/// With the first call.
Progress Phased::introduce() {
  const Progress progress = introduction_->advance();
  if (progress == Progress::Failed) {
    refused_ = unusable_ = introduction_->refused();
    return fail(*introduction_);
  }
  if (progress != Progress::Done) return progress;
  neighbourhood_ = introduction_->take();
  peer_windows_ = PeerWindows::make(window_parties());
  if (!neighbourhood_->on_host) own_windows_->publish(neighbourhood_->window_table);
  introduction_.reset();
  watch_.emplace(communicator_, neighbourhood_->host_words, peer_windows_);
  return Progress::Moved;
}

void Phased::plan() {
  const StagingView view{.geometry = neighbourhood_->geometry,
                         .self = self_,
                         .staging = neighbourhood_->staging,
                         .words = &neighbourhood_->words.rank(self_),
                         .windows = own_windows_.get()};
  PhasedPlan plan = plan_phased(*call_, signature_, view);
  part_.neighbourhood = neighbourhood_.get();
  part_.rounds = std::move(plan.rounds);
  if (plan.in_place && !plan.stages) communicator_.note_algorithm("direct");
  std::atomic_ref(neighbourhood_->host_words.rank(self_).made)
      .store(signature_.sequence, std::memory_order_release);
}

Progress Phased::advance() {
  if (unusable_) return Progress::Failed;
  if (neighbourhood_ == nullptr) return introduce();
  if (!running_) {
    plan();
    if (const Status begun = run_.begin(*call_, signature_, &part_); !begun.ok()) {
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
  failure_ = noted_mismatch(neighbourhood_->host_words, self_);
  return failure_.ok() ? Progress::Done : Progress::Failed;
}

int Phased::blocked_on() const {
  if (introduction_) return introduction_->blocked_on();
  const int mate = running_ ? run_.blocked_on() : -1;
  return mate >= 0 || neighbourhood_ == nullptr
             ? mate
             : late_rank(neighbourhood_->host_words, communicator_.size(), self_);
}

void Phased::abandon() {
  if (introduction_) introduction_->abandon();
  if (running_) run_.abandon();
  running_ = false;
}

bool Phased::settle(const Deadline& deadline) {
  if (neighbourhood_ == nullptr) return true;
  const auto at_rest = [&] {
    if (latest_tail_ != nullptr) {
      const auto passed = latest_tail_->passed();
      if (!passed.ok()) return true;  // a GPU that has failed, or was reset, uses nothing any more
      if (!passed.value()) return false;
    }
    const std::atomic_ref busy(neighbourhood_->host_words.rank(self_).busy);
    return busy.load(std::memory_order_acquire) == 0;
  };
  while (!at_rest()) {
    if (deadline.passed()) return false;
    const timespec nap{0, 200'000};
    ::nanosleep(&nap, nullptr);
  }
  return true;
}

}  // namespace rondo
