#include "comm/diagnosis.h"

#include <set>

#include "comm/inquiry.h"

namespace rondo {
namespace {

/// A live rank's service thread answers in microseconds; a stopped process never does.
constexpr int64_t kAnswer_ms = 500;

/// `sequence`: of the call that waits for the rank.
std::string activity_text(const Communicator& communicator, int rank, const Activity& activity,
                          uint32_t sequence) {
  const std::string who = communicator.rank_text(rank);
  if (activity.known == 0) return who + " has no such communicator any more";
  if (activity.latest == 0) return who + " has made no call on it yet";
  const char* does = activity.inside != 0          ? "is in"
                     : activity.latest >= sequence ? "has put on a stream"
                                                   : "has not come to this call; its last was";
  return fmt::format("{} {} {}", who, does, describe(activity.last));
}

/// Lengths of messages in _v forms differ by pair; everything else must be the same.
bool same_call(Signature a, Signature b) {
  if (a.varying != 0 && b.varying != 0) a.count = b.count = 0;
  return a == b;
}

/// Follows who waits for whom, from a rank on.
Diagnosis follow_from(Communicator& communicator, int blocked_on) {
  Diagnosis diagnosis;
  const Signature own = communicator.board().call(communicator.board().latest()).value_or(Signature());
  std::set<int> asked{communicator.rank()};
  for (int rank = blocked_on; rank >= 0 && asked.insert(rank).second;) {
    auto activity =
        inquire(*communicator.session(), communicator.session_rank(rank), communicator.id(), own.sequence,
                Deadline::in_ms(kAnswer_ms), [&] { return communicator.health().cause(); });
    diagnosis.open = false;
    if (!activity.ok()) {
      if (activity.status().code() == Code::RemoteError)
        diagnosis.departed = error(Code::RemoteError, "{} has left, and rank {} waits for it",
                                   communicator.rank_text(rank), communicator.rank());
      diagnosis.cause = activity.status().code() == Code::Timeout
                            ? communicator.rank_text(rank) + " did not answer"
                            : activity.status().message();
      return diagnosis;
    }
    const Activity& does = activity.value();
    if (own.sequence != 0 && does.has_asked != 0 && !same_call(does.asked, own)) {
      diagnosis.mismatch = mismatch(communicator.rank(), own, rank, does.asked);
      return diagnosis;
    }
    if (communicator.board().inside() && does.finished != 0 && does.latest < own.sequence) {
      diagnosis.mismatch =
          error(Code::Mismatch, "ranks disagree: rank {} called {}; rank {} called rondo_finalize() instead",
                communicator.rank(), describe(own), rank);
      return diagnosis;
    }
    diagnosis.cause = activity_text(communicator, rank, does, own.sequence);
    diagnosis.late = does.latest < own.sequence;
    // Who is still in an earlier call waits for somebody as well.
    const bool follow = does.known != 0 && does.inside != 0 && does.latest <= own.sequence;
    diagnosis.open = follow;
    rank = follow ? does.waiting_for : -1;
  }
  return diagnosis;
}

/// The best that any rank knows.
Diagnosis ask_all(Communicator& communicator) {
  Diagnosis found;
  for (int rank = 0; rank < communicator.size(); ++rank) {
    if (rank == communicator.rank()) continue;
    Diagnosis one = follow_from(communicator, rank);
    if (!one.mismatch.ok() || !one.departed.ok() || (one.late && !one.open)) return one;
    if (found.cause.empty() || (found.open && !one.open)) found = std::move(one);
  }
  return found;
}

}  // namespace

Diagnosis diagnose(Communicator& communicator, int blocked_on) {
  if (blocked_on < 0) return ask_all(communicator);
  Diagnosis found = follow_from(communicator, blocked_on);
  return found.open ? ask_all(communicator) : found;
}

Status overdue(Communicator& communicator, const std::string& what, const Diagnosis& diagnosis) {
  return error(Code::Timeout, "{} did not complete within {} s at rank {}: {}", what,
               static_cast<double>(communicator.timeout_ms()) / 1000, communicator.rank(),
               diagnosis.cause.empty() ? "no rank is known to be late" : diagnosis.cause);
}

}  // namespace rondo
