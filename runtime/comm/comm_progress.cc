// SPDX-License-Identifier: Apache-2.0
#include "comm_progress.h"

#include <algorithm>
#include <array>
#include <utility>

#include "bootstrap/state_query.h"
#include "cause_search.h"

namespace rondo {
namespace {

/// Max delay of a failure notice in the control tree, if a connection broke first.
constexpr int64_t kNewsMayTake_ms = 5000;

}  // namespace

CommProgress::CommProgress(Communicator& communicator, std::span<const GroupOp> ops, MessageStreams& streams)
    : communicator_(communicator), ops_(ops), streams_(streams) {
  for (const GroupOp& op : ops_)
    if (op.communicator == &communicator_)
      std::visit([&](const auto& what) { add(what, op.place); }, op.what);
  stall_detector_.note_progress();
}

template <typename Request>
void CommProgress::add(const std::shared_ptr<Request>& request, const CallPlace& place) {
  if (place.on_gpu) {
    if (!gpu_messages_)
      gpu_messages_.emplace(communicator_.gpu_calls().messages(), communicator_.messages().mutex(), streams_);
    return gpu_messages_->add(request, place.stream, !place.on_stream);
  }
  if (!messages_) messages_.emplace(communicator_.messages());
  messages_->add(request);
}

Progress CommProgress::advance() try {
  if (communicator_.membership().failed()) return fail(communicator_.membership().cause());
  if (diagnosis_ != nullptr && !is_broken_) conclude();
  if (has_failed()) return failing();
  Progress calls = advance_calls();
  if (has_failed()) return failing();
  const Progress messages = messages_ ? messages_->advance() : Progress::Done;
  if (messages == Progress::Failed) return fail(messages_->status());
  const Progress on_gpu = gpu_messages_ ? gpu_messages_->advance() : Progress::Done;
  if (on_gpu == Progress::Failed) return fail(gpu_messages_->status());
  const std::array all{calls, messages, on_gpu};
  const auto how_many = [&](Progress one) { return std::count(all.begin(), all.end(), one); };
  if (how_many(Progress::Done) == std::ssize(all)) {
    // A failure releases messages of a GPU, so that they look done.
    if (gpu_messages_ && communicator_.membership().failed()) return fail(communicator_.membership().cause());
    hide_messages();
    diagnosis_.reset();
    over_ = true;
    return Progress::Done;
  }
  // Other messages of the communicator may have moved instead.
  if (calls == Progress::Moved || on_gpu == Progress::Moved || (messages == Progress::Moved && has_moved()))
    note_progress();
  return how_many(Progress::Moved) != 0 ? Progress::Moved : Progress::Stuck;
} catch (const std::bad_alloc&) {
  return fail(out_of_memory());
}

/// Whether its messages have progressed since this was asked.
bool CommProgress::has_moved() {
  const uint64_t steps = messages_ ? messages_->steps() : 0;
  return std::exchange(steps_, steps) != steps;
}

/// Only a wait that has lasted is noted for peers that ask.
void CommProgress::note_progress() {
  stall_detector_.note_progress();
  is_outdated_ = true;
  if (deadline_) communicator_.membership().recorder().note_moved(now_ns());
}

/// The next call of this communicator; null if there is none left.
const GroupOp* CommProgress::next_call() {
  while (next_ != ops_.size()) {
    const GroupOp& op = ops_[next_++];
    if (std::holds_alternative<Call>(op.what) && op.communicator == &communicator_) return &op;
  }
  return nullptr;
}

void CommProgress::take_up(const Result<Task*>& started) {
  makes_calls_ = true;
  deadline_.reset();
  diagnosis_.reset();
  stall_detector_.note_progress();
  if (started.ok())
    call_ = started.value();
  else if (started.status().code() == Code::Unsupported)  // at all ranks alike, before anything was sent
    refuse(started.status());
  else
    fail(started.status());
}

Progress CommProgress::advance_calls() {
  for (;;) {
    if (call_ == nullptr) {
      const GroupOp* const next = has_failed() ? nullptr : next_call();
      if (next == nullptr) return has_failed() ? failing() : Progress::Done;
      const Call& call = std::get<Call>(next->what);
      take_up(next->plan != nullptr ? communicator_.start(*next->plan, call) : communicator_.prepare(call));
      continue;
    }
    const Progress progress = call_->advance();
    if (progress == Progress::Failed && call_->refused()) {
      refuse(call_->status());
      continue;
    }
    if (progress == Progress::Failed) return fail(where_ranks_disagree(call_->status()));
    if (progress != Progress::Done) return progress;
    communicator_.membership().recorder().end();
    call_ = nullptr;
  }
}

/// Skips the current call, but not the later ones.
void CommProgress::refuse(const Status& why) {
  FlightRecorder& recorder = communicator_.membership().recorder();
  if (status_.ok()) status_ = recorder.named(why);
  recorder.end_refused();
  call_ = nullptr;
}

/// A mismatch may show only after earlier calls that ranks disagreed on: finds the first such call.
Status CommProgress::where_ranks_disagree(const Status& cause) const {
  if (cause.code() != Code::Mismatch) return cause;
  const Status first = first_disagreement(communicator_.membership(), call_->blocked_on());
  return first.ok() ? cause : first;
}

/// After a broken connection it is over only once the communicator has failed with what a CauseSearch found.
Progress CommProgress::fail(const Status& cause) {
  Membership& membership = communicator_.membership();
  if (cause.code() == Code::RemoteError && !membership.failed()) {
    const int64_t patience_ms =
        deadline_ ? std::clamp<int64_t>(deadline_->left_ms(), kAnswer_ms, kNewsMayTake_ms) : kNewsMayTake_ms;
    is_broken_ = true;
    communicator_.cause_search().begin(cause, wait(), patience_ms);
    return failing();
  }
  status_ = membership.fail(cause);
  if (makes_calls_) communicator_.membership().recorder().end_failed();
  abandon();
  // The recorder keeps the call: peers that ask still learn which rank this rank waited for.
  over_ = true;
  return Progress::Failed;
}

void CommProgress::abandon() {
  diagnosis_.reset();
  if (call_) call_->abandon();
  if (messages_) messages_->abandon();
  if (gpu_messages_) gpu_messages_->abandon();
}

int CommProgress::blocked_on() const {
  int rank = call_ ? call_->blocked_on() : -1;
  if (rank < 0 && messages_) rank = messages_->blocked_on();
  if (rank < 0 && gpu_messages_) rank = gpu_messages_->blocked_on();
  return rank;
}

/// The first known wait target.
Awaited CommProgress::awaited() {
  if (has_failed()) return {};
  const Awaited awaited = call_ ? call_->awaited() : Awaited();
  return is_known(awaited) || !messages_ ? awaited : messages_->awaited();
}

PendingWait CommProgress::wait() const {
  if (call_) return {.rank = blocked_on(), .messages = {}, .received = {}};
  PendingWait wait{
      .rank = blocked_on(), .messages = messages_ ? messages_->pending() : PendingMessages(), .received = {}};
  PointToPoint& engine = communicator_.messages();
  const std::lock_guard lock(engine.mutex());
  wait.received = engine.received();
  return wait;
}

void CommProgress::show_messages() {
  communicator_.membership().recorder().show(messages_->pending());
  has_shown_ = true;
}

void CommProgress::hide_messages() {
  if (std::exchange(has_shown_, false)) communicator_.membership().recorder().show({});
}

void CommProgress::look(bool waits) {
  if (over_) return;
  if (is_disowned()) {
    fail(refuse_disowned());
    return;
  }
  if (is_broken_) return;
  if (has_moved()) note_progress();
  if (!deadline_) {
    deadline_ = Deadline::in_ms(communicator_.membership().timeout_ms());
    communicator_.membership().recorder().note_moved(0);
  }
  if (call_) {
    communicator_.membership().recorder().wait_for(blocked_on());
    communicator_.connections().look();
  }
  if (messages_ && waits) show_messages();
  // Query each only once: the answer may change in between.
  Status broken = call_ ? call_->connection_status() : Status();
  if (broken.ok() && messages_) broken = messages_->connection_status();
  if (!broken.ok()) {
    fail(broken);
    return;
  }
  if (diagnosis_ != nullptr) return conclude();
  if (communicator_.is_diagnosing()) return;
  switch (stall_detector_.judge(deadline_->passed())) {
    case StallDetector::Finding::Fine: return;
    case StallDetector::Finding::Stalled: return start_diagnosis(false);
    case StallDetector::Finding::Overdue: return start_diagnosis(true);
  }
}

void CommProgress::start_diagnosis(bool is_last) {
  is_outdated_ = false;
  diagnosis_ = BackgroundDiagnosis::begin(communicator_.is_diagnosing(), communicator_.shared_membership(),
                                          wait(), is_last);
}

/// If the diagnosis is over.
void CommProgress::conclude() {
  const DesyncReport* const report = diagnosis_->report();
  if (report == nullptr) return;
  const Status found = diagnosis_->is_last()    ? reason_to_give_up()
                       : is_outdated_           ? Status()
                       : !report->mismatch.ok() ? report->mismatch
                                                : report->departed;
  diagnosis_.reset();
  if (!found.ok()) fail(found);
}

Status CommProgress::reason_to_give_up() const {
  const DesyncReport& report = *diagnosis_->report();
  RONDO_TRY(report.mismatch);
  RONDO_TRY(report.elsewhere);
  const FlightRecorder& recorder = communicator_.membership().recorder();
  const auto& messages = diagnosis_->wait().messages;
  return overdue(
      communicator_.membership(),
      messages ? describe(*messages) : describe(recorder.call(recorder.latest()).value_or(Signature())),
      report);
}

}  // namespace rondo
