// SPDX-License-Identifier: Apache-2.0
// CancelGuard: lets a sender withdraw posted messages (see ZeroCopy::cancel()) while the receiver may be
// reading one of them. Two words shared by both ends; each end is used by one thread.
#pragma once

#include <cstdint>

namespace rondo {

/// Initially 0. The sender writes `cancelled`, the receiver `reading`.
struct CancelWords {
  alignas(128) uint32_t cancelled = 0;
  alignas(128) uint32_t reading = 0;
};

class CancelGuard {
 public:
  CancelGuard() = default;
  explicit CancelGuard(CancelWords& words) : words_(&words) {}

  /// For the sender: afterwards the receiver starts no read of a posted message. The first call waits for a
  /// read in progress, at most ZeroCopy::kCancelMs.
  void cancel();

  /// For the receiver, before it reads; false: it must not. Permission lasts until end_reading().
  bool begin_reading();
  /// Whether nothing was withdrawn since begin_reading(), so that the bytes read were the sender's message.
  bool is_undisturbed() const;
  void end_reading();

 private:
  CancelWords* words_ = nullptr;
  bool reads_ = false;
  bool has_cancelled_ = false;
};

}  // namespace rondo
