#include "comm/joint.h"

#include <algorithm>
#include <map>

#include "gpu/device.h"

namespace rondo {
namespace {

using Seats = std::vector<Joint::Seat>;

/// Streams of the same handle on different devices are different: the default ones.
bool same_stream(const Joint::Seat& a, const Joint::Seat& b) {
  return a.device == b.device && a.stream == b.stream;
}

Status check_calls(const Seats& seats) {
  for (size_t rank = 1; rank < seats.size(); ++rank)
    if (!(seats[rank].signature == seats[0].signature))
      return mismatch(0, seats[0].signature, static_cast<int>(rank), seats[rank].signature);
  return {};
}

/// All streams record the same graph or none does: a launch is in one graph, with all that it waits for.
Status check_captures(const Seats& seats) {
  std::vector<uint64_t> captures;
  for (const Joint::Seat& seat : seats) {
    const gpu::Current current(seat.device);
    RONDO_TRY(current.status());
    RONDO_TRY_ASSIGN(const uint64_t capture, gpu::capture_of(seat.stream));
    captures.push_back(capture);
  }
  for (size_t rank = 1; rank < captures.size(); ++rank) {
    if (captures[rank] == captures[0]) continue;
    if (captures[0] != 0 && captures[rank] != 0)
      return error(Code::InvalidUsage,
                   "the streams of ranks 0 and {} are captured into different graphs; ranks of one process "
                   "have to be in one",
                   rank);
    return error(Code::InvalidUsage,
                 "the stream of rank {} is captured into a graph and that of rank {} is not; ranks of one "
                 "process have to be in one",
                 captures[0] != 0 ? 0 : rank, captures[0] != 0 ? rank : 0);
  }
  return {};
}

Status record(const Joint::Seat& seat) {
  const gpu::Current current(seat.device);
  RONDO_TRY(current.status());
  return seat.event->record(seat.stream);
}

/// What comes to `later`'s stream waits for the event of `earlier`.
Status order(const Joint::Seat& earlier, const Joint::Seat& later) {
  if (same_stream(earlier, later)) return {};
  const gpu::Current current(later.device);
  RONDO_TRY(current.status());
  return earlier.event->hold(later.stream);
}

/// A seat of each device, whose stream its launches go to.
Seats leaders_of(const Seats& seats) {
  Seats leaders;
  for (const Joint::Seat& seat : seats)
    if (std::none_of(leaders.begin(), leaders.end(),
                     [&](const auto& one) { return one.device == seat.device; }))
      leaders.push_back(seat);
  return leaders;
}

Status launch(const Seats& seats) {
  RONDO_TRY(check_calls(seats));
  RONDO_TRY(check_captures(seats));
  std::vector<JointCall> calls;
  for (const Joint::Seat& seat : seats) calls.push_back({seat.call, seat.device});
  RONDO_TRY_ASSIGN(const auto folds, joint_folds(calls));
  const Seats leaders = leaders_of(seats);
  for (const Joint::Seat& seat : seats) RONDO_TRY(record(seat));
  for (const Joint::Seat& leader : leaders)
    for (const Joint::Seat& seat : seats) RONDO_TRY(order(seat, leader));
  for (const JointFolds& one : folds) {
    const auto leader = std::find_if(leaders.begin(), leaders.end(),
                                     [&](const Joint::Seat& seat) { return seat.device == one.device; });
    const gpu::Current current(one.device);
    RONDO_TRY(current.status());
    RONDO_TRY(one.folds.launch(one.device, leader->stream));
  }
  for (const Joint::Seat& leader : leaders) RONDO_TRY(record(leader));
  for (const Joint::Seat& leader : leaders)
    for (const Joint::Seat& seat : seats) RONDO_TRY(order(leader, seat));
  return {};
}

}  // namespace

std::shared_ptr<Joint> Joint::of(uint64_t session, uint64_t communicator, int nranks) {
  struct Known {
    std::mutex mutex;
    std::map<std::pair<uint64_t, uint64_t>, std::weak_ptr<Joint>> joints;
  };
  static auto& known = *new Known;
  const std::lock_guard lock(known.mutex);
  std::erase_if(known.joints, [](const auto& entry) { return entry.second.expired(); });
  auto& found = known.joints[{session, communicator}];
  auto joint = found.lock();
  if (joint == nullptr) found = joint = std::shared_ptr<Joint>(new Joint(nranks));
  return joint;
}

std::shared_ptr<Joint::Meeting> Joint::arrive(int rank, const Seat& seat) {
  std::shared_ptr<Meeting> meeting;
  {
    const std::lock_guard lock(mutex_);
    if (gathering_ == nullptr) {
      gathering_ = std::make_shared<Meeting>();
      gathering_->seats.resize(static_cast<size_t>(nranks_));
    }
    meeting = gathering_;
    meeting->seats[static_cast<size_t>(rank)] = seat;
    if (++meeting->arrived < nranks_) return meeting;
    meeting->closed = true;
    gathering_.reset();
  }
  meeting->outcome = launch(meeting->seats);
  meeting->over.store(true, std::memory_order_release);  // pairs with JointRun::advance()
  return meeting;
}

bool Joint::leave(int rank, Meeting& meeting) {
  const std::lock_guard lock(mutex_);
  if (meeting.closed) return false;
  meeting.seats[static_cast<size_t>(rank)].call = nullptr;
  --meeting.arrived;
  return true;
}

int Joint::missing(const Meeting& meeting) {
  const std::lock_guard lock(mutex_);
  for (size_t rank = 0; rank < meeting.seats.size(); ++rank)
    if (meeting.seats[rank].call == nullptr) return static_cast<int>(rank);
  return -1;
}

Status JointRun::begin(const Call& call, const Signature& signature) {
  meeting_.reset();
  failure_ = Status();
  launched_ = false;
  waits_ = !call.place.on_stream;
  if (!has_event_) {
    RONDO_TRY_ASSIGN(event_, gpu::Event::create(device_));
    has_event_ = true;
  }
  seat_ = {&call, signature, device_, call.place.stream, &event_};
  return {};
}

Progress JointRun::fail(const Status& cause) {
  failure_ = cause;
  return Progress::Failed;
}

Progress JointRun::advance() {
  if (meeting_ == nullptr) {
    meeting_ = joint_->arrive(rank_, seat_);
    if (!meeting_->over.load(std::memory_order_acquire)) return Progress::Moved;
  }
  if (!meeting_->over.load(std::memory_order_acquire)) return Progress::Stuck;
  if (!meeting_->outcome.ok()) return fail(meeting_->outcome);
  if (!waits_) return Progress::Done;
  if (!launched_) {
    if (const Status recorded = record(seat_); !recorded.ok()) return fail(recorded);
    launched_ = true;
  }
  const auto complete = event_.complete();
  if (!complete.ok()) return fail(complete.status());
  return complete.value() ? Progress::Done : Progress::Stuck;
}

int JointRun::blocked_on() const { return meeting_ == nullptr ? -1 : joint_->missing(*meeting_); }

/// Once it is launched, the GPU uses the caller's buffers to the end, which comes by itself.
void JointRun::abandon() {
  if (meeting_ == nullptr || joint_->leave(rank_, *meeting_)) return;
  while (!meeting_->over.load(std::memory_order_acquire)) sched_yield();
  if (waits_ && meeting_->outcome.ok()) {
    const gpu::Current current(device_);
    if (current.status().ok()) static_cast<void>(gpu::synchronize(seat_.stream));
  }
}

}  // namespace rondo
