#include "comm/common_memory.h"

#include <algorithm>
#include <cerrno>
#include <map>
#include <mutex>

#include "comm/ports.h"

namespace rondo {
namespace {

constexpr auto kPort = static_cast<uint32_t>(Port::CommonMemory);
constexpr uint32_t kDescriptionMagic = 0x6d6d6f63;  // "comm"

struct Description {
  uint32_t magic = kDescriptionMagic;
  uint32_t reserved = 0;
  uint64_t bytes = 0;
};

/// Memory that ranks of this process share. Whoever has made its calls may be gone before the last rank comes
/// for it, so it stays until all have it, or the one that made it has left the session.
struct SharedHere {
  std::shared_ptr<SharedSegment> segment;
  std::weak_ptr<Session> maker;
  size_t missing = 0;  // ranks
};

/// By session and communicator; the first to ask makes it.
Result<std::shared_ptr<SharedSegment>> shared_here(const CommonMemory::Parties& parties, size_t bytes) {
  static auto& mutex = *new std::mutex;
  static auto& all = *new std::map<std::pair<uint64_t, uint64_t>, SharedHere>;
  const std::lock_guard lock(mutex);
  std::erase_if(all, [](const auto& one) { return one.second.maker.expired(); });
  const std::pair key{parties.session->id(), parties.communicator};
  auto found = all.find(key);
  if (found == all.end()) {
    RONDO_TRY_ASSIGN(SharedSegment::Made made, SharedSegment::make(bytes));
    found = all.emplace(key, SharedHere{std::make_shared<SharedSegment>(std::move(made.segment)),
                                        parties.session, parties.ranks.size()})
                .first;
  }
  const auto segment = found->second.segment;
  if (--found->second.missing == 0) all.erase(found);
  return segment;
}

}  // namespace

CommonMemory::CommonMemory(Parties parties, size_t bytes) : parties_(std::move(parties)), bytes_(bytes) {}

bool CommonMemory::all_here() const {
  const Session& session = *parties_.session;
  return std::all_of(parties_.ranks.begin(), parties_.ranks.end(), [&](int rank) {
    return session.member(rank).is_beside(session.member(session.rank()));
  });
}

Result<bool> CommonMemory::advance() {
  if (there_) return true;
  if (all_here()) {
    RONDO_TRY_ASSIGN(segment_, shared_here(parties_, bytes_));
    there_ = true;
  } else {
    RONDO_TRY_ASSIGN(there_, is_root() ? pass() : take());
  }
  return there_;
}

int CommonMemory::blocked_on() const {
  if (!is_root()) return 0;
  if (served_.empty()) return -1;
  const auto missing = std::find(served_.begin() + 1, served_.end(), false);
  return static_cast<int>(missing - served_.begin());
}

/// Gives it to those who have asked.
Result<bool> CommonMemory::pass() {
  if (segment_ == nullptr) {
    RONDO_TRY_ASSIGN(SharedSegment::Made made, SharedSegment::make(bytes_));
    segment_ = std::make_shared<SharedSegment>(std::move(made.segment));
    memfd_ = std::move(made.memfd);
    served_.assign(parties_.ranks.size(), false);
    served_[0] = true;
  }
  for (size_t rank = 1; rank < served_.size(); ++rank) {
    if (served_[rank]) continue;
    Purpose purpose{.kind = PurposeKind::Data, .communicator = parties_.communicator, .port = kPort};
    purpose.from_rank = parties_.ranks[rank];
    const Fd socket = parties_.session->arrived(purpose);
    if (!socket.valid()) continue;
    const Description description{.bytes = bytes_};
    const int descriptor = memfd_.get();
    RONDO_TRY(send_descriptors(socket, std::as_bytes(std::span(&description, 1)), {&descriptor, 1}));
    served_[rank] = true;
  }
  if (std::find(served_.begin(), served_.end(), false) != served_.end()) return false;
  memfd_.close();
  return true;
}

Result<bool> CommonMemory::take() {
  if (!socket_.valid()) {
    const Purpose purpose{.kind = PurposeKind::Data, .communicator = parties_.communicator, .port = kPort};
    RONDO_TRY_ASSIGN(socket_, parties_.session->dial(parties_.ranks[0], Route::Unix, purpose,
                                                     Deadline::in_ms(parties_.timeout_ms),
                                                     [this] { return parties_.health->cause(); }));
  }
  Description description;
  RONDO_TRY_ASSIGN(auto arrived,
                   receive_descriptors(socket_, std::as_writable_bytes(std::span(&description, 1))));
  if (!arrived) return false;
  const std::string who = parties_.session->member(parties_.ranks[0]).text();
  if (arrived->lost) return system_error("taking the descriptor of memory that " + who + " shares", EMFILE);
  if (arrived->bytes != sizeof description || description.magic != kDescriptionMagic ||
      arrived->attached.size() != 1)
    return error(Code::RemoteError, "{} left while memory was shared", who);
  if (description.bytes != bytes_)
    return error(Code::RemoteError, "{} shares {} bytes of memory where {} belong", who, description.bytes,
                 bytes_);
  RONDO_TRY_ASSIGN(SharedSegment segment, SharedSegment::map(arrived->attached.front(), bytes_));
  segment_ = std::make_shared<SharedSegment>(std::move(segment));
  socket_.close();
  return true;
}

}  // namespace rondo
