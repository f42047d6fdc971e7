// SPDX-License-Identifier: Apache-2.0
// Ticket: tells the host in which order streams reached a point. Device code.
#pragma once

#include "device.h"
#include "kernels.h"

namespace rondo::device {

/// Called by one thread of a launch. Each graph replay draws a new ticket, so the host sees every order.
RONDO_DEVICE void draw(const Ticket& ticket) {
  store_release(Word::Ready, ticket.word, add(ticket.counter, 1) + 1);  // pairs with the host's acquire load
}

}  // namespace rondo::device
