// Ticket: how the host learns in which order streams came to something. Device code.
#pragma once

#include "device.h"
#include "kernels.h"

namespace rondo::device {

/// By one thread of a launch. A ticket is drawn at each replay of a graph, so there is no order that is not
/// seen.
RONDO_DEVICE void draw(const Ticket& ticket) {
  store_release(Word::Ready, ticket.word, add(ticket.counter, 1) + 1);  // pairs with the host's acquire load
}

}  // namespace rondo::device
