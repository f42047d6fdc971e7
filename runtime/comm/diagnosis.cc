#include "comm/diagnosis.h"

#include <algorithm>

#include "comm/inquiry.h"

namespace rondo {
namespace {

/// How many ranks a sentence names.
constexpr size_t kMaxNamed = 8;
/// How long it takes at most to find out, however many do not answer: nothing else is done meanwhile.
constexpr int64_t kDiagnosis_ms = 2000;

Result<Activities> ask(Communicator& communicator, int rank) {
  return inquire(*communicator.session(), communicator.session_rank(rank), communicator.id(),
                 Deadline::in_ms(kAnswer_ms), [&] { return communicator.health().cause(); });
}

/// What a rank that waits does.
std::string wait_text(const Activity& does) {
  if (does.finished != 0) return "waits in rondo_finalize()";
  if (does.inside == 0) return "waits in " + describe(does.messages);
  return "is in " + describe(does.last()) + (does.messages.none() ? "" : " and " + describe(does.messages));
}

/// `sequence`: of the call that waits for the rank; 0: a message does.
std::string activity_text(const Activity& does, uint32_t sequence) {
  if (does.known == 0) return "has no such communicator any more";
  if (does.waits()) return wait_text(does) + describe_unasked(does.messages);
  if (does.finished != 0) return "has called rondo_finalize()";
  if (does.latest == 0) return "has made no call on it yet";
  const char* has = sequence == 0             ? "is in no call; its last was"
                    : does.latest < sequence  ? "has not come to this call; its last was"
                    : does.last().on_gpu != 0 ? "has put on a stream"
                                              : "is done with";
  return fmt::format("{} {}", has, describe(does.last()));
}

/// Lengths of messages in _v forms differ by pair; everything else must be the same.
bool same_call(Signature a, Signature b) {
  if (a.varying != 0 && b.varying != 0) a.count = b.count = 0;
  return a == b;
}

Status first_difference(Communicator& communicator, int rank, const Activity& theirs) {
  const Board& ours = communicator.board();
  const uint32_t last = std::min(ours.latest(), theirs.latest);
  for (uint32_t sequence = last - std::min(last, Board::kRemembered); sequence <= last; ++sequence) {
    const auto own = ours.call(sequence);
    const auto other = theirs.call(sequence);
    if (own && other && !same_call(*own, *other)) return mismatch(communicator.rank(), *own, rank, *other);
  }
  return {};
}

/// Follows who waits for whom, from this rank on.
class Pursuit {
 public:
  Pursuit(Communicator& communicator, const Wait& wait) : communicator_(communicator), wait_(wait) {
    const Board& board = communicator.board();
    Activity own = Activity::of(board, -1);
    if (wait.messages) own.inside = 0;
    own.messages = wait.messages.value_or(PendingMessages());
    sequence_ = wait.messages ? 0 : own.latest;
    links_.push_back({communicator.rank(), own});
  }

  bool is_over() const { return deadline_.passed(); }

  Diagnosis follow(int first) {
    Diagnosis found;
    links_.resize(1);
    for (int rank = first; rank >= 0 && rank < communicator_.size();) {
      if (const auto known = find(rank); known != links_.end()) {
        judge_circle({known, links_.end()}, found);
        return found;
      }
      if (is_over()) {
        found.open = true;
        return found;
      }
      const Result<Activities> answer = ask(communicator_, rank);
      found.open = false;
      if (!answer.ok()) return without_answer(rank, answer.status());
      found.mismatch = disagreement(rank, answer.value().here);
      if (!found.mismatch.ok()) return found;
      rank = take(rank, answer.value(), found);
    }
    return found;
  }

 private:
  struct Link {
    int rank;
    Activity does;
  };
  using Links = std::vector<Link>;

  const Activity& own() const { return links_.front().does; }
  std::string own_text() const { return wait_.messages ? describe(*wait_.messages) : describe(own().last()); }
  Links::iterator find(int rank) {
    return std::find_if(links_.begin(), links_.end(), [&](const Link& link) { return link.rank == rank; });
  }

  Diagnosis without_answer(int rank, const Status& why) const {
    Diagnosis found;
    if (why.code() == Code::RemoteError)
      found.departed = error(Code::RemoteError, "{} has left, and rank {} waits for it",
                             communicator_.rank_text(rank), communicator_.rank());
    found.cause =
        why.code() == Code::Timeout ? communicator_.rank_text(rank) + " did not answer" : why.message();
    return found;
  }

  /// Notes what the rank does; the rank that it waits for, or -1.
  int take(int rank, const Activities& answer, Diagnosis& found) {
    const Activity& does = answer.here;
    found.cause = fmt::format("{} {}", communicator_.rank_text(rank), activity_text(does, sequence_));
    found.late = does.latest < sequence_;
    if (!does.waits()) note_other(rank, answer, found);
    // A rank that is still in an earlier call waits for some other as well.
    const bool follows = does.waits() && (does.inside == 0 || sequence_ == 0 || does.latest <= sequence_);
    found.open = follows;
    links_.push_back({rank, does});
    return follows ? does.waits_for() : -1;
  }

  /// The rank waits, but on another communicator.
  void note_other(int rank, const Activities& answer, Diagnosis& found) const {
    if (answer.other == 0) return;
    const auto board = communicator_.session()->board_of(answer.other);
    const std::string title = board ? board->title() : "another communicator";
    found.cause += fmt::format(", and it {} of {}", wait_text(answer.there), title);
    if (board == nullptr || answer.there.inside == 0 || board->latest() >= answer.there.latest) return;
    found.elsewhere =
        error(Code::Mismatch, "ranks disagree: rank {} called {} of {}; rank {} called {} of {}",
              communicator_.rank(), own_text(), communicator_.board().title(), rank,
              describe(answer.there.last()), title);
  }

  Status disagreement(int rank, const Activity& does) const {
    RONDO_TRY(first_difference(communicator_, rank, does));
    const bool never =
        wait_.messages ? can_never_match(rank, does) : own().inside != 0 && does.latest < sequence_;
    if (does.finished == 0 || !never) return {};
    return error(Code::Mismatch,
                 "ranks disagree: rank {} called {}; rank {} called rondo_finalize() instead{}",
                 communicator_.rank(), own_text(), rank, describe_unasked(own().messages));
  }

  /// Of a rank that has finished. What it has sent may still be on its way.
  bool can_never_match(int rank, const Activity& does) const {
    if (own().messages.sends.names(rank)) return true;
    PointToPoint& engine = communicator_.messages();
    const std::lock_guard lock(engine.mutex());
    return own().messages.receives.names(rank) && engine.received_from(rank) == does.sent;
  }

  /// Ranks in a collective wait for several and name one, so among them alone a circle says nothing.
  void judge_circle(const Links& circle, Diagnosis& found) const {
    const auto waits_for_message = [](const Link& link) { return link.does.inside == 0; };
    found.open = std::none_of(circle.begin(), circle.end(), waits_for_message);
    if (found.open) return;
    std::string waits;
    std::string unasked;
    for (size_t i = 0; i < circle.size() && i < kMaxNamed; ++i) {
      const Activity& does = circle[i].does;
      waits += fmt::format("{}rank {} {}", i == 0 ? "" : ", ", circle[i].rank, wait_text(does));
      unasked += describe_unasked(does.messages);
    }
    if (circle.size() > kMaxNamed) waits += ", and so on";
    found.cause =
        waits +
        (circle.size() == 1 ? ", and has not sent itself such a message" : ": they wait for one another") +
        unasked;
  }

  Communicator& communicator_;
  const Wait& wait_;
  Deadline deadline_ = Deadline::in_ms(kDiagnosis_ms);
  uint32_t sequence_;  // of the call that waits; 0: a message does
  Links links_;        // this rank, the one that it waits for, and so on
};

/// The best that any rank knows.
Diagnosis ask_all(Communicator& communicator, Pursuit& pursuit) {
  Diagnosis found;
  for (int rank = 0; rank < communicator.size() && !pursuit.is_over(); ++rank) {
    if (rank == communicator.rank()) continue;
    Diagnosis one = pursuit.follow(rank);
    if (!one.mismatch.ok() || !one.departed.ok() || (one.late && !one.open)) return one;
    if (found.cause.empty() || (found.open && !one.open)) found = std::move(one);
  }
  return found;
}

/// Each of them may send the message, so none has to.
Diagnosis ask_for_any_source(Communicator& communicator, Pursuit& pursuit) {
  Diagnosis found;
  std::vector<std::string> causes;
  size_t left = 0;
  for (int rank = 0; rank < communicator.size() && !pursuit.is_over(); ++rank) {
    if (rank == communicator.rank()) continue;
    Diagnosis one = pursuit.follow(rank);
    if (!one.departed.ok()) ++left;
    if (std::find(causes.begin(), causes.end(), one.cause) == causes.end()) causes.push_back(one.cause);
    found = std::move(one);
  }
  if (left + 1 < static_cast<size_t>(communicator.size())) found.departed = {};
  found.mismatch = found.elsewhere = {};
  found.cause.clear();
  for (size_t i = 0; i < causes.size() && i < kMaxNamed; ++i) found.cause += (i == 0 ? "" : "; ") + causes[i];
  return found;
}

}  // namespace

Diagnosis diagnose(Communicator& communicator, const Wait& wait) {
  Pursuit pursuit(communicator, wait);
  if (wait.messages && wait.rank < 0) return ask_for_any_source(communicator, pursuit);
  if (wait.rank < 0) return ask_all(communicator, pursuit);
  Diagnosis found = pursuit.follow(wait.rank);
  return found.open && !wait.messages ? ask_all(communicator, pursuit) : found;
}

Status first_disagreement(Communicator& communicator, int rank) {
  if (rank < 0 || rank == communicator.rank()) return {};
  const auto answer = ask(communicator, rank);
  return answer.ok() ? first_difference(communicator, rank, answer.value().here) : Status();
}

Status overdue(Communicator& communicator, const std::string& what, const Diagnosis& diagnosis) {
  return error(Code::Timeout, "{} did not complete within {} s at rank {}: {}", what,
               static_cast<double>(communicator.timeout_ms()) / 1000, communicator.rank(),
               diagnosis.cause.empty() ? "no rank is known to be late" : diagnosis.cause);
}

}  // namespace rondo
