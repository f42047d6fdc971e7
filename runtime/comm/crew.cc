#include "comm/crew.h"

#include <sched.h>

#include <algorithm>
#include <map>

#include "base/clock.h"
#include "base/log.h"
#include "gpu/device.h"
#include "gpu/shared_memory.h"

namespace rondo {
namespace {

using Seat = Crew::Seat;
using Seats = std::span<const Seat>;

/// How long a call that has failed is given to let go of its buffers.
constexpr int64_t kMostAbandon_ms = 5000;

/// Streams of the same handle on different devices are different: the default ones.
bool same_stream(const Seat& a, const Seat& b) { return a.device == b.device && a.stream == b.stream; }

Status check_calls(Seats seats) {
  for (const Seat& seat : seats)
    if (!(seat.signature == seats[0].signature))
      return mismatch(seats[0].rank, seats[0].signature, seat.rank, seat.signature);
  return {};
}

/// What is issued for all seats is in one graph, with all that it waits for, or in none.
Status check_captures(Seats seats) {
  uint64_t first = 0;
  for (const Seat& seat : seats) {
    const gpu::Current current(seat.device);
    RONDO_TRY(current.status());
    RONDO_TRY_ASSIGN(const uint64_t capture, gpu::capture_of(seat.stream));
    if (&seat == seats.data()) first = capture;
    if (capture == first) continue;
    return error(
        Code::InvalidUsage,
        "the streams of ranks {} and {} are not captured into the same graph; ranks of one process have "
        "to be in one graph, or all of them in none",
        seats[0].rank, seat.rank);
  }
  return {};
}

Status record(const Seat& seat) {
  const gpu::Current current(seat.device);
  RONDO_TRY(current.status());
  return seat.event->record(seat.stream);
}

/// What comes to `later`'s stream waits for the event of `earlier`.
Status order(const Seat& earlier, const Seat& later) {
  if (same_stream(earlier, later)) return {};
  const gpu::Current current(later.device);
  RONDO_TRY(current.status());
  return earlier.event->hold(later.stream);
}

Status order(Seats earlier, Seats later) {
  for (const Seat& seat : earlier) RONDO_TRY(record(seat));
  for (const Seat& waiting : later)
    for (const Seat& seat : earlier) RONDO_TRY(order(seat, waiting));
  return {};
}

std::vector<Seat> leaders_of(Seats seats) {
  std::vector<Seat> leaders;
  for (const Seat& seat : seats)
    if (std::none_of(leaders.begin(), leaders.end(),
                     [&](const Seat& one) { return one.device == seat.device; }))
      leaders.push_back(seat);
  return leaders;
}

}  // namespace

Status check_seats(Seats seats) {
  RONDO_TRY(check_calls(seats));
  return check_captures(seats);
}

Status issue_in_order(Seats seats, const std::function<Status(Seats leaders)>& body) {
  const std::vector<Seat> leaders = leaders_of(seats);
  RONDO_TRY(order(seats, leaders));
  RONDO_TRY(body(leaders));
  return order(leaders, seats);
}

std::shared_ptr<Crew> Crew::of(uint64_t session, uint64_t communicator, size_t size) {
  struct Known {
    std::mutex mutex;
    std::map<std::pair<uint64_t, uint64_t>, std::weak_ptr<Crew>> crews;
  };
  static auto& known = *new Known;
  const std::lock_guard lock(known.mutex);
  std::erase_if(known.crews, [](const auto& entry) { return entry.second.expired(); });
  auto& found = known.crews[{session, communicator}];
  auto crew = found.lock();
  if (crew == nullptr) found = crew = std::shared_ptr<Crew>(new Crew(size));
  return crew;
}

std::shared_ptr<Crew::Meeting> Crew::arrive(size_t place, const Seat& seat, Issue issue) {
  std::shared_ptr<Meeting> meeting;
  {
    const std::lock_guard lock(mutex_);
    if (gathering_ == nullptr) {
      gathering_ = std::make_shared<Meeting>();
      gathering_->seats.resize(size_);
    }
    meeting = gathering_;
    meeting->seats[place] = seat;
    if (++meeting->arrived < size_) return meeting;
    meeting->closed = true;
    gathering_.reset();
  }
  meeting->outcome = check_seats(meeting->seats);
  if (meeting->outcome.ok()) meeting->outcome = issue(meeting->seats);
  meeting->over.store(true, std::memory_order_release);  // pairs with CrewRun::advance()
  return meeting;
}

bool Crew::leave(size_t place, Meeting& meeting) {
  const std::lock_guard lock(mutex_);
  if (meeting.closed) return false;
  meeting.seats[place].call = nullptr;
  --meeting.arrived;
  return true;
}

size_t Crew::missing(const Meeting& meeting) {
  const std::lock_guard lock(mutex_);
  const auto found = std::find_if(meeting.seats.begin(), meeting.seats.end(),
                                  [](const Seat& seat) { return seat.call == nullptr; });
  return static_cast<size_t>(found - meeting.seats.begin());
}

CrewRun::CrewRun(std::shared_ptr<Crew> crew, std::vector<int> ranks, int rank, int device, Crew::Issue issue)
    : crew_(std::move(crew)),
      ranks_(std::move(ranks)),
      place_(static_cast<size_t>(std::find(ranks_.begin(), ranks_.end(), rank) - ranks_.begin())),
      issue_(issue) {
  seat_.rank = rank;
  seat_.device = device;
}

Status CrewRun::begin(const Call& call, const Signature& signature, const void* payload) {
  meeting_.reset();
  failure_ = Status();
  marked_ = false;
  waits_ = !call.place.on_stream;
  if (!has_event_) {
    const gpu::OutsideCapture outside;
    RONDO_TRY_ASSIGN(event_, gpu::Event::create(seat_.device));
    has_event_ = true;
  }
  seat_.call = &call;
  seat_.signature = signature;
  seat_.stream = call.place.stream;
  seat_.event = &event_;
  seat_.payload = payload;
  return {};
}

Progress CrewRun::fail(const Status& cause) {
  failure_ = cause;
  return Progress::Failed;
}

Progress CrewRun::advance() {
  const bool arrives = meeting_ == nullptr;
  if (arrives) meeting_ = crew_->arrive(place_, seat_, issue_);
  if (!meeting_->over.load(std::memory_order_acquire)) return arrives ? Progress::Moved : Progress::Stuck;
  if (!meeting_->outcome.ok()) return fail(meeting_->outcome);
  if (!marked_ && (waits_ || seat_.payload != nullptr)) {
    if (const Status recorded = record(seat_); !recorded.ok()) return fail(recorded);
    marked_ = true;
  }
  if (!waits_) return Progress::Done;
  const auto complete = event_.complete();
  if (!complete.ok()) return fail(complete.status());
  return complete.value() ? Progress::Done : Progress::Stuck;
}

bool CrewRun::drained() const {
  if (!marked_) return true;
  const auto complete = event_.complete();
  return !complete.ok() || complete.value();  // an error: it was captured into a graph, or the GPU is lost
}

int CrewRun::blocked_on() const {
  if (meeting_ == nullptr) return -1;
  const size_t place = crew_->missing(*meeting_);
  return place < ranks_.size() ? ranks_[place] : -1;
}

/// Once it is issued, the GPU uses the caller's buffers to the end, which whoever watches the call brings
/// about.
void CrewRun::abandon() {
  if (meeting_ == nullptr || crew_->leave(place_, *meeting_)) return;
  while (!meeting_->over.load(std::memory_order_acquire)) sched_yield();
  if (!waits_ || !meeting_->outcome.ok()) return;
  if (!marked_) marked_ = record(seat_).ok();
  const Deadline deadline = Deadline::in_ms(kMostAbandon_ms);
  while (!drained() && !deadline.passed()) sched_yield();
  if (!drained())
    log().warn("rank {}: GPU {} may still use the buffers of {}, which has failed", seat_.rank, seat_.device,
               describe(seat_.signature));
}

}  // namespace rondo
