// SPDX-License-Identifier: Apache-2.0
// The protocols LL and LL128 except for their data, which fold() sends and receives line by line
// (line_folding.h). A message's opening is sent as soon as there is room, while incoming data may still be in
// flight, so that it adds no latency. Called by the one thread that handles a connection. Device code.
#pragma once

#include "lines.h"
#include "message.h"
#include "wait.h"

namespace rondo::device {

template <Protocol kWhich>
struct LineProtocol {
  static constexpr Protocol kProtocol = kWhich;
  static constexpr uint64_t kBefore = kOpeningBytes;  // bytes of a slot before the data

  /// Waits for the message's opening and checks it; false on a mismatch or if the call is stopped.
  static RONDO_DEVICE bool take(const LaneConnection& connection, uint64_t slot, uint64_t index,
                                const DeviceMessage& message, Wait wait, CallHealth& health) {
    const auto* opening =
        reinterpret_cast<const Words*>(connection.in.memory + slot * connection.in.stride_bytes);
    const uint32_t flag = word_flag(connection.received);
    Words came = load_words(opening);
    for (; flag_of(came.first) != flag || flag_of(came.second) != flag; came = load_words(opening))
      if (wait.stopped()) return false;
    const uint32_t hash = data_of(came.first);
    const uint32_t bytes = data_of(came.second);
    if (hash == message.hash && bytes == static_cast<uint32_t>(message.bytes)) return true;
    report_mismatch(health, index, [&] {
      write(&health.bytes, uint64_t{bytes});
      write(&health.expected, message.bytes);
      write(&health.hashed, uint64_t{1});
      write(&health.hash, uint64_t{hash});
    });
    return false;
  }

  static RONDO_DEVICE void open(const LaneConnection& connection, std::byte* slot,
                                const DeviceMessage& message) {
    const uint32_t flag = word_flag(connection.sent);
    store_words(reinterpret_cast<Words*>(slot),
                {flagged(message.hash, flag), flagged(static_cast<uint32_t>(message.bytes), flag)});
  }

  /// Nothing to do: each line carries its own flag.
  static RONDO_DEVICE void send(const LaneConnection&, const DeviceMessage&) {}

  /// The flag of the data lines in message k of a connection.
  static RONDO_DEVICE uint64_t flag(uint64_t k) { return kWhich == Protocol::LL ? word_flag(k) : k + 1; }
};

}  // namespace rondo::device
