// SPDX-License-Identifier: Apache-2.0
// VerbsTerms: what a connection is for. Plain data.
#pragma once

#include <memory>
#include <string>

#include "common/params.h"
#include "verbs/settings.h"
#include "verbs/slot_memory.h"

namespace rondo::verbs {

struct VerbsTerms {
  AgreedParams params;
  uint64_t session = 0;
  uint16_t lane = 0;
  int peer = -1;  // rank
  bool dials = false;
  uint32_t turn = 0;  // ConnectionParams'
  RankLocation place;
  bool reads_back = false;  // what arrives in memory of the rank's GPU
  VerbsSettings settings;

  RingLayout layout() const { return {params.slots, params.slot_bytes}; }
};

/// The memory of a connection, whatever paths it uses.
struct ConnectionPages {
  std::shared_ptr<const SlotPages> outgoing;
  std::shared_ptr<const SlotPages> incoming;
};

/// The path that a connection has used until it failed.
struct LostPath {
  std::string path;  // as path_text(); empty: there was none
  std::string failure;
  bool was_last = false;  // too many have failed without having carried anything
};

}  // namespace rondo::verbs
