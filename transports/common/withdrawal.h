// Withdrawal: how a sender takes messages back that it has posted, see Connection::withdraw(), while the
// receiver may be reading one of them. Two words that both ends see; each end is used by one thread.
#pragma once

#include <cstdint>

namespace rondo {

/// All 0 at first. Each is written by one end.
struct WithdrawalWords {
  alignas(128) uint32_t withdrawn = 0;
  alignas(128) uint32_t reading = 0;
};

class Withdrawal {
 public:
  Withdrawal() = default;
  explicit Withdrawal(WithdrawalWords& words) : words_(&words) {}

  /// The sender: afterwards the receiver begins to read nothing that was posted. Waits for one that is in the
  /// middle of it, at the longest Connection::kWithdrawMs; the first time alone.
  void take_back();

  /// The receiver, before it reads; false: it must not. Once it may, it may until end_reading().
  bool begin_reading();
  /// Whether nothing was taken back since then, so that what has been read was the sender's message.
  bool is_undisturbed() const;
  void end_reading();

 private:
  WithdrawalWords* words_ = nullptr;
  bool reads_ = false;
  bool has_taken_back_ = false;
};

}  // namespace rondo
