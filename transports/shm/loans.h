// Loans: memory of one end of a shm connection that the other reads where it lies: memory that it maps, whose
// memfds go over the connection's socket, or any memory, which it reads out of the process. Words that both
// ends see say when to look at the socket, and what can be read, so that nobody waits for anybody, but for a
// message that turns out to be out of reach. Used by the connection's thread.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "base/fd.h"
#include "base/lendable.h"
#include "base/shared_segment.h"
#include "base/status.h"
#include "shm/process_reader.h"
#include "shm/ways.h"
#include "transports/transport.h"

namespace rondo::shm {

inline constexpr size_t kMostLoans = 256;  // at a time

/// Of one direction; all 0 at first.
struct LoanWords {
  alignas(128) uint32_t told = 0;      // messages that the lender has sent
  uint64_t copied = 0;                 // 0, or the message, from 1, that it put last into its slot instead
  alignas(128) uint32_t answered = 0;  // of those told, the ones that the borrower has acted on
  uint32_t refuses = 0;                // 1: the borrower maps nothing more
  uint32_t reads = 0;                  // 1: it reads what is posted by its address
  uint64_t unread = 0;                 // 0, or the message, from 1, that it failed to read last
};

/// What goes over the socket: memory that is lent, with its memfd, or the lender's landmark.
struct LoanMessage {
  static constexpr uint32_t kLoan = 0x6c687352;  // "Rshl"
  uint32_t magic = kLoan;
  uint32_t loan = 0;   // from 1, each number once; 0: the landmark
  uint64_t bytes = 0;  // 0: the memory has been freed
  Landmark landmark;
};
static_assert(sizeof(LoanMessage) == 32);

/// How a message says where its bytes are.
class Note {
 public:
  static constexpr uint64_t kNone = 0;  // in its slot
  static uint64_t of_loan(uint32_t loan, uint64_t offset) { return loan * kOffsets + offset; }
  static uint64_t of_address(const std::byte* data) { return kAddress | reinterpret_cast<uint64_t>(data); }

  static bool is_address(uint64_t note) { return (note & kAddress) != 0; }
  static uint64_t address(uint64_t note) { return note & ~kAddress; }
  static uint32_t loan(uint64_t note) { return static_cast<uint32_t>(note / kOffsets); }
  static uint64_t offset(uint64_t note) { return note % kOffsets; }

  static constexpr uint64_t kOffsets = uint64_t{1} << 40;  // in a loan
  static constexpr uint32_t kLoans = uint32_t{1} << 23;

 private:
  static constexpr uint64_t kAddress = uint64_t{1} << 63;
};

class Lender {
 public:
  Lender() = default;
  explicit Lender(LoanWords& words) : words_(&words) {}

  /// Lets the borrower read this process.
  void open_up(const Fd& socket);
  /// Lends the memory over the socket if it can be done at once, there is room for another loan, and the
  /// borrower takes it; tells it first of memory that has been freed.
  void lend(const Lendable& memory, const Fd& socket);
  /// kNone: not where the borrower is known to read it.
  uint64_t note_for(const std::byte* data, size_t bytes) const;

  /// The number, from 1, of a message that the borrower could not read, until say_copied(); 0: of none.
  uint64_t unread() const;
  /// It lies in its slot now.
  void say_copied(uint64_t message);

 private:
  struct Loan {
    Lendable memory;      // without its descriptor
    uint32_t number = 0;  // from 1
    uint32_t message = 0;
  };
  bool refused() const;
  Result<bool> tell(const Fd& socket, const LoanMessage& message, std::span<const int> descriptors);
  Result<bool> take_freed_back(const Fd& socket);
  Status try_to_lend(const Lendable& memory, const Fd& socket);
  bool borrower_reads() const;

  LoanWords* words_ = nullptr;
  std::vector<Loan> loans_;
  uint64_t copied_ = 0;
  uint32_t numbers_ = 0;
  uint32_t told_ = 0;
  uint64_t frees_ = 0;  // of all lendable memory, when freed loans were last looked for
  bool has_failed_ = false;
};

class Borrower {
 public:
  Borrower() = default;
  Borrower(LoanWords& words, ReadPeer read_peer) : words_(&words), read_peer_(read_peer) {}

  /// Acts on what the lender has told; an error where that is nonsense. Where memory cannot be mapped, the
  /// lender goes on without.
  Status hear(const Fd& socket);
  bool has_news() const {
    return !refuses_ && words_ != nullptr &&
           std::atomic_ref(words_->told).load(std::memory_order_acquire) != answered_;
  }
  /// The bytes that a note of a loan speaks of.
  Result<const std::byte*> find(uint64_t note, size_t bytes) const;
  /// Brings those that a note of an address speaks of to `place`; false where the kernel does not let it.
  bool read(uint64_t note, std::byte* place, size_t bytes) const {
    return reader_.read(Note::address(note), place, bytes);
  }
  bool can_read() const { return reader_.can_read(); }
  /// Asks the lender to put a message, numbered from 1, into its slot, and whether it has.
  bool is_copied(uint64_t message);

 private:
  Result<bool> hear_one(const Fd& socket);
  void try_to_read(const Fd& socket, const Landmark& landmark);
  void refuse(const Status& why);

  LoanWords* words_ = nullptr;
  uint32_t answered_ = 0;
  bool refuses_ = false;
  std::map<uint32_t, SharedSegment> loans_;
  ReadPeer read_peer_ = ReadPeer::Never;
  ProcessReader reader_;
};

}  // namespace rondo::shm
