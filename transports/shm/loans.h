// Loans: memory of one end of a shm connection that the other maps, and reads where it lies. The memfds go
// over the connection's socket; words that both ends see say when to look there, and what was mapped, so
// that nobody waits for anybody. Used by the connection's thread.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "base/fd.h"
#include "base/lendable.h"
#include "base/shared_segment.h"
#include "base/status.h"

namespace rondo::shm {

inline constexpr size_t kMostLoans = 256;  // at a time

/// Of one direction; all 0 at first.
struct LoanWords {
  alignas(128) uint32_t told = 0;      // messages that the lender has sent
  alignas(128) uint32_t answered = 0;  // of them, those that the borrower has acted on
  uint32_t refuses = 0;                // 1: the borrower maps nothing more
};

/// What goes over the socket, for memory that is lent with its memfd.
struct LoanMessage {
  static constexpr uint32_t kLoan = 0x6c687352;  // "Rshl"
  uint32_t magic = kLoan;
  uint32_t loan = 0;   // from 1, each number once
  uint64_t bytes = 0;  // 0: the memory has been freed
};
static_assert(sizeof(LoanMessage) == 16);

class Lender {
 public:
  Lender() = default;
  explicit Lender(LoanWords& words) : words_(&words) {}

  /// Lends the memory over the socket if it can be done at once, there is room for another loan, and the
  /// borrower takes it; tells it first of memory that has been freed.
  void lend(const Lendable& memory, const Fd& socket);
  /// How a message says where its bytes are; 0: not in memory that the borrower is known to have mapped.
  uint64_t note_for(const std::byte* data, size_t bytes) const;

 private:
  struct Loan {
    Lendable memory;      // without its descriptor
    uint32_t number = 0;  // from 1
    uint32_t message = 0;
  };
  bool refused() const;
  Result<bool> tell(const Fd& socket, uint32_t loan, const Lendable* memory);
  Result<bool> take_freed_back(const Fd& socket);
  Status try_to_lend(const Lendable& memory, const Fd& socket);

  LoanWords* words_ = nullptr;
  std::vector<Loan> loans_;
  uint32_t numbers_ = 0;
  uint32_t told_ = 0;
  uint64_t frees_ = 0;  // of all lendable memory, when freed loans were last looked for
  bool has_failed_ = false;
};

class Borrower {
 public:
  Borrower() = default;
  explicit Borrower(LoanWords& words) : words_(&words) {}

  /// Acts on what the lender has told; an error where that is nonsense. Where memory cannot be mapped, the
  /// lender goes on without.
  Status hear(const Fd& socket);
  bool has_news() const {
    return !refuses_ && words_ != nullptr &&
           std::atomic_ref(words_->told).load(std::memory_order_acquire) != answered_;
  }
  /// The bytes that a note speaks of.
  Result<const std::byte*> find(uint64_t note, size_t bytes) const;

 private:
  Result<bool> hear_one(const Fd& socket);
  void refuse(const Status& why);

  LoanWords* words_ = nullptr;
  uint32_t answered_ = 0;
  bool refuses_ = false;
  std::map<uint32_t, SharedSegment> loans_;
};

}  // namespace rondo::shm
