#include "shm/loans.h"

#include <algorithm>

#include "base/log.h"

namespace rondo::shm {
namespace {

/// A note has the loan's number above, and the offset in it below.
constexpr int kOffsetBits = 40;
constexpr uint64_t kOffsets = uint64_t{1} << kOffsetBits;
constexpr uint32_t kMostNumbers = (1u << (64 - kOffsetBits)) - 1;

/// The connection's own is socket 0; both ends may lend.
int socket_from(bool dialler) { return dialler ? 1 : 2; }

}  // namespace

void Lender::lend(const Lendable& memory, Link& link) {
  const auto has_it = [&](const Loan& loan) { return loan.memory.number == memory.number; };
  if (has_failed_ || std::any_of(loans_.begin(), loans_.end(), has_it)) return;
  const Status lent = try_to_lend(memory, link);
  if (lent.ok()) return;
  has_failed_ = true;
  log().info("rank {} lends rank {} no memory, whose bytes are copied now: {}", link.self(), link.peer(),
             lent.message());
}

Status Lender::try_to_lend(const Lendable& memory, Link& link) {
  if (!socket_.valid()) {
    RONDO_TRY_ASSIGN(socket_, link.dial(Route::Unix, socket_from(link.dials())));
  }
  RONDO_TRY_ASSIGN(const bool has_room, take_freed_back());
  if (!has_room || loans_.size() == kMostLoans || numbers_ == kMostNumbers || memory.bytes > kOffsets)
    return {};
  RONDO_TRY_ASSIGN(const bool told, tell(numbers_ + 1, &memory));
  if (told) loans_.push_back({memory, ++numbers_});
  return {};
}

Result<bool> Lender::take_freed_back() {
  for (auto loan = loans_.begin(); loan != loans_.end();) {
    if (is_lendable(loan->memory.begin, loan->memory.number)) {
      ++loan;
      continue;
    }
    RONDO_TRY_ASSIGN(const bool told, tell(loan->number, nullptr));
    if (!told) return false;
    loan = loans_.erase(loan);
  }
  return true;
}

/// False where the socket has no room now. `memory`: null, it has been freed.
Result<bool> Lender::tell(uint32_t loan, const Lendable* memory) {
  const LoanMessage message{.loan = loan, .bytes = memory != nullptr ? memory->bytes : 0};
  const int fd = memory != nullptr ? memory->memfd->get() : -1;
  return try_to_send_descriptors(socket_, std::as_bytes(std::span(&message, 1)),
                                 {&fd, memory != nullptr ? size_t{1} : size_t{0}});
}

uint64_t Lender::note_for(const std::byte* data, size_t bytes) const {
  for (const Loan& loan : loans_)
    if (loan.memory.holds(data, bytes))
      return loan.number * kOffsets + static_cast<uint64_t>(data - loan.memory.begin);
  return 0;
}

Result<const std::byte*> Borrower::find(uint64_t note, size_t bytes, Link& link) {
  const auto number = static_cast<uint32_t>(note / kOffsets);
  const uint64_t offset = note % kOffsets;
  if (!socket_.valid()) {
    RONDO_TRY_ASSIGN(socket_, link.accepted(socket_from(!link.dials())));
    if (!socket_.valid()) return nullptr;
  }
  auto loan = loans_.find(number);
  while (loan == loans_.end()) {
    RONDO_TRY_ASSIGN(const bool heard, hear());
    if (!heard) return nullptr;
    loan = loans_.find(number);
  }
  const SharedSegment& memory = loan->second;
  if (offset > memory.bytes() || bytes > memory.bytes() - offset)
    return error(Code::RemoteError, "a message says {} bytes at {} of lent memory that has {}", bytes, offset,
                 memory.bytes());
  return memory.data() + offset;
}

/// The peer's next word, if it has come.
Result<bool> Borrower::hear() {
  LoanMessage message;
  RONDO_TRY_ASSIGN(auto arrived,
                   receive_descriptors(socket_, std::as_writable_bytes(std::span(&message, 1))));
  if (!arrived) return false;
  if (arrived->bytes == 0)
    return error(Code::RemoteError, "the peer left before it passed memory that it lent");
  const size_t attached = message.bytes == 0 ? 0 : 1;
  if (arrived->bytes != sizeof message || message.magic != LoanMessage::kLoan ||
      arrived->attached.size() != attached)
    return error(Code::RemoteError, "the peer sent {} bytes that do not describe lent memory",
                 arrived->bytes);
  if (message.bytes == 0) {
    loans_.erase(message.loan);
    return true;
  }
  RONDO_TRY_ASSIGN(loans_[message.loan],
                   SharedSegment::map_to_read(arrived->attached.front(), message.bytes));
  return true;
}

}  // namespace rondo::shm
