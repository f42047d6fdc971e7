#include "comm/ending.h"

#include <algorithm>

#include "comm/inquiry.h"

namespace rondo {
namespace {

/// Ranks mostly end together, and the control tree says so before anybody needs to ask.
constexpr int64_t kFirstLook_ms = 20;
constexpr int64_t kLook_ms = 1000;

/// What keeps a rank from the communicator's end; empty where nobody needs to wait for it.
Result<std::string> what_keeps(Communicator& communicator, int rank) {
  if (rank == communicator.rank()) return std::string();
  // One that has left: a death would have failed the communicator.
  if (communicator.session()->is_gone(communicator.session_rank(rank))) return std::string();
  const auto interrupt = [&] { return communicator.health().cause(); };
  const auto activities = inquire(*communicator.session(), communicator.session_rank(rank), communicator.id(),
                                  Deadline::in_ms(kAnswer_ms), interrupt);
  RONDO_TRY(interrupt());
  if (!activities.ok()) return std::string("it does not answer");
  const Activity& does = activities.value().here;
  if (does.known == 0 || does.finished != 0 || does.elsewhere != 0) return std::string();
  if (!does.messages.none()) return "it waits in " + describe(does.messages);
  if (does.latest == 0) return std::string("it has made no call on it");
  return fmt::format("{} {}", does.inside != 0 ? "it is in" : "its last call was", describe(does.last()));
}

}  // namespace

Status await_ends(Communicator& communicator) {
  const auto interrupt = [&] { return communicator.health().cause(); };
  const Deadline deadline = Deadline::in_ms(communicator.timeout_ms());
  int rank = 0;  // those before it need not be waited for
  for (int64_t wait_ms = kFirstLook_ms;; wait_ms = std::min(2 * wait_ms, kLook_ms)) {
    const int64_t for_ms = std::min<int64_t>(wait_ms, deadline.left_ms());
    RONDO_TRY_ASSIGN(const bool all,
                     communicator.session()->await_ends(communicator.id(), for_ms, interrupt));
    if (all) return {};
    std::string keeps;
    while (rank < communicator.size()) {
      RONDO_TRY_ASSIGN(keeps, what_keeps(communicator, rank));
      if (!keeps.empty()) break;
      ++rank;
    }
    if (keeps.empty()) return {};
    communicator.board().wait_for(rank);
    if (deadline.passed())
      return error(Code::Timeout, "{} has not come to rondo_finalize() within {} s: {}",
                   communicator.rank_text(rank), static_cast<double>(communicator.timeout_ms()) / 1000,
                   keeps);
  }
}

}  // namespace rondo
