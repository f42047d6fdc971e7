#include "comm/part.h"

#include <time.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/clock.h"

namespace rondo {
namespace {

/// How long the control tree may take to bring the news of a failure that shows as a broken connection first.
constexpr int64_t kNewsMayTake_ms = 5000;
/// A rank closes the connections of a call that failed a moment before it tells why.
constexpr int64_t kTellingMayTake_ms = 300;

}  // namespace

Part::Part(Communicator& communicator, std::span<const Item> items, MessageStreams& streams)
    : communicator_(communicator), items_(items), streams_(streams) {
  for (const Item& item : items_)
    if (item.communicator == &communicator_)
      std::visit([&](const auto& what) { add(what, item.place); }, item.what);
}

template <typename Request>
void Part::add(const std::shared_ptr<Request>& request, const CallPlace& place) {
  if (place.on_gpu) {
    if (!gpu_messages_)
      gpu_messages_.emplace(communicator_.gpu_calls().messages(), communicator_.messages().mutex(), streams_);
    return gpu_messages_->add(request, place.stream, !place.on_stream);
  }
  if (!messages_) messages_.emplace(communicator_.messages());
  messages_->add(request);
}

Progress Part::advance() {
  if (communicator_.health().failed()) return fail(communicator_.health().cause());
  Progress calls = advance_calls();
  if (over_) return Progress::Failed;
  const Progress messages = messages_ ? messages_->advance() : Progress::Done;
  if (messages == Progress::Failed) return fail(messages_->status());
  const Progress on_gpu = gpu_messages_ ? gpu_messages_->advance() : Progress::Done;
  if (on_gpu == Progress::Failed) return fail(gpu_messages_->status());
  const std::array all{calls, messages, on_gpu};
  const auto how_many = [&](Progress one) { return std::count(all.begin(), all.end(), one); };
  if (how_many(Progress::Done) == std::ssize(all)) {
    // A failure lets messages of a GPU go, and then they look done.
    if (gpu_messages_ && communicator_.health().failed()) return fail(communicator_.health().cause());
    hide_messages();
    over_ = true;
    return Progress::Done;
  }
  const bool moved = how_many(Progress::Moved) != 0;
  if (moved) next_diagnosis_ns_ = kFirstDiagnosis_ns;
  return moved ? Progress::Moved : Progress::Stuck;
}

/// The next call of this communicator; null where there is none left.
const Call* Part::next_call() {
  for (; next_ != items_.size(); ++next_)
    if (const Call* call = std::get_if<Call>(&items_[next_].what);
        call && items_[next_].communicator == &communicator_)
      return call;
  return nullptr;
}

void Part::take_up(const Result<Task*>& prepared) {
  deadline_.reset();
  if (prepared.ok())
    call_ = prepared.value();
  else if (prepared.status().code() == Code::Unsupported)  // at every rank alike, before anything was sent
    refuse(prepared.status());
  else
    fail(prepared.status());
}

Progress Part::advance_calls() {
  while (const Call* next = next_call()) {
    if (call_ == nullptr) take_up(communicator_.prepare(*next));
    if (over_) return Progress::Failed;
    if (call_ == nullptr) continue;
    const Progress progress = call_->advance();
    if (progress == Progress::Failed && call_->refused()) {
      communicator_.board().end();
      refuse(call_->status());
      continue;
    }
    if (progress == Progress::Failed) return fail(where_ranks_disagree(call_->status()));
    if (progress != Progress::Done) return progress;
    communicator_.board().end();
    call_ = nullptr;
    ++next_;
  }
  return Progress::Done;
}

/// The call at hand is not made; those after it are.
void Part::refuse(const Status& why) {
  if (status_.ok()) status_ = communicator_.board().named(why);
  call_ = nullptr;
  ++next_;
}

/// Messages of calls with other numbers can meet, where those before did not: ranks disagree about one of
/// these.
Status Part::where_ranks_disagree(const Status& cause) const {
  if (cause.code() != Code::Mismatch) return cause;
  const Status first = first_disagreement(communicator_, call_->blocked_on());
  return first.ok() ? cause : first;
}

/// A connection breaks because its other end died, or heard of a failure before this rank: the news names who
/// was first.
Status Part::first_cause(const Status& cause) {
  const Health& health = communicator_.health();
  if (cause.code() != Code::RemoteError || health.failed()) return communicator_.fail(cause);
  const Deadline told = Deadline::in_ms(kTellingMayTake_ms);
  communicator_.session()->await_news(kNewsMayTake_ms, health);
  while (!health.failed() && !told.passed()) {
    const timespec nap{0, 1'000'000};
    ::nanosleep(&nap, nullptr);
  }
  return communicator_.fail(cause);
}

Progress Part::fail(const Status& cause) {
  status_ = first_cause(cause);
  abandon();
  // The board keeps the call: peers that ask why it lasts still hear whom this rank waited for.
  over_ = true;
  return Progress::Failed;
}

void Part::abandon() {
  if (call_) call_->abandon();
  if (messages_) messages_->abandon();
  if (gpu_messages_) gpu_messages_->abandon();
}

int Part::blocked_on() const {
  int rank = call_ ? call_->blocked_on() : -1;
  if (rank < 0 && messages_) rank = messages_->blocked_on();
  if (rank < 0 && gpu_messages_) rank = gpu_messages_->blocked_on();
  return rank;
}

/// The first wait target that is known.
Awaited Part::awaited() {
  if (over_) return {};
  const Awaited awaited = call_ ? call_->awaited() : Awaited();
  return is_known(awaited) || !messages_ ? awaited : messages_->awaited();
}

Wait Part::wait() const {
  if (call_) return {.rank = blocked_on(), .messages = {}};
  return {.rank = blocked_on(), .messages = messages_ ? messages_->pending() : PendingMessages()};
}

void Part::show_messages() {
  communicator_.board().show(messages_->pending());
  has_shown_ = true;
}

void Part::hide_messages() {
  if (std::exchange(has_shown_, false)) communicator_.board().show({});
}

void Part::look(int64_t waited_ns, bool waits) {
  if (over_) return;
  if (is_disowned()) {
    fail(refuse_disowned());
    return;
  }
  if (!deadline_) deadline_ = Deadline::in_ms(communicator_.timeout_ms());
  if (call_) communicator_.board().wait_for(blocked_on());
  if (messages_ && waits) show_messages();
  // Each is asked once: what comes in between can change the answer.
  Status broken = call_ ? call_->connection_status() : Status();
  if (broken.ok() && messages_) broken = messages_->connection_status();
  if (!broken.ok()) {
    fail(broken);
  } else if (deadline_->passed()) {
    give_up();
  } else if (waited_ns >= next_diagnosis_ns_) {
    next_diagnosis_ns_ *= 2;
    const Diagnosis diagnosis = diagnose(communicator_, wait());
    if (!diagnosis.mismatch.ok())
      fail(diagnosis.mismatch);
    else if (!diagnosis.departed.ok())
      fail(diagnosis.departed);
  }
}

void Part::give_up() {
  const Board& board = communicator_.board();
  const Wait lasts = wait();
  const Diagnosis diagnosis = diagnose(communicator_, lasts);
  if (!diagnosis.mismatch.ok()) {
    fail(diagnosis.mismatch);
  } else if (!diagnosis.elsewhere.ok()) {
    fail(diagnosis.elsewhere);
  } else {
    fail(overdue(communicator_,
                 lasts.messages ? describe(*lasts.messages)
                                : describe(board.call(board.latest()).value_or(Signature())),
                 diagnosis));
  }
}

}  // namespace rondo
