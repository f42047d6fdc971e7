// Loans: memory of one end of a shm connection that the other maps, and reads where it lies. Each end that
// lends dials a Unix socket for it when it first does, over which memfds go. Used by the connection's thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "base/fd.h"
#include "base/lendable.h"
#include "base/shared_segment.h"
#include "base/status.h"
#include "transports/transport.h"

namespace rondo::shm {

inline constexpr size_t kMostLoans = 256;  // at a time

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
  /// Lends the memory, if it is not lent yet and there is room for it. Takes back first what has been freed.
  void lend(const Lendable& memory, Link& link);
  /// How a message says where its bytes are; 0: they are in no memory that is lent.
  uint64_t note_for(const std::byte* data, size_t bytes) const;

 private:
  struct Loan {
    Lendable memory;
    uint32_t number = 0;
  };
  Result<bool> tell(uint32_t loan, const Lendable* memory);
  Result<bool> take_freed_back();
  Status try_to_lend(const Lendable& memory, Link& link);

  std::vector<Loan> loans_;
  uint32_t numbers_ = 0;
  Fd socket_;
  bool has_failed_ = false;
};

class Borrower {
 public:
  /// The bytes that a note speaks of; null while the peer's word of them is under way.
  Result<const std::byte*> find(uint64_t note, size_t bytes, Link& link);

 private:
  Result<bool> hear();

  std::map<uint32_t, SharedSegment> loans_;
  Fd socket_;
};

}  // namespace rondo::shm
