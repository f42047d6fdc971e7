// SPDX-License-Identifier: Apache-2.0
// Shrink: a new communicator of the surviving ranks. The control tree may be broken, so it is not used:
//
//     survivors 0 2 3 of {0 1 2 3}      0 makes a unique id and dials 2 and 3 through the old session's
//         0 --- id ---> 2               listeners, with its secret; then all three join a new session as
//         0 --- id ---> 3               ranks 0, 1 and 2
#include <algorithm>
#include <array>

#include "base/backoff.h"
#include "base/error_kinds.h"
#include "bootstrap/membership.h"
#include "bootstrap/rendezvous.h"
#include "comm/create.h"
#include "comm/group.h"
#include "net/framed_socket.h"

namespace rondo {
namespace {

/// The surviving ranks, as ranks of the parent.
Result<std::vector<int>> survivors_of(const Communicator& parent, std::span<const int> excluded) {
  std::vector<int> left;
  for (const int rank : excluded)
    if (rank < 0 || rank >= parent.size())
      return error(ErrorKind::RankOutOfRange, "excluded names rank {}: it must be from 0 to {}", rank,
                   parent.size() - 1);
  for (int rank = 0; rank < parent.size(); ++rank)
    if (std::find(excluded.begin(), excluded.end(), rank) == excluded.end()) left.push_back(rank);
  if (std::find(left.begin(), left.end(), parent.rank()) == left.end())
    return error(Code::InvalidArgument, "excluded names rank {}, which is the caller: only the others call",
                 parent.rank());
  return left;
}

/// How these ranks agree on a unique id. Callers that exclude different ranks never connect to one another.
class ShrinkExchange {
 public:
  ShrinkExchange(Communicator& parent, std::vector<int> ranks, const Deadline& deadline)
      : parent_(parent),
        session_(*parent.membership().session()),
        ranks_(std::move(ranks)),
        deadline_(deadline) {
    uint64_t hash = 0;
    for (const int rank : ranks_) hash = (hash ^ static_cast<uint64_t>(rank + 1)) * 0x9e3779b97f4a7c15u;
    index_ = static_cast<uint32_t>(hash >> 32);
  }

  /// The first rank makes the id, the others receive it.
  Result<UniqueId> agree() {
    if (parent_.rank() != ranks_.front()) return hear();
    RONDO_TRY_ASSIGN(const UniqueId id, make_unique_id());
    for (size_t i = 1; i < ranks_.size(); ++i) RONDO_TRY(tell(ranks_[i], id));
    return id;
  }

  /// RemoteError once one of the ranks is known to be gone, since all of them are needed.
  Status check_alive() const {
    std::vector<int> needed;
    for (const int rank : ranks_) needed.push_back(parent_.membership().session_rank(rank));
    const int gone = session_.first_gone(needed);
    if (gone < 0) return {};
    return error(ErrorKind::OneMoreGone, "{} is gone: exclude it as well", session_.member(gone).text());
  }
  /// The cause of a failure: if a death may have caused it, waits briefly for the notice of that death.
  Status first_cause(const Status& failure) const {
    constexpr int64_t kFirstCause_ms = 700;
    const Deadline news = Deadline::in_ms(kFirstCause_ms);
    if (failure.code() != Code::RemoteError && failure.code() != Code::SystemError) return failure;
    Status death;
    wait_until([&] { return !(death = check_alive()).ok(); }, news);
    return death.ok() ? failure : death;
  }

 private:
  ConnectRequest purpose() const {
    return {.kind = ConnectKind::Data,
            .index = index_,
            .communicator = parent_.membership().id(),
            .port = static_cast<uint32_t>(Port::Shrink)};
  }

  Status tell(int rank, const UniqueId& id) {
    const int member = parent_.membership().session_rank(rank);
    const auto alive = [this] { return check_alive(); };
    RONDO_TRY_ASSIGN(const Fd fd,
                     session_.dial(member, session_.route_to(member), purpose(), deadline_, alive));
    std::array<std::byte, UniqueId::kBytes> bytes{};
    id.write(bytes);
    ByteWriter body;
    body.put(bytes);
    return send_message(fd, MessageType::UniqueId, body, deadline_, alive)
        .within(parent_.membership().rank_text(rank));
  }

  Result<UniqueId> hear() {
    const int first = ranks_.front();
    ConnectRequest from = purpose();
    from.from_rank = parent_.membership().session_rank(first);
    Fd fd;
    Status death;
    const auto arrived = [&] {
      fd = session_.arrived(from);
      if (!fd.valid()) death = check_alive();
      return fd.valid() || !death.ok();
    };
    if (!wait_until(arrived, deadline_))
      return error(ErrorKind::ShrinkOverdue, "{} did not join the shrink in time, or excludes other ranks",
                   parent_.membership().rank_text(first));
    RONDO_TRY(death);
    auto message = receive_message(fd, deadline_, [this] { return check_alive(); });
    if (!message.ok()) return message.status().within(parent_.membership().rank_text(first));
    ByteReader reader(message.value().body);
    const auto bytes = reader.get<std::array<std::byte, UniqueId::kBytes>>();
    if (!reader.ok() || message.value().type != MessageType::UniqueId)
      return error(ErrorKind::MessageBroken, "{} sent an invalid message",
                   parent_.membership().rank_text(first));
    return UniqueId::read(bytes);
  }

  Communicator& parent_;
  Session& session_;
  std::vector<int> ranks_;
  Deadline deadline_;
  uint32_t index_ = 0;
};

}  // namespace

Result<CommunicatorPtr> shrink(Communicator& parent, std::span<const int> excluded,
                               Communicator::Options options) {
  RONDO_TRY(refuse_in_group("shrinking a communicator"));
  RONDO_TRY_ASSIGN(std::vector<int> left, survivors_of(parent, excluded));
  parent.drain();
  const int size = static_cast<int>(left.size());
  const int self = static_cast<int>(std::find(left.begin(), left.end(), parent.rank()) - left.begin());
  if (parent.membership().device() >= 0) options.devices = {parent.membership().device()};
  if (size == 1) return join({}, 1, 0, std::move(options));
  const Deadline deadline = Deadline::in_ms(options.init_timeout_ms);
  ShrinkExchange exchange(parent, std::move(left), deadline);
  for (;;) {
    const auto id = exchange.agree();
    if (!id.ok()) return exchange.first_cause(id.status());
    options.init_timeout_ms = std::max(deadline.left_ms(), 1);
    auto made = join(id.value(), size, self, options, {}, [&] { return exchange.check_alive(); });
    if (made.ok()) return made;
    // The id is of an earlier attempt, which the first rank has given up; it will try again.
    if (self != 0 && Session::is_root_gone(made.status()) && !deadline.passed()) continue;
    const Status cause = exchange.first_cause(made.status());
    if (cause.kind() != ErrorKind::RanksDidNotJoin) return cause;
    return cause.within("by their ranks in the new communicator").because(ErrorKind::ShrinkOverdue);
  }
}

Result<CommunicatorPtr> shrink_to_living(Communicator& parent, Communicator::Options options) {
  const Deadline deadline = Deadline::in_ms(options.init_timeout_ms);
  for (;;) {
    const std::vector<int> gone = parent.membership().gone_ranks();
    options.init_timeout_ms = std::max(deadline.left_ms(), 1);
    auto made = shrink(parent, gone, options);
    if (made.ok() || deadline.passed() || parent.membership().gone_ranks() == gone) return made;
  }
}

}  // namespace rondo
