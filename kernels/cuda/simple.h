// SPDX-License-Identifier: Apache-2.0
// The protocol Simple: a message's bytes, then its slot's header, whose word `ready` publishes both. Called
// by the one thread that handles a connection. Device code.
#pragma once

#include "message.h"
#include "wait.h"

namespace rondo::device {

struct SimpleProtocol {
  static constexpr Protocol kProtocol = Protocol::Simple;
  static constexpr uint64_t kBefore = 0;  // bytes of a slot before the data

  /// Waits for the message and checks it; false on a mismatch or if the call is stopped.
  static RONDO_DEVICE bool take(const LaneConnection& connection, uint64_t slot, uint64_t index,
                                const DeviceMessage& message, Wait wait, CallHealth& health) {
    const SlotHeader& header = connection.in.headers[slot];
    while (load_acquire(Word::Ready, &header.ready) != connection.received + 1)  // pairs with send()
      if (wait.stopped()) return false;
    if (read(&header.bytes) == message.bytes && same(read(&header.signature), message.signature)) return true;
    report_mismatch(health, index, [&] {
      write(&health.bytes, uint64_t{read(&header.bytes)});
      write(&health.expected, message.bytes);
      write(&health.signature, read(&header.signature));
    });
    return false;
  }

  static RONDO_DEVICE void open(const LaneConnection&, std::byte*, const DeviceMessage&) {}

  static RONDO_DEVICE void send(const LaneConnection& connection, const DeviceMessage& message) {
    SlotHeader& header = connection.out.headers[connection.sent % connection.out.slots];
    write(&header.bytes, static_cast<uint32_t>(message.bytes));
    write(&header.signature, message.signature);
    // Pairs with the acquire load in take(): after the barrier, it publishes the writes of all threads.
    store_release(Word::Ready, &header.ready, connection.sent + 1);
  }

  static RONDO_DEVICE uint64_t flag(uint64_t) { return 0; }

 private:
  static RONDO_DEVICE bool same(const Signature& a, const Signature& b) {
    return a.count == b.count && a.plan == b.plan && a.sequence == b.sequence && a.type == b.type &&
           a.type_bytes == b.type_bytes && a.op == b.op && a.root == b.root && a.kind == b.kind &&
           a.varying == b.varying && a.on_gpu == b.on_gpu;
  }
};

}  // namespace rondo::device
