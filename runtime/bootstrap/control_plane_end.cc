// SPDX-License-Identifier: Apache-2.0
// How a rank leaves a Session, and how the remaining ranks repair the control tree.
//
//         0               0 leaves or dies: 1 is the lowest remaining rank, so 2 and 4 hang below
//       / | \             it from now on, and they exchange the notices that they have heard
//      1  2  4
//     /       \           1 leaves as well: 3 hangs below 2
//    3         5
#include <algorithm>
#include <utility>

#include "base/backoff.h"
#include "base/disowned.h"
#include "base/error_kinds.h"
#include "base/log.h"
#include "base/park.h"
#include "base/quiet_thread.h"
#include "control_plane.h"

namespace rondo {
namespace {

/// How long a leaving rank waits for neighbours that do not answer, such as stopped ones.
constexpr int64_t kLeave_ms = 500;
/// After this time, a rank that should hang below this one but has not connected is asked whether it is
/// alive, and one that could not be reached, with no notice about it, counts as dead.
constexpr int64_t kSuspect_ms = 200;
/// The interval at which neighbours that do not answer are dialled again.
constexpr int64_t kSeekAgain_ms = 1000;
/// The number of dials before a rank counts as dead, the pause between them, and the timeout of each.
constexpr int kDials = 3;
constexpr int64_t kBetweenDials_ms = 50;
constexpr int64_t kDial_ms = 5000;

}  // namespace

// --- ends of communicators ---

/// With mutex_ held.
void ControlPlane::note_ends() {
  if (context_ == nullptr) return;
  const auto unfinished = [](const auto& one) { return !one.second.finished; };
  const auto world = attachments_.find(kWorld);
  Ended own = Ended::Everything;
  if (std::any_of(attachments_.begin(), attachments_.end(), unfinished))
    own = world == attachments_.end() || world->second.finished ? Ended::World : Ended::Nothing;
  context_->event_loop().post([this, own] {
    own_end_ = std::max(own_end_, own);
    pass_up();
  });
}

/// Reports to the parent what all ranks of this subtree have finished; the root reports down what all have.
void ControlPlane::pass_up() {
  Ended ended = own_end_;
  for (const int child : tree_.children) {
    const auto edge = edges_.find(child);
    ended = std::min(ended, edge == edges_.end() ? Ended::Nothing : edge->second.ended);
  }
  if (!seated_ || ended == Ended::Nothing) return;
  if (tree_.parent < 0) return all_have(ended);
  const auto parent = edges_.find(tree_.parent);
  if (parent == edges_.end() || ended <= told_) return;
  told_ = ended;
  parent->second.socket->send(MessageType::Ended, ByteWriter().put(ended));
}

void ControlPlane::all_have(Ended ended) {
  if (ended <= all_end_) return;
  // To all neighbours: a rank may become a child by its parent's end before this rank knows of that end.
  for (auto& [rank, edge] : edges_) edge.socket->send(MessageType::AllEnded, ByteWriter().put(ended));
  std::lock_guard lock(mutex_);
  all_end_ = ended;
  changed_.notify_all();
}

Result<bool> ControlPlane::await_ends(uint64_t communicator, int64_t for_ms, const Interrupt& interrupt) {
  if (context_ == nullptr) return true;
  const Ended wanted = communicator == kWorld ? Ended::World : Ended::Everything;
  const Deadline deadline = Deadline::in_ms(for_ms);
  std::unique_lock lock(mutex_);
  while (all_end_ < wanted && !deadline.passed()) {
    const int64_t max_ms = std::min<int64_t>(deadline.left_ms(), kInterruptEvery_ms);
    changed_.wait_for(lock, std::chrono::milliseconds(max_ms));
    if (all_end_ >= wanted) break;
    RONDO_TRY(interrupt());
    RONDO_TRY(refuse_disowned());
  }
  return all_end_ >= wanted;
}

// --- leaving ---

/// Ranks whose edges are not connected yet would take the root's exit for a death.
void ControlPlane::wait_for_starting(int64_t at_most_ms) {
  bool over = bootstrap_root_ == nullptr;
  const auto is_over = [&] {
    if (!over)
      context_->event_loop().call([&] { over = !connected_ || has_departed_ || bootstrap_root_->is_over(); });
    return over;
  };
  static_cast<void>(wait_until(is_over, Deadline::in_ms(at_most_ms)));
}

void ControlPlane::depart() {
  constexpr int64_t kStarting_ms = 10'000;
  if (context_ == nullptr) return;
  wait_for_starting(kStarting_ms);
  context_->event_loop().call([this] {
    has_departed_ = true;
    if (all_end_ != Ended::Everything) hear({FailureNotice::of_departure(rank_, last_calls())}, -1);
  });
  const auto is_known = [this] {
    bool known = false;
    context_->event_loop().call([&] { known = all_end_ == Ended::Everything || is_departure_known(); });
    return known;
  };
  static_cast<void>(wait_until(is_known, Deadline::in_ms(kLeave_ms)));
}

/// Of the communicators that this rank has ended, or is about to.
std::vector<EndedComm> ControlPlane::last_calls() {
  const std::lock_guard lock(mutex_);
  std::vector<EndedComm> calls(ended_.begin(), ended_.end());
  for (const auto& [id, attachment] : attachments_)
    calls.push_back({.communicator = id, .latest = attachment.recorder->latest()});
  return calls;
}

/// True once every neighbour knows; they pass the notice on before they confirm.
bool ControlPlane::is_departure_known() const {
  int living = 0;
  for (const auto& [rank, edge] : edges_) {
    if (gone_.contains(rank)) continue;
    if (!edge.farewell) return false;
    ++living;
  }
  return living != 0 || std::ssize(gone_) + 1 == size();
}

// --- neighbours that change ---

/// Called when a rank has gone: this rank's place in the tree may have changed.
void ControlPlane::take_place() {
  if (!connected_) return;
  const int before = tree_.parent;
  tree_ = control_tree(parents_, gone_, rank_);
  if (tree_.parent != before) told_ = Ended::Nothing;
  if (tree_.parent >= 0 && !edges_.contains(tree_.parent)) seek(tree_.parent, ConnectKind::Control);
  judge_missing_after(kSuspect_ms);
  pass_up();
}

/// Children that have not connected may have died before they could. If a rank that could not be reached has
/// left, the notice from this rank's neighbours has arrived by now. A neighbour that did not answer may do so
/// later.
void ControlPlane::judge_missing() {
  for (const int rank : std::exchange(doubted_, {}))
    hear({FailureNotice::of_rank(rank, error(ErrorKind::RankDied, "{} died", member(rank).text()))}, -1);
  bool any = tree_.parent >= 0 && !edges_.contains(tree_.parent);
  if (any) seek(tree_.parent, ConnectKind::Control);
  for (const int child : tree_.children) {
    if (edges_.contains(child)) continue;
    seek(child, ConnectKind::Inquiry);
    any = true;
  }
  if (any && all_end_ != Ended::Everything) judge_missing_after(kSeekAgain_ms);
}

void ControlPlane::judge_missing_after(int64_t delay_ms) {
  context_->event_loop().cancel(suspicion_);
  suspicion_ = context_->event_loop().after_ms(delay_ms, [this] { judge_missing(); });
}

void ControlPlane::seek(int rank, ConnectKind kind) {
  // If there were two edges and the two ends kept different ones, closing them would look like a death.
  if (all_end_ == Ended::Everything || !dialled_.insert(rank).second) return;
  const std::lock_guard lock(mutex_);
  if (ends_) return;
  if (!seeker_.joinable()) {
    auto started = try_quiet_thread("rondo-seeker", [this] { look_for_neighbours(); });
    if (!started.ok()) {
      log().warn("the control tree must wait: {}", started.status().text());
      dialled_.erase(rank);  // to be dialled again later
      return;
    }
    seeker_ = started.take();
  }
  sought_[rank] = kind;
  changed_.notify_all();
}

/// On a thread of its own, since a dial blocks.
void ControlPlane::look_for_neighbours() {
  std::unique_lock lock(mutex_);
  while (!ends_) {
    if (sought_.empty()) {
      changed_.wait(lock);
      continue;
    }
    const auto [rank, kind] = *sought_.begin();
    sought_.erase(sought_.begin());
    lock.unlock();
    const auto reached = std::make_shared<Reached>(reach(rank, kind));
    context_->event_loop().post(
        [this, rank = rank, kind = kind, reached] { have_reached(rank, kind, *reached); });
    lock.lock();
  }
}

void ControlPlane::have_reached(int rank, ConnectKind kind, Reached& reached) {
  dialled_.erase(rank);
  const Status failure = reached.fd.status();
  const bool is_silent =
      reached.contact == Contact::Sought && !failure.ok() && failure.code() != Code::RemoteError;
  if (!is_silent) silent_since_ns_.erase(rank);
  if (failure.ok()) {
    if (kind == ConnectKind::Control) add_edge(rank, reached.fd.take());
  } else if (failure.code() != Code::RemoteError) {  // it is stopped, or unreachable, or this session ends
    log().info("{} should be a neighbour in the control tree: {}", member(rank).text(), failure.text());
    if (is_silent) judge_silence(rank, reached.began_ns);
  } else if (gone_.insert(rank).second) {
    // If this rank has finished everything, it may just not have heard yet that all have.
    if (own_end_ != Ended::Everything && !has_departed_) doubted_.insert(rank);
    take_place();
  }
}

/// The timeout that watch_for_lost_host() applies to an edge, for a neighbour that has no edge yet.
void ControlPlane::judge_silence(int rank, int64_t since_ns) {
  if (is_on_this_host(rank)) return;
  const int64_t began_ns = silent_since_ns_.try_emplace(rank, since_ns).first->second;
  if (now_ns() - began_ns >= unreachable_s_ * 1'000'000'000) lose_host_of(rank);
}

/// The ranks of that host are connected to other hosts through one of them, so no other rank may notice their
/// loss.
void ControlPlane::lose_host_of(int rank) {
  std::vector<FailureNotice> notices;
  for (int other = 0; other < size(); ++other) {
    if (member(other).endpoint.host != member(rank).endpoint.host || gone_.contains(other)) continue;
    notices.push_back(FailureNotice::of_rank(
        other, error(ErrorKind::HostUnreachable, "{} has been unreachable for {} s (RONDO_UNREACHABLE)",
                     member(other).text(), unreachable_s_)));
  }
  hear(std::move(notices), -1);
}

ControlPlane::Reached ControlPlane::reach(int rank, ConnectKind kind) {
  const auto interrupt = [this]() -> Status {
    const std::lock_guard lock(mutex_);
    return ends_ ? Status(Code::Aborted, "the session ends") : Status();
  };
  for (int dials = 1;; ++dials) {
    Reached reached{.began_ns = now_ns(), .fd = Status(Code::Aborted, "the session ends")};
    reached.fd = dial(rank, route_to(rank), ConnectRequest{.kind = kind}, Deadline::in_ms(kDial_ms),
                      interrupt, &reached.contact);
    if (reached.fd.ok() || reached.fd.status().code() != Code::RemoteError || dials == kDials) return reached;
    park({}, kBetweenDials_ms * 1'000'000);
  }
}

}  // namespace rondo
