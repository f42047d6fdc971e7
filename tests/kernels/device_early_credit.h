// SPDX-License-Identifier: Apache-2.0
// The device executor with a fault: it returns the credit for a slot as soon as a message has arrived, before
// its data has been read.
#pragma once

#include "execute.h"

namespace rondo {

template <class P>
struct EarlyCredit : P {
  static bool take(const device::LaneConnection& connection, uint64_t slot, uint64_t index,
                   const device::DeviceMessage& message, device::Wait wait, device::CallHealth& health) {
    if (!P::take(connection, slot, index, message, wait, health)) return false;
    device::store_after_reads(&connection.in.released->value, connection.received + 1);
    return true;
  }
};

inline void execute_with_early_credits(const device::CallList& list, uint32_t index, device::Block& block,
                                       device::Shared& shared) {
  using namespace device;
  const LaneWork work = work_of(list, index, block, shared);
  switch (work.program.protocol) {
    case Protocol::Simple: return LaneRun<EarlyCredit<SimpleProtocol>>(work).run();
    case Protocol::LL: return LaneRun<EarlyCredit<LineProtocol<Protocol::LL>>>(work).run();
    case Protocol::LL128: return LaneRun<EarlyCredit<LineProtocol<Protocol::LL128>>>(work).run();
  }
}

}  // namespace rondo
