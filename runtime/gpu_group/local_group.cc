// SPDX-License-Identifier: Apache-2.0
#include "gpu_group/local_group.h"

#include <algorithm>
#include <map>

#include "base/backoff.h"
#include "base/error_kinds.h"
#include "base/log.h"
#include "gpu/device.h"
#include "gpu/shared_memory.h"

namespace rondo {
namespace {

using LocalCall = LocalGroup::LocalCall;
using LocalCalls = std::span<const LocalCall>;

/// How long to wait until a failed call no longer uses its buffers.
constexpr int64_t kMaxAbandon_ms = 5000;

/// The handle alone is not enough: default streams have the same handle on all devices.
bool same_stream(const LocalCall& a, const LocalCall& b) {
  return a.device == b.device && a.stream == b.stream;
}

Status check_calls(LocalCalls local_calls) {
  for (const LocalCall& local_call : local_calls)
    if (!(local_call.signature == local_calls[0].signature))
      return mismatch(local_calls[0].rank, local_calls[0].signature, local_call.rank, local_call.signature);
  return {};
}

Status record(const LocalCall& local_call) {
  const gpu::Current current(local_call.device);
  RONDO_TRY(current.status());
  return local_call.event->record(local_call.stream);
}

/// Makes later work of `later`'s stream wait for the event of `earlier`.
Status order(const LocalCall& earlier, const LocalCall& later) {
  if (same_stream(earlier, later)) return {};
  const gpu::Current current(later.device);
  RONDO_TRY(current.status());
  return earlier.event->hold(later.stream);
}

Status order(LocalCalls earlier, LocalCalls later) {
  for (const LocalCall& local_call : earlier) RONDO_TRY(record(local_call));
  for (const LocalCall& waiting : later)
    for (const LocalCall& local_call : earlier) RONDO_TRY(order(local_call, waiting));
  return {};
}

std::vector<LocalCall> leaders_of(LocalCalls local_calls) {
  std::vector<LocalCall> leaders;
  for (const LocalCall& local_call : local_calls)
    if (std::none_of(leaders.begin(), leaders.end(),
                     [&](const LocalCall& one) { return one.device == local_call.device; }))
      leaders.push_back(local_call);
  return leaders;
}

}  // namespace

Result<uint64_t> graph_of(const LocalCall& local_call) {
  const gpu::Current current(local_call.device);
  RONDO_TRY(current.status());
  return gpu::capture_of(local_call.stream);
}

Status check_one_graph(LocalCalls local_calls, const char* ranks) {
  RONDO_TRY_ASSIGN(const uint64_t first, graph_of(local_calls[0]));
  for (const LocalCall& local_call : local_calls.subspan(1)) {
    RONDO_TRY_ASSIGN(const uint64_t graph, graph_of(local_call));
    if (graph == first) continue;
    return error(
        ErrorKind::CapturesDiffer,
        "the streams of ranks {} and {} are not captured into the same graph; {} have to be in one graph, "
        "or all of them in none",
        local_calls[0].rank, local_call.rank, ranks);
  }
  return {};
}

Status issue_in_order(LocalCalls local_calls, const std::function<Status(LocalCalls leaders)>& body) {
  const std::vector<LocalCall> leaders = leaders_of(local_calls);
  RONDO_TRY(order(local_calls, leaders));
  RONDO_TRY(body(leaders));
  return order(leaders, local_calls);
}

std::shared_ptr<LocalGroup> LocalGroup::of(uint64_t session, uint64_t communicator, size_t size) {
  struct Known {
    std::mutex mutex;
    std::map<std::pair<uint64_t, uint64_t>, std::weak_ptr<LocalGroup>> groups;
  };
  static auto& known = *new Known;
  const std::lock_guard lock(known.mutex);
  std::erase_if(known.groups, [](const auto& entry) { return entry.second.expired(); });
  auto& found = known.groups[{session, communicator}];
  auto local_group = found.lock();
  if (local_group == nullptr) found = local_group = std::shared_ptr<LocalGroup>(new LocalGroup(size));
  return local_group;
}

std::shared_ptr<LocalGroup::LaunchBatch> LocalGroup::arrive(size_t place, const LocalCall& local_call,
                                                            Issue issue) {
  std::shared_ptr<LaunchBatch> batch;
  {
    const std::lock_guard lock(mutex_);
    if (next_batch_ == nullptr) {
      next_batch_ = std::make_shared<LaunchBatch>();
      next_batch_->local_calls.resize(size_);
    }
    batch = next_batch_;
    batch->local_calls[place] = local_call;
    if (++batch->arrived < size_) return batch;
    batch->closed = true;
    next_batch_.reset();
  }
  batch->outcome = check_calls(batch->local_calls);
  if (batch->outcome.ok()) batch->outcome = issue(batch->local_calls);
  batch->over.store(true, std::memory_order_release);  // pairs with LocalLaunch::advance()
  return batch;
}

bool LocalGroup::leave(size_t place, LaunchBatch& batch) {
  const std::lock_guard lock(mutex_);
  if (batch.closed) return false;
  batch.local_calls[place].call = nullptr;
  --batch.arrived;
  return true;
}

size_t LocalGroup::missing(const LaunchBatch& batch) {
  const std::lock_guard lock(mutex_);
  const auto found = std::find_if(batch.local_calls.begin(), batch.local_calls.end(),
                                  [](const LocalCall& local_call) { return local_call.call == nullptr; });
  return static_cast<size_t>(found - batch.local_calls.begin());
}

LocalLaunch::LocalLaunch(std::shared_ptr<LocalGroup> local_group, std::vector<int> ranks, int rank,
                         int device, LocalGroup::Issue issue)
    : local_group_(std::move(local_group)),
      ranks_(std::move(ranks)),
      place_(static_cast<size_t>(std::find(ranks_.begin(), ranks_.end(), rank) - ranks_.begin())),
      issue_(issue) {
  local_call_.rank = rank;
  local_call_.device = device;
}

Status LocalLaunch::begin(const Call& call, const Signature& signature, const void* payload) {
  batch_.reset();
  failure_ = Status();
  marked_ = false;
  waits_ = !call.place.on_stream;
  if (!has_event_) {
    const gpu::OutsideCapture outside;
    RONDO_TRY_ASSIGN(event_, gpu::Event::create(local_call_.device));
    has_event_ = true;
  }
  local_call_.call = &call;
  local_call_.signature = signature;
  local_call_.stream = call.place.stream;
  local_call_.event = &event_;
  local_call_.payload = payload;
  return {};
}

Progress LocalLaunch::fail(const Status& cause) {
  failure_ = cause;
  return Progress::Failed;
}

Progress LocalLaunch::advance() {
  const bool arrives = batch_ == nullptr;
  if (arrives) batch_ = local_group_->arrive(place_, local_call_, issue_);
  if (!batch_->over.load(std::memory_order_acquire)) return arrives ? Progress::Moved : Progress::Stuck;
  if (!batch_->outcome.ok()) return fail(batch_->outcome);
  if (!marked_ && (waits_ || local_call_.payload != nullptr)) {
    if (const Status recorded = record(local_call_); !recorded.ok()) return fail(recorded);
    marked_ = true;
  }
  if (!waits_) return Progress::Done;
  const auto complete = event_.complete();
  if (!complete.ok()) return fail(complete.status());
  return complete.value() ? Progress::Done : Progress::Stuck;
}

bool LocalLaunch::drained() const {
  if (!marked_) return true;
  const auto complete = event_.complete();
  return !complete.ok() || complete.value();  // an error: it was captured into a graph, or the GPU is lost
}

int LocalLaunch::blocked_on() const {
  if (batch_ == nullptr) return -1;
  const size_t place = local_group_->missing(*batch_);
  return place < ranks_.size() ? ranks_[place] : -1;
}

/// After the call is issued, the GPU uses the caller's buffers until it ends, which its watcher ensures.
void LocalLaunch::abandon() {
  if (batch_ == nullptr || local_group_->leave(place_, *batch_)) return;
  wait_until([&] { return batch_->over.load(std::memory_order_acquire); });
  if (!waits_ || !batch_->outcome.ok()) return;
  if (!marked_) marked_ = record(local_call_).ok();
  if (!wait_until([&] { return drained(); }, Deadline::in_ms(kMaxAbandon_ms)))
    log().warn("rank {}: GPU {} may still use the buffers of {}, which has failed", local_call_.rank,
               local_call_.device, describe(local_call_.signature));
}

}  // namespace rondo
