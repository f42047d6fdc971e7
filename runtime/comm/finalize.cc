// SPDX-License-Identifier: Apache-2.0
// How a communicator ends. A rank that ends its last communicator waits for that communicator's other ranks.
#include <algorithm>
#include <utility>

#include "base/backoff.h"
#include "base/error_kinds.h"
#include "bootstrap/state_query.h"
#include "cause_search.h"
#include "comm/communicator.h"
#include "comm/requests.h"
#include "diagnosis/desync_report.h"
#include "gpu_calls.h"
#include "init_siblings.h"
#include "shm_pull/shm_executor.h"

namespace rondo {
namespace {

/// Ranks usually finish together; the control tree then reports it before this rank has to ask.
constexpr int64_t kFirstLook_ms = 20;
constexpr int64_t kLook_ms = 1000;
/// How long sends that were started wait for a connection; that to a live rank takes less than a millisecond.
constexpr int64_t kConnecting_ms = 500;

/// What keeps a rank from finishing the communicator; empty if this rank need not wait for it.
Result<std::string> what_keeps(const Membership& membership, int rank) {
  if (rank == membership.rank()) return std::string();
  // It has left: its death would have failed the communicator.
  if (membership.session()->is_gone(membership.session_rank(rank))) return std::string();
  const auto interrupt = [&] { return membership.cause(); };
  const auto activities = inquire(*membership.session(), membership.session_rank(rank), membership.id(),
                                  Deadline::in_ms(kAnswer_ms), interrupt);
  RONDO_TRY(interrupt());
  if (!activities.ok())
    return activities.status().code() == Code::Timeout ? "it does not answer" : activities.status().message();
  const PeerState& does = activities.value().here;
  if (does.known == 0 || does.finished != 0 || does.elsewhere != 0) return std::string();
  if (!does.messages.none()) return "it waits in " + describe(does.messages);
  if (does.latest == 0) return std::string("it has made no call on it");
  return fmt::format("{} {}", does.inside != 0 ? "it is in" : "its last call was", describe(does.last()));
}

/// Waits until each other rank has finished the communicator too, has left the job, or is busy with another
/// communicator, which may depend on this rank finishing this one. Timeout names the first rank for which
/// none of these holds, and what it is doing. A rank may also end because the communicator has failed: then
/// this fails with the same cause.
/// `look`: answers peers that still need this rank's connections.
template <typename Look>
Status await_ends(const Membership& membership, Look&& look) {
  const auto interrupt = [&] { return membership.cause(); };
  const Deadline deadline = Deadline::in_ms(membership.timeout_ms());
  int rank = 0;  // no need to wait for lower ranks
  for (int64_t wait_ms = kFirstLook_ms;; wait_ms = std::min(2 * wait_ms, kLook_ms)) {
    const int64_t for_ms = std::min<int64_t>(wait_ms, deadline.left_ms());
    RONDO_TRY_ASSIGN(const bool all, membership.session()->await_ends(membership.id(), for_ms, interrupt));
    if (all) return membership.cause();
    look();
    std::string keeps;
    while (rank < membership.size()) {
      RONDO_TRY_ASSIGN(keeps, what_keeps(membership, rank));
      if (!keeps.empty()) break;
      ++rank;
    }
    if (keeps.empty()) return membership.cause();
    membership.recorder().wait_for(rank);
    if (deadline.passed()) {
      keeps += where_text(membership, rank, Deadline::in_ms(kAnswer_ms), {});
      return behind_silent_rank(
          membership,
          error(ErrorKind::FinalizeOverdue, "{} has not called rondo_finalize() within {} s: {}",
                membership.rank_text(rank), static_cast<double>(membership.timeout_ms()) / 1000, keeps));
    }
  }
}

}  // namespace

void Communicator::drain() const {
  wait_until([this] { return is_idle(); });
}

void Communicator::retire(std::unique_ptr<Communicator> communicator) {
  if (!communicator->left_early_) return;
  const auto init_siblings = std::exchange(communicator->init_siblings_, nullptr);
  init_siblings->keep(std::move(communicator));
}

Status Communicator::quiesce(bool leaves) {
  if (finalized_)
    RONDO_TRY(membership_->cause());
  else
    RONDO_TRY(complete_calls());
  // First, so that no rank that asks takes it for finalize().
  if (leaves) membership_->session()->leave(membership_->id(), membership_->recorder().latest());
  {
    const std::lock_guard lock(messages_.mutex());
    membership_->recorder().finish(messages_.sent(), unsent_, only_quiesced());
  }
  membership_->session()->finish(membership_->id());
  return membership_->cause();
}

Status Communicator::complete_calls() {
  finalized_ = true;
  drain();
  const auto are_begun = [this] {
    const std::lock_guard lock(messages_.mutex());
    return !messages_.is_connecting() || membership_->failed();
  };
  wait_until(are_begun, Deadline::in_ms(kConnecting_ms));
  unsent_ = requests_->close();  // after drain(): the queues' calls are over
  started_calls_->close();
  cause_search_->end();  // of a request's connection
  return gpu_calls_->finish();
}

/// Waits only with the rank's last communicator: until then other ranks may need this rank in another one.
Status Communicator::leave_session() {
  if (!membership_->session()->is_last(membership_->id())) return {};
  left_early_ = init_siblings_ != nullptr && !init_siblings_->leave();
  if (left_early_) return {};
  membership_->recorder().wait_for_ends();
  const Status ended = await_ends(*membership_, [this] {
    connections_.look();
    const std::lock_guard lock(messages_.mutex());
    static_cast<void>(messages_.connection_status());
  });
  membership_->recorder().end();
  if (!ended.ok()) return membership_->fail(ended);
  membership_->session()->depart();
  return {};
}

/// This rank makes no more calls, so messages that it has not received never will be.
Status Communicator::check_nothing_left() const {
  if (unsent_.count != 0)
    return error(ErrorKind::MessageUnfinished, "rank {} ended the communicator before its {} was complete",
                 rank(), describe(PendingMessages{.receives = {}, .sends = unsent_, .unexpected = {}}))
        .as(Code::Mismatch);
  RONDO_TRY(connections_.check_nothing_left());
  if (shm_executor_) RONDO_TRY(shm_executor_->check_nothing_left());
  if (messages_.unreceived() == 0) return {};
  return error(
      ErrorKind::MessageUnreceived, "{} sent to rank {} and never received",
      messages_.unreceived() == 1 ? "1 message was" : fmt::format("{} messages were", messages_.unreceived()),
      rank());
}

Status Communicator::finalize() {
  if (std::exchange(ended_, true)) return {};
  RONDO_TRY(quiesce());
  RONDO_TRY(leave_session());
  gpu_calls_->disconnect();
  const Status left = check_nothing_left();
  return left.ok() ? left : membership_->fail(left);
}

Status Communicator::leave(std::unique_ptr<Communicator> communicator) {
  Communicator& leaving = *communicator;
  const bool ended = std::exchange(leaving.ended_, true) || leaving.membership().failed();
  const Status quiet = ended ? Status() : leaving.quiesce(true);
  if (!ended && quiet.ok()) {
    if (leaving.membership().session()->is_last(leaving.membership().id())) {
      leaving.left_early_ = leaving.init_siblings_ != nullptr && !leaving.init_siblings_->leave();
      leaving.membership().session()->depart();
    }
    leaving.gpu_calls_->disconnect();
  }
  retire(std::move(communicator));
  return quiet;
}

}  // namespace rondo
