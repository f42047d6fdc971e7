// SPDX-License-Identifier: Apache-2.0
#include "host_segment.h"

#include <algorithm>
#include <cerrno>
#include <map>
#include <mutex>

#include "base/error_kinds.h"
#include "bootstrap/membership.h"

namespace rondo {
namespace {

constexpr auto kPort = static_cast<uint32_t>(Port::HostSegment);
constexpr uint32_t kDescriptionMagic = 0x6d6d6f63;  // "comm"

struct SegmentSize {
  uint32_t magic = kDescriptionMagic;
  uint32_t reserved = 0;
  uint64_t bytes = 0;
};

/// Memory shared by ranks of this process. A rank may finish and leave before the last one requests it, so it
/// is kept until all have it, or until its maker has left the session.
struct SharedHere {
  std::shared_ptr<SharedSegment> segment;
  std::weak_ptr<Session> maker;
  size_t missing = 0;  // ranks that do not have it yet
};

/// By session and communicator; the first rank to ask creates it.
Result<std::shared_ptr<SharedSegment>> shared_here(const Membership& membership, size_t bytes) {
  static auto& mutex = *new std::mutex;
  static auto& all = *new std::map<std::pair<uint64_t, uint64_t>, SharedHere>;
  const std::lock_guard lock(mutex);
  std::erase_if(all, [](const auto& one) { return one.second.maker.expired(); });
  const std::pair key{membership.session()->id(), membership.id()};
  auto found = all.find(key);
  if (found == all.end()) {
    RONDO_TRY_ASSIGN(SharedSegment::Made made, SharedSegment::make(bytes));
    found = all.emplace(key, SharedHere{std::make_shared<SharedSegment>(std::move(made.segment)),
                                        membership.session(), static_cast<size_t>(membership.size())})
                .first;
  }
  const auto segment = found->second.segment;
  if (--found->second.missing == 0) all.erase(found);
  return segment;
}

}  // namespace

HostSegment::HostSegment(MembershipPtr membership, size_t bytes)
    : membership_(std::move(membership)), bytes_(bytes) {}

bool HostSegment::all_here() const {
  for (int rank = 0; rank < membership_->size(); ++rank)
    if (!membership_->is_here(rank)) return false;
  return true;
}

Result<bool> HostSegment::advance() {
  if (there_) return true;
  if (all_here()) {
    RONDO_TRY_ASSIGN(segment_, shared_here(*membership_, bytes_));
    there_ = true;
  } else {
    RONDO_TRY_ASSIGN(there_, is_root() ? pass() : take());
  }
  return there_;
}

int HostSegment::blocked_on() const {
  if (!is_root()) return 0;
  if (served_.empty()) return -1;
  const auto missing = std::find(served_.begin() + 1, served_.end(), false);
  return static_cast<int>(missing - served_.begin());
}

/// Passes the memory to the ranks that have connected.
Result<bool> HostSegment::pass() {
  if (segment_ == nullptr) {
    RONDO_TRY_ASSIGN(SharedSegment::Made made, SharedSegment::make(bytes_));
    segment_ = std::make_shared<SharedSegment>(std::move(made.segment));
    memfd_ = std::move(made.memfd);
    served_.assign(static_cast<size_t>(membership_->size()), false);
    served_[0] = true;
  }
  for (size_t rank = 1; rank < served_.size(); ++rank) {
    if (served_[rank]) continue;
    ConnectRequest purpose{.kind = ConnectKind::Data, .communicator = membership_->id(), .port = kPort};
    purpose.from_rank = membership_->session_ranks()[rank];
    const Fd socket = membership_->session()->arrived(purpose);
    if (!socket.valid()) continue;
    const SegmentSize description{.bytes = bytes_};
    const int descriptor = memfd_.get();
    RONDO_TRY(send_descriptors(socket, std::as_bytes(std::span(&description, 1)), {&descriptor, 1}));
    served_[rank] = true;
  }
  if (std::find(served_.begin(), served_.end(), false) != served_.end()) return false;
  memfd_.close();
  return true;
}

/// However long it takes: the call that needs the memory has a deadline of its own.
Result<Fd> HostSegment::reach_root() const {
  const ConnectRequest purpose{.kind = ConnectKind::Data, .communicator = membership_->id(), .port = kPort};
  const auto interrupt = [this] {
    return closing_ ? Status(Code::Aborted, "the communicator has ended") : membership_->cause();
  };
  for (;;) {
    auto socket = membership_->session()->dial(membership_->session_rank(0), Route::Unix, purpose,
                                               Deadline::in_ms(membership_->timeout_ms()), interrupt);
    if (socket.status().code() != Code::Timeout || !interrupt().ok()) return socket;
  }
}

Result<bool> HostSegment::take() {
  if (!socket_.valid()) {
    auto reached = dialling_.result([this] { return reach_root(); });
    if (!reached) return false;
    RONDO_TRY_ASSIGN(socket_, std::move(*reached));
  }
  SegmentSize description;
  RONDO_TRY_ASSIGN(auto arrived,
                   receive_descriptors(socket_, std::as_writable_bytes(std::span(&description, 1))));
  if (!arrived) return false;
  const std::string who = membership_->rank_text(0);
  if (arrived->lost) return system_error("taking the descriptor of memory that " + who + " shares", EMFILE);
  if (arrived->bytes == 0) return error(ErrorKind::SharingFailed, "{} left while memory was shared", who);
  if (arrived->bytes != sizeof description || description.magic != kDescriptionMagic ||
      arrived->attached.size() != 1)
    return error(ErrorKind::SharingFailed, "{} sent something else while memory was shared", who);
  if (description.bytes != bytes_)
    return error(ErrorKind::SharingFailed, "{} shares {} bytes of memory instead of {}", who,
                 description.bytes, bytes_);
  RONDO_TRY_ASSIGN(SharedSegment segment, SharedSegment::map(arrived->attached.front(), bytes_));
  segment_ = std::make_shared<SharedSegment>(std::move(segment));
  socket_.close();
  return true;
}

}  // namespace rondo
