#include "shm/loans.h"

#include <algorithm>

#include "base/log.h"

namespace rondo::shm {

void Lender::open_up(const Fd& socket) {
  const auto landmark = own_landmark();
  if (!socket.valid() || !landmark) return;
  const LoanMessage message{.landmark = *landmark};
  if (const auto told = tell(socket, message, {}); !told.ok())
    log().info("a peer cannot read this process, and bytes are copied: {}", told.status().message());
}

void Lender::lend(const Lendable& memory, const Fd& socket) {
  const auto has_it = [&](const Loan& loan) { return loan.memory.number == memory.number; };
  if (words_ == nullptr || has_failed_ || refused() || !socket.valid() ||
      std::any_of(loans_.begin(), loans_.end(), has_it))
    return;
  const Status lent = try_to_lend(memory, socket);
  if (lent.ok()) return;
  has_failed_ = true;
  log().info("memory is not lent any more on a connection, and its bytes are copied: {}", lent.message());
}

bool Lender::refused() const { return std::atomic_ref(words_->refuses).load(std::memory_order_relaxed) != 0; }

Status Lender::try_to_lend(const Lendable& memory, const Fd& socket) {
  RONDO_TRY_ASSIGN(const bool has_room, take_freed_back(socket));
  const bool fits =
      loans_.size() < kMostLoans && numbers_ + 1 < Note::kLoans && memory.bytes <= Note::kOffsets;
  if (!has_room || !fits) return {};
  const int fd = memory.memfd->get();
  RONDO_TRY_ASSIGN(const bool told,
                   tell(socket, {.loan = numbers_ + 1, .bytes = memory.bytes}, {&fd, size_t{1}}));
  if (!told) return {};
  loans_.push_back({memory, ++numbers_, told_});
  loans_.back().memory.memfd.reset();
  return {};
}

/// False where the socket has no room now.
Result<bool> Lender::take_freed_back(const Fd& socket) {
  const uint64_t frees = lendable_frees();
  if (frees == frees_) return true;
  for (auto loan = loans_.begin(); loan != loans_.end();) {
    if (is_alive(loan->memory)) {
      ++loan;
      continue;
    }
    RONDO_TRY_ASSIGN(const bool told, tell(socket, {.loan = loan->number}, {}));
    if (!told) return false;
    loan = loans_.erase(loan);
  }
  frees_ = frees;
  return true;
}

/// False where the socket has no room now.
Result<bool> Lender::tell(const Fd& socket, const LoanMessage& message, std::span<const int> descriptors) {
  RONDO_TRY_ASSIGN(const bool sent,
                   try_to_send_descriptors(socket, std::as_bytes(std::span(&message, 1)), descriptors));
  if (!sent) return false;
  // Pairs with the acquire load in Borrower::hear(), though the kernel orders the message itself.
  std::atomic_ref(words_->told).store(++told_, std::memory_order_release);
  return true;
}

uint64_t Lender::note_for(const std::byte* data, size_t bytes) const {
  for (const Loan& loan : loans_) {
    if (!loan.memory.holds(data, bytes)) continue;
    // Acquires nothing that is used: the borrower alone reads what it has mapped. Once it has, it keeps it.
    const bool is_mapped = std::atomic_ref(words_->answered).load(std::memory_order_relaxed) >= loan.message;
    // Where the memory was freed, something else may lie at its place now.
    if (is_mapped && is_alive(loan.memory))
      return Note::of_loan(loan.number, static_cast<uint64_t>(data - loan.memory.begin));
  }
  return bytes >= kLeastRead && borrower_reads() ? Note::of_address(data) : Note::kNone;
}

/// False for good after the first failed read.
bool Lender::borrower_reads() const {
  // Relaxed: the words alone are looked at.
  return words_ != nullptr && copied_ == 0 &&
         std::atomic_ref(words_->reads).load(std::memory_order_relaxed) != 0;
}

uint64_t Lender::unread() const {
  if (words_ == nullptr) return 0;
  // Relaxed: what the lender copies is its own.
  const uint64_t message = std::atomic_ref(words_->unread).load(std::memory_order_relaxed);
  return message == copied_ ? 0 : message;
}

void Lender::say_copied(uint64_t message) {
  copied_ = message;
  // Pairs with the acquire load in Borrower::is_copied(): who sees the number sees the bytes.
  std::atomic_ref(words_->copied).store(message, std::memory_order_release);
}

Status Borrower::hear(const Fd& socket) {
  while (has_news()) {
    RONDO_TRY_ASSIGN(const bool heard, hear_one(socket));
    if (!heard) return {};
    // Relaxed: see Lender::note_for().
    std::atomic_ref(words_->answered).store(++answered_, std::memory_order_relaxed);
  }
  return {};
}

/// The lender's next message; false where it has not come, or none is heard any more.
Result<bool> Borrower::hear_one(const Fd& socket) {
  if (!socket.valid()) {
    refuse(error(Code::SystemError, "this process has few descriptors left"));
    return false;
  }
  LoanMessage message;
  RONDO_TRY_ASSIGN(auto arrived, receive_descriptors(socket, std::as_writable_bytes(std::span(&message, 1))));
  if (!arrived) return false;
  if (arrived->bytes == 0 || arrived->lost) {
    refuse(arrived->lost ? error(Code::SystemError, "this process has no descriptor left for shared memory")
                         : error(Code::RemoteError, "the peer has closed its socket"));
    return false;
  }
  const size_t attached = message.loan == 0 || message.bytes == 0 ? 0 : 1;
  if (arrived->bytes != sizeof message || message.magic != LoanMessage::kLoan ||
      arrived->attached.size() != attached || (attached == 1 && loans_.contains(message.loan)))
    return error(Code::RemoteError, "the peer sent {} bytes that do not describe lent memory",
                 arrived->bytes);
  if (message.loan == 0) {
    try_to_read(socket, message.landmark);
    return true;
  }
  if (attached == 0) {
    loans_.erase(message.loan);
    return true;
  }
  auto mapped = SharedSegment::map_to_read(arrived->attached.front(), message.bytes);
  if (mapped.status().code() == Code::RemoteError) return mapped.status();
  if (!mapped.ok()) {
    refuse(mapped.status());
    return false;
  }
  loans_[message.loan] = mapped.take();
  return true;
}

void Borrower::try_to_read(const Fd& socket, const Landmark& landmark) {
  if (read_peer_ == ReadPeer::Never) return;
  auto reader = ProcessReader::open(socket, landmark);
  if (!reader.ok()) {
    log().info("a peer's process is not read, and its bytes are copied: {}", reader.status().message());
    return;
  }
  reader_ = reader.take();
  // Relaxed: see Lender::borrower_reads().
  std::atomic_ref(words_->reads).store(1, std::memory_order_relaxed);
}

bool Borrower::is_copied(uint64_t message) {
  // Relaxed: see Lender::unread().
  std::atomic_ref(words_->unread).store(message, std::memory_order_relaxed);
  return std::atomic_ref(words_->copied).load(std::memory_order_acquire) == message;
}

void Borrower::refuse(const Status& why) {
  refuses_ = true;
  std::atomic_ref(words_->refuses).store(1, std::memory_order_relaxed);
  log().info("a peer's memory is not mapped, and its bytes are copied: {}", why.message());
}

Result<const std::byte*> Borrower::find(uint64_t note, size_t bytes) const {
  const auto loan = loans_.find(Note::loan(note));
  const uint64_t offset = Note::offset(note);
  if (loan == loans_.end())
    return error(Code::RemoteError, "a message is in lent memory that this end has not mapped");
  const SharedSegment& memory = loan->second;
  if (offset > memory.bytes() || bytes > memory.bytes() - offset)
    return error(Code::RemoteError, "a message says {} bytes at {} of lent memory that has {}", bytes, offset,
                 memory.bytes());
  return memory.data() + offset;
}

}  // namespace rondo::shm
