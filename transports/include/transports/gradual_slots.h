// SPDX-License-Identifier: Apache-2.0
// GradualSlots: the optional part of a Connection by which the receiver reads a long message while the sender
// is still writing it, so that the two copies take little longer than one. Used by the connection's thread.
#pragma once

#include <cstddef>
#include <optional>

#include "base/signature.h"
#include "transports/connection.h"

namespace rondo {

class GradualSlots {
 public:
  // The sending end:

  /// Less is sent whole: each piece costs the transfer of a cache line.
  static constexpr size_t kLeast = size_t{16} * 1024;
  /// Instead of commit(): sends `bytes`, at least 1, of the acquired slot before they are there. The slot
  /// must have been acquired for kLeast bytes or more, or for any length.
  virtual void begin(size_t bytes, const Signature& signature) = 0;
  /// The first `bytes` of the message are in the slot. Nothing else may be done with the connection until all
  /// are; they must follow at once, since the receiver may be polling for them.
  virtual void grown(size_t bytes) = 0;

  // The receiving end:

  /// As peek(), which returns whole messages only, but as soon as the message has begun.
  virtual const Arrival* peek_begun() = 0;
  /// How many bytes of that message are there. Polls briefly for more than `seen`.
  virtual size_t bytes_there(size_t seen) = 0;

 protected:
  ~GradualSlots() = default;
};

}  // namespace rondo
