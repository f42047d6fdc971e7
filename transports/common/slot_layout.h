// SPDX-License-Identifier: Apache-2.0
// SlotLayout: where the slots of one direction of a connection lie in their memory, each a SlotHeader and the
// bytes of a message. The same at both ends.
#pragma once

#include "common/aligned_bytes.h"
#include "schedule/fifo_layout.h"

namespace rondo {

struct SlotLayout {
  uint64_t slots = 0;
  uint64_t slot_bytes = 0;

  uint64_t stride() const { return sizeof(SlotHeader) + aligned_size(slot_bytes); }
  uint64_t bytes() const { return slots * stride(); }
  /// Of a message's slot; messages are numbered from 0.
  uint64_t offset(uint64_t message) const { return message % slots * stride(); }
};

}  // namespace rondo
