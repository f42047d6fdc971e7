// SPDX-License-Identifier: Apache-2.0
// VerbsTerms: what a connection is for. Plain data.
#pragma once

#include "common/params.h"
#include "verbs/settings.h"
#include "verbs/slot_layout.h"

namespace rondo::verbs {

struct VerbsTerms {
  AgreedParams params;
  uint64_t session = 0;
  uint16_t lane = 0;
  int peer = -1;  // rank
  bool dials = false;
  VerbsSettings settings;

  SlotLayout layout() const { return {params.slots, params.slot_bytes}; }
};

}  // namespace rondo::verbs
