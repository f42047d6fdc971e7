// SPDX-License-Identifier: Apache-2.0
#include "diagnosis/desync_report.h"

#include <algorithm>

#include "base/clock.h"
#include "base/error_kinds.h"
#include "bootstrap/place_query.h"
#include "bootstrap/state_query.h"

namespace rondo {
namespace {

using ChainEnd = DesyncReport::ChainEnd;

/// Max ranks named in a message.
constexpr size_t kMaxNamed = 8;
/// The maximum time of a diagnosis, however many ranks do not answer.
constexpr int64_t kDiagnosis_ms = 2000;
/// How long after the latest bytes ranks are not said to wait for one another.
constexpr uint32_t kMoves_ms = 5000;

Status reason_to_stop(const Membership& membership, const Interrupt& interrupt) {
  if (interrupt) RONDO_TRY(interrupt());
  return membership.cause();
}

Result<PeerStates> ask(const Membership& membership, int rank, const Interrupt& interrupt = {}) {
  return inquire(*membership.session(), membership.session_rank(rank), membership.id(),
                 Deadline::in_ms(kAnswer_ms), [&] { return reason_to_stop(membership, interrupt); });
}

/// Of a rank that does not answer.
std::string silence_text(const Membership& membership, int rank) {
  const std::string trouble = trouble_of_process(*membership.session(), membership.session_rank(rank));
  return membership.rank_text(rank) + " did not answer" + (trouble.empty() ? "" : ": its process " + trouble);
}

/// Describes a waiting rank's state.
std::string wait_text(const PeerState& does) {
  if (does.finished != 0) return "waits in rondo_finalize()";
  if (does.inside == 0) return "waits in " + describe(does.messages);
  return "is in " + describe(does.last()) + (does.messages.none() ? "" : " and " + describe(does.messages));
}

/// How a rank has ended its calls.
const char* ending_text(const PeerState& does) {
  return does.quiesced != 0 ? "called rondo_quiesce()" : "called rondo_finalize()";
}

/// `sequence`: of the call that waits for the rank; 0: the wait is for a message.
std::string activity_text(const PeerState& does, uint32_t sequence) {
  if (does.left != 0) return "has called rondo_leave()";
  if (does.known == 0) return "has no such communicator any more";
  if (does.waits()) return wait_text(does) + describe_unexpected(does.messages);
  if (does.finished != 0) return fmt::format("has {}", ending_text(does));
  // Sends and receives that are over are not counted.
  if (does.latest == 0) return sequence == 0 ? "is in no call on it" : "has made no call on it yet";
  const char* has = sequence == 0             ? "is in no call; its last was"
                    : does.latest < sequence  ? "has not reached this call; its last was"
                    : does.last().on_gpu != 0 ? "has put on a stream"
                                              : "is done with";
  return fmt::format("{} {}", has, describe(does.last()));
}

/// Of what activity_text() says.
ErrorKind kind_of(const PeerState& does, uint32_t sequence) {
  if (does.left != 0 || does.known == 0) return ErrorKind::RankHasLeft;
  if (does.waits()) return {};
  if (does.finished != 0) return ErrorKind::RankHasLeft;
  return sequence == 0 || does.latest < sequence ? ErrorKind::RankIsLate : ErrorKind{};
}

/// Message lengths of the _v forms may differ between ranks; everything else must be the same.
bool same_call(Signature a, Signature b) {
  if (a.varying != 0 && b.varying != 0) a.count = b.count = 0;
  return a == b;
}

Status first_difference(const Membership& membership, int rank, const PeerState& theirs) {
  const FlightRecorder& ours = membership.recorder();
  const uint32_t last = std::min(ours.latest(), theirs.latest);
  for (uint32_t sequence = last - std::min(last, PeerState::kCalls); sequence <= last; ++sequence) {
    const auto own = ours.call(sequence);
    const auto other = theirs.call(sequence);
    if (own && other && !same_call(*own, *other)) return mismatch(membership.rank(), *own, rank, *other);
  }
  return {};
}

/// Follows the chain of waiting ranks, starting at this one.
class Pursuit {
 public:
  Pursuit(const Membership& membership, const PendingWait& wait, const Interrupt& interrupt)
      : membership_(membership), wait_(wait), interrupt_(interrupt) {
    const FlightRecorder& recorder = membership.recorder();
    PeerState own = PeerState::of(recorder, -1);
    own.inside = wait.messages ? 0 : 1;  // a call on a stream has returned, but still waits
    own.messages = wait.messages.value_or(PendingMessages());
    sequence_ = wait.messages ? 0 : own.latest;
    links_.push_back({membership.rank(), own});
  }

  /// Mismatch if the rank has finished and, with that, ended a send to this one, which waits for a message.
  Status ended_send(int rank, const PeerState& does) const {
    PendingMessages ended;
    if (wait_.messages && does.finished != 0) ended.sends = does.messages.sends.with(membership_.rank());
    if (ended.none()) return {};
    return finished(rank, does, fmt::format("before its {} was complete", describe(ended)));
  }

  bool is_over() const { return deadline_.passed() || (interrupt_ && !interrupt_().ok()); }

  DesyncReport follow(int first) {
    DesyncReport found;
    links_.resize(1);
    for (int rank = first; rank >= 0 && rank < membership_.size();) {
      if (const auto known = find(rank); known != links_.end()) {
        judge_circle({known, links_.end()}, found);
        return found;
      }
      if (is_over()) {
        found.end = ChainEnd::Waits;
        return found;
      }
      const Result<PeerStates> answer = ask(membership_, rank, interrupt_);
      if (!answer.ok()) return without_answer(rank, answer.status());
      found.mismatch = disagreement(rank, answer.value().here);
      if (!found.mismatch.ok()) return found;
      if (is_lost(answer.value().here)) return without(rank);
      rank = take(rank, answer.value(), found);
    }
    return found;
  }

 private:
  struct WaitLink {
    int rank;
    PeerState does;
  };
  using WaitLinks = std::vector<WaitLink>;

  const PeerState& own() const { return links_.front().does; }
  std::string own_text() const { return wait_.messages ? describe(*wait_.messages) : describe(own().last()); }
  WaitLinks::iterator find(int rank) {
    return std::find_if(links_.begin(), links_.end(),
                        [&](const WaitLink& link) { return link.rank == rank; });
  }

  DesyncReport without_answer(int rank, const Status& why) const {
    DesyncReport found;
    found.end = ChainEnd::Silent;
    if (why.code() == Code::RemoteError && is_lost(rank))
      found.departed = error(ErrorKind::RankHasLeft, "{} has left, and rank {} waits for it",
                             membership_.rank_text(rank), membership_.rank());
    const bool is_silent = why.code() == Code::Timeout;
    found.cause = is_silent ? silence_text(membership_, rank) : why.message();
    found.kind = is_silent ? ErrorKind::RankIsSilent : why.kind();
    return found;
  }

  /// True if the rank has left the communicator and took no part in what this rank waits for.
  bool is_lost(const PeerState& does) const {
    return does.left != 0 && (sequence_ == 0 || does.latest < sequence_);
  }

  /// The same of a rank that does not answer any more. One that this rank was known to wait for cannot have
  /// taken part.
  bool is_lost(int rank) const {
    if (wait_.messages || (wait_.rank >= 0 && !wait_.guessed)) return true;
    const auto last = membership_.session()->last_call(membership_.session_rank(rank), membership_.id());
    return last && *last < sequence_;
  }

  DesyncReport without(int rank) const {
    DesyncReport found;
    found.cause = membership_.rank_text(rank) + " has called rondo_leave()";
    found.kind = ErrorKind::RankHasLeft;
    found.departed =
        error(ErrorKind::RankHasLeft, "{}, and rank {} waits for it", found.cause, membership_.rank());
    return found;
  }

  /// Records what the rank is doing; returns the rank that it waits for, or -1.
  int take(int rank, const PeerStates& answer, DesyncReport& found) {
    const PeerState& does = answer.here;
    found.cause = fmt::format("{} {}", membership_.rank_text(rank), activity_text(does, sequence_));
    found.kind = kind_of(does, sequence_);
    if (!does.waits()) note_other(rank, answer, found);
    found.late = does.waits() || answer.other != 0 ? -1 : rank;
    // A rank that is still in an earlier call waits for another rank too.
    const bool follows = does.waits() && (does.inside == 0 || sequence_ == 0 || does.latest <= sequence_);
    found.end = follows                   ? ChainEnd::Waits
                : does.known == 0         ? ChainEnd::Gone
                : does.latest < sequence_ ? ChainEnd::Late
                                          : ChainEnd::Done;
    links_.push_back({rank, does});
    return follows ? does.waits_for() : -1;
  }

  /// Whether this rank was in a call on another communicator while nothing moved here, if that has lasted as
  /// long as calls may: then a thread other than the one that waits makes calls there, and may make the next.
  bool has_called_meanwhile(const FlightRecorder& other) const {
    const uint32_t latest = other.latest();
    if (latest == 0) return false;
    const auto call = other.record(latest);  // none: it is just beginning
    return !call || call->ended_ns == 0 || (now_ns() - call->ended_ns) / 1'000'000 < membership_.timeout_ms();
  }

  /// Adds to the report if the rank waits on another communicator.
  void note_other(int rank, const PeerStates& answer, DesyncReport& found) const {
    if (answer.other == 0) return;
    const auto recorder = membership_.session()->recorder_of(answer.other);
    const std::string title = recorder ? recorder->title() : "another communicator";
    found.cause += fmt::format(", and it {} of {}", wait_text(answer.there), title);
    if (recorder == nullptr || answer.there.inside == 0 || recorder->latest() >= answer.there.latest) return;
    if (has_called_meanwhile(*recorder)) return;
    found.elsewhere =
        error(ErrorKind::CommunicatorsDiffer,
              "ranks disagree: rank {} called {} of {}; rank {} called {} of {}", membership_.rank(),
              own_text(), membership_.recorder().title(), rank, describe(answer.there.last()), title);
  }

  Status disagreement(int rank, const PeerState& does) const {
    RONDO_TRY(first_difference(membership_, rank, does));
    const bool never = wait_.messages ? can_never_match(rank, does) : does.latest < sequence_;
    if (does.finished == 0 || !never) return {};
    const Status ended = ended_send(rank, does);
    return ended.ok() ? finished(rank, does, "instead") : ended;
  }

  Status finished(int rank, const PeerState& does, const std::string& when) const {
    return error(ErrorKind::FinalizedInstead, "ranks disagree: rank {} called {}; rank {} {} {}{}",
                 membership_.rank(), own_text(), rank, ending_text(does), when,
                 describe_unexpected(own().messages));
  }

  /// True if a rank that has finished cannot match this rank's messages. Messages it has sent may still be on
  /// their way.
  bool can_never_match(int rank, const PeerState& does) const {
    if (own().messages.sends.names(rank)) return true;
    return own().messages.receives.names(rank) && wait_.received[static_cast<size_t>(rank)] == does.sent;
  }

  /// Ranks in a collective wait for several ranks and name one, so a cycle of collectives alone proves
  /// nothing.
  void judge_circle(const WaitLinks& circle, DesyncReport& found) const {
    const auto waits_for_message = [](const WaitLink& link) { return link.does.inside == 0; };
    if (std::none_of(circle.begin(), circle.end(), waits_for_message)) return;
    const bool has_way_out = takes_any_of_several() && circle.front().rank == membership_.rank();
    const std::string goes_on = reason_to_go_on(circle);
    const bool is_proved = goes_on.empty() && !has_way_out;
    found.end = is_proved ? ChainEnd::Circle : ChainEnd::Waits;
    std::string waits;
    std::string unexpected;
    for (size_t i = 0; i < circle.size() && i < kMaxNamed; ++i) {
      const PeerState& does = circle[i].does;
      waits += fmt::format("{}rank {} {}", i == 0 ? "" : ", ", circle[i].rank, wait_text(does));
      unexpected += describe_unexpected(does.messages);
    }
    if (circle.size() > kMaxNamed) waits += ", and so on";
    if (is_proved)
      waits +=
          circle.size() == 1 ? ", and has not sent itself such a message" : ": they wait for one another";
    found.cause = waits + goes_on + unexpected;
    found.kind = is_proved ? ErrorKind::WaitCircle : ErrorKind{};
  }

  bool takes_any_of_several() const { return wait_.messages && wait_.rank < 0 && membership_.size() > 2; }

  /// Why ranks that name each other may still go on; empty: they cannot.
  static std::string reason_to_go_on(const WaitLinks& circle) {
    for (size_t i = 0; i < circle.size(); ++i) {
      const auto& [rank, does] = circle[i];
      if (does.moved_ms <= kMoves_ms)
        return fmt::format("; bytes that rank {} waits for came or left {:.1f} s ago", rank,
                           static_cast<double>(does.moved_ms) / 1000);
      const WaitLink& awaited = circle[(i + 1) % circle.size()];
      if (does.inside == 0 && awaited.does.finished == 0 &&
          does.messages.is_first_met_by(rank, awaited.does.messages))
        return fmt::format("; both ranks {} and {} have begun that message", rank, awaited.rank);
    }
    return {};
  }

  const Membership& membership_;
  const PendingWait& wait_;
  const Interrupt& interrupt_;
  Deadline deadline_ = Deadline::in_ms(kDiagnosis_ms);
  uint32_t sequence_;  // of the waiting call; 0: the wait is for a message
  WaitLinks links_;    // this rank, the one that it waits for, and so on
};

bool is_conclusive(const DesyncReport& report) {
  return !report.mismatch.ok() || !report.departed.ok() || report.end >= ChainEnd::Late;
}

/// Asks every rank, and returns the report that explains most, `found` among them.
DesyncReport ask_all(const Membership& membership, Pursuit& pursuit, DesyncReport found = {}) {
  for (int rank = 0; rank < membership.size() && !pursuit.is_over(); ++rank) {
    if (rank == membership.rank()) continue;
    DesyncReport one = pursuit.follow(rank);
    if (is_conclusive(one)) return one;
    if (one.end > found.end) found = std::move(one);
  }
  return found;
}

/// For a receive from any source: any rank may send the message, so no single rank is to blame.
DesyncReport ask_for_any_source(const Membership& membership, Pursuit& pursuit) {
  DesyncReport found;
  std::vector<std::string> causes;
  size_t left = 0;
  for (int rank = 0; rank < membership.size() && !pursuit.is_over(); ++rank) {
    if (rank == membership.rank()) continue;
    DesyncReport one = pursuit.follow(rank);
    if (!one.departed.ok()) ++left;
    if (std::find(causes.begin(), causes.end(), one.cause) == causes.end()) causes.push_back(one.cause);
    found = std::move(one);
  }
  if (left + 1 < static_cast<size_t>(membership.size())) found.departed = {};
  found.mismatch = found.elsewhere = {};
  found.late = -1;
  if (causes.size() > 1) found.kind = {};
  found.cause.clear();
  for (size_t i = 0; i < causes.size() && i < kMaxNamed; ++i) found.cause += (i == 0 ? "" : "; ") + causes[i];
  return found;
}

}  // namespace

DesyncReport diagnose(const Membership& membership, const PendingWait& wait, const Interrupt& interrupt) {
  Pursuit pursuit(membership, wait, interrupt);
  if (wait.messages && wait.rank < 0) return ask_for_any_source(membership, pursuit);
  if (wait.rank < 0) return ask_all(membership, pursuit);
  DesyncReport found = pursuit.follow(wait.rank);
  if (wait.messages || found.end == ChainEnd::Silent || is_conclusive(found)) return found;
  return ask_all(membership, pursuit, std::move(found));
}

std::string where_text(const Membership& membership, int rank, const Deadline& deadline,
                       const Interrupt& interrupt) {
  const std::string place =
      inquire_place(*membership.session(), membership.session_rank(rank), membership.id(), deadline,
                    [&] { return reason_to_stop(membership, interrupt); });
  return place.empty() ? place : "; its program " + place;
}

DesyncReport last_diagnosis(const Membership& membership, const PendingWait& wait,
                            const Interrupt& interrupt) {
  const Deadline deadline = Deadline::in_ms(kDiagnosis_ms);
  DesyncReport found = diagnose(membership, wait, interrupt);
  const auto left_ms = std::min<int64_t>(deadline.left_ms(), kAnswer_ms);
  if (found.late >= 0 && found.mismatch.ok() && found.departed.ok() && found.elsewhere.ok())
    found.cause += where_text(membership, found.late, Deadline::in_ms(left_ms), interrupt);
  return found;
}

Status first_disagreement(const Membership& membership, int rank) {
  if (rank < 0 || rank == membership.rank()) return {};
  const auto answer = ask(membership, rank);
  return answer.ok() ? first_difference(membership, rank, answer.value().here) : Status();
}

Status ended_send(const Membership& membership, const PendingWait& wait) {
  if (!wait.messages || wait.rank < 0 || !wait.messages->receives.names(wait.rank)) return {};
  const auto answer = ask(membership, wait.rank);
  const Interrupt none;
  return answer.ok() ? Pursuit(membership, wait, none).ended_send(wait.rank, answer.value().here) : Status();
}

Status behind_silent_rank(const Membership& membership, const Status& cause, const Interrupt& interrupt) {
  const Deadline deadline = Deadline::in_ms(kDiagnosis_ms);
  const auto goes_on = [&] { return !deadline.passed() && reason_to_stop(membership, interrupt).ok(); };
  for (int rank = 0; rank < membership.size() && goes_on(); ++rank)
    if (rank != membership.rank() && ask(membership, rank, interrupt).status().code() == Code::Timeout)
      return error(ErrorKind::RankIsSilent, "{}; {}", silence_text(membership, rank), cause.message())
          .as(cause.code());
  return cause;
}

Status overdue(const Membership& membership, const std::string& what, const DesyncReport& diagnosis) {
  return error(ErrorKind::CallOverdue, "{} did not complete within {} s at rank {}: {}", what,
               static_cast<double>(membership.timeout_ms()) / 1000, membership.rank(),
               diagnosis.cause.empty() ? "no rank is known to be late" : diagnosis.cause)
      .because(diagnosis.kind);
}

}  // namespace rondo
