// A communicator of those that are left. The control tree may be torn, so nothing of it is used:
//
//     survivors 0 2 3 of {0 1 2 3}      0 makes a unique id and dials 2 and 3, over the old session's
//         0 --- id ---> 2               listeners and its secret; then all three start anew, as ranks
//         0 --- id ---> 3               0, 1 and 2
#include <time.h>

#include <algorithm>
#include <array>

#include "comm/group.h"
#include "comm/message_socket.h"
#include "comm/ports.h"
#include "comm/start.h"

namespace rondo {
namespace {

/// Who stays, by rank of the parent.
Result<std::vector<int>> survivors_of(const Communicator& parent, std::span<const int> excluded) {
  std::vector<int> left;
  for (const int rank : excluded)
    if (rank < 0 || rank >= parent.size())
      return error(Code::InvalidArgument, "excluded names rank {}: it must be from 0 to {}", rank,
                   parent.size() - 1);
  for (int rank = 0; rank < parent.size(); ++rank)
    if (std::find(excluded.begin(), excluded.end(), rank) == excluded.end()) left.push_back(rank);
  if (std::find(left.begin(), left.end(), parent.rank()) == left.end())
    return error(Code::InvalidArgument, "excluded names rank {}, which is the caller: only the others call",
                 parent.rank());
  return left;
}

/// One meeting of these ranks: those that exclude others never meet them.
class Reunion {
 public:
  Reunion(Communicator& parent, std::vector<int> ranks, const Deadline& deadline)
      : parent_(parent), session_(*parent.session()), ranks_(std::move(ranks)), deadline_(deadline) {
    uint64_t hash = 0;
    for (const int rank : ranks_) hash = (hash ^ static_cast<uint64_t>(rank + 1)) * 0x9e3779b97f4a7c15u;
    index_ = static_cast<uint32_t>(hash >> 32);
  }

  /// The first of them makes the id, the others get it.
  Result<UniqueId> agree() {
    if (parent_.rank() != ranks_.front()) return hear();
    RONDO_TRY_ASSIGN(const UniqueId id, make_unique_id());
    for (size_t i = 1; i < ranks_.size(); ++i) RONDO_TRY(tell(ranks_[i], id));
    return id;
  }

  /// RemoteError once one of them is known to be gone, since all of them are needed.
  Status check_alive() const {
    std::vector<int> needed;
    for (const int rank : ranks_) needed.push_back(parent_.session_rank(rank));
    const int gone = session_.first_gone(needed);
    if (gone < 0) return {};
    return error(Code::RemoteError, "{} is gone: exclude it as well", session_.member(gone).text());
  }
  /// Of a failure that a death may have caused: the news of that may be on its way.
  Status first_cause(const Status& failure) const {
    constexpr int64_t kNewsMayTake_ms = 700;
    const Deadline news = Deadline::in_ms(kNewsMayTake_ms);
    while (failure.code() == Code::RemoteError || failure.code() == Code::SystemError) {
      RONDO_TRY(check_alive());
      if (news.passed()) break;
      nap();
    }
    return failure;
  }

 private:
  static void nap() {
    const timespec moment{0, 1'000'000};
    ::nanosleep(&moment, nullptr);
  }
  Purpose purpose() const {
    return {.kind = PurposeKind::Data,
            .index = index_,
            .communicator = parent_.id(),
            .port = static_cast<uint32_t>(Port::Shrink)};
  }

  Status tell(int rank, const UniqueId& id) {
    const bool here = parent_.is_on_this_host(rank);
    const auto alive = [this] { return check_alive(); };
    RONDO_TRY_ASSIGN(const Fd fd, session_.dial(parent_.session_rank(rank), here ? Route::Unix : Route::Tcp,
                                                purpose(), deadline_, alive));
    std::array<std::byte, UniqueId::kBytes> bytes{};
    id.write(bytes);
    ByteWriter body;
    body.put(bytes);
    return send_message(fd, MessageType::UniqueId, body, deadline_, alive).within(parent_.rank_text(rank));
  }

  Result<UniqueId> hear() {
    const int first = ranks_.front();
    Purpose from = purpose();
    from.from_rank = parent_.session_rank(first);
    Fd fd = session_.arrived(from);
    while (!fd.valid()) {
      RONDO_TRY(check_alive());
      if (deadline_.passed())
        return error(Code::Timeout,
                     "{} did not come to shrink the communicator in time, or it excludes other ranks",
                     parent_.rank_text(first));
      nap();
      fd = session_.arrived(from);
    }
    auto message = receive_message(fd, deadline_, [this] { return check_alive(); });
    if (!message.ok()) return message.status().within(parent_.rank_text(first));
    ByteReader reader(message.value().body);
    const auto bytes = reader.get<std::array<std::byte, UniqueId::kBytes>>();
    if (!reader.ok() || message.value().type != MessageType::UniqueId)
      return error(Code::RemoteError, "{} sent nonsense", parent_.rank_text(first));
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
  if (parent.device() >= 0) options.devices = {parent.device()};
  if (size == 1) return join({}, 1, 0, std::move(options));
  const Deadline deadline = Deadline::in_ms(options.init_timeout_ms);
  Reunion reunion(parent, std::move(left), deadline);
  for (;;) {
    const auto id = reunion.agree();
    if (!id.ok()) return reunion.first_cause(id.status());
    options.init_timeout_ms = std::max(deadline.left_ms(), 1);
    auto made = join(id.value(), size, self, options, {}, [&] { return reunion.check_alive(); });
    if (made.ok()) return made;
    // An id of an earlier attempt, whose first rank has given up and comes again.
    if (self != 0 && Session::is_root_gone(made.status()) && !deadline.passed()) continue;
    return reunion.first_cause(made.status());
  }
}

}  // namespace rondo
