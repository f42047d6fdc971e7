// The device executor with a fault: it gives a slot back as soon as it knows that a message is there, before
// anybody has read what is in it.
#pragma once

#include "execute.h"

namespace rondo {

template <class P>
struct EarlyCredit : P {
  static bool take(const device::LaneConnection& connection, uint64_t slot, uint64_t index,
                   const device::Message& message, device::Wait wait, device::CallHealth& health) {
    if (!P::take(connection, slot, index, message, wait, health)) return false;
    device::store_after_reads(&connection.in.released->value, connection.received + 1);
    return true;
  }
};

inline void execute_with_early_credits(const device::CallList& list, uint32_t index, device::Block& block,
                                       device::Shared& shared) {
  using namespace device;
  const Work work = work_of(list, index, block, shared);
  switch (work.program.protocol) {
    case Protocol::Simple: return LaneRun<EarlyCredit<SimpleProtocol>>(work).run();
    case Protocol::LL: return LaneRun<EarlyCredit<LineProtocol<Protocol::LL>>>(work).run();
    case Protocol::LL128: return LaneRun<EarlyCredit<LineProtocol<Protocol::LL128>>>(work).run();
  }
}

}  // namespace rondo
