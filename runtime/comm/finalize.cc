// SPDX-License-Identifier: Apache-2.0
#include "finalize.h"

#include <algorithm>

#include "bootstrap/state_query.h"

namespace rondo {
namespace {

/// Ranks usually finish together; the control tree then reports it before this rank has to ask.
constexpr int64_t kFirstLook_ms = 20;
constexpr int64_t kLook_ms = 1000;

/// What keeps a rank from finishing the communicator; empty if this rank need not wait for it.
Result<std::string> what_keeps(const Membership& membership, int rank) {
  if (rank == membership.rank()) return std::string();
  // It has left: its death would have failed the communicator.
  if (membership.session()->is_gone(membership.session_rank(rank))) return std::string();
  const auto interrupt = [&] { return membership.cause(); };
  const auto activities = inquire(*membership.session(), membership.session_rank(rank), membership.id(),
                                  Deadline::in_ms(kAnswer_ms), interrupt);
  RONDO_TRY(interrupt());
  if (!activities.ok()) return std::string("it does not answer");
  const PeerState& does = activities.value().here;
  if (does.known == 0 || does.finished != 0 || does.elsewhere != 0) return std::string();
  if (!does.messages.none()) return "it waits in " + describe(does.messages);
  if (does.latest == 0) return std::string("it has made no call on it");
  return fmt::format("{} {}", does.inside != 0 ? "it is in" : "its last call was", describe(does.last()));
}

}  // namespace

Status await_ends(const Membership& membership) {
  const auto interrupt = [&] { return membership.cause(); };
  const Deadline deadline = Deadline::in_ms(membership.timeout_ms());
  int rank = 0;  // no need to wait for lower ranks
  for (int64_t wait_ms = kFirstLook_ms;; wait_ms = std::min(2 * wait_ms, kLook_ms)) {
    const int64_t for_ms = std::min<int64_t>(wait_ms, deadline.left_ms());
    RONDO_TRY_ASSIGN(const bool all, membership.session()->await_ends(membership.id(), for_ms, interrupt));
    if (all) return {};
    std::string keeps;
    while (rank < membership.size()) {
      RONDO_TRY_ASSIGN(keeps, what_keeps(membership, rank));
      if (!keeps.empty()) break;
      ++rank;
    }
    if (keeps.empty()) return {};
    membership.recorder().wait_for(rank);
    if (deadline.passed())
      return error(Code::Timeout, "{} has not called rondo_finalize() within {} s: {}",
                   membership.rank_text(rank), static_cast<double>(membership.timeout_ms()) / 1000, keeps);
  }
}

}  // namespace rondo
