// SPDX-License-Identifier: Apache-2.0
// PluginTerms: what a connection is for, and over what. Plain data.
#pragma once

#include "common/params.h"
#include "common/slot_layout.h"
#include "plugin/loaded.h"

namespace rondo::plugin {

struct PluginTerms {
  AgreedParams params;
  std::shared_ptr<const LoadedPlugin> plugin;
  int peer = -1;  // rank
  uint16_t lane = 0;
  int64_t connect_ms = 30'000;  // for the plugin, once both ends are there

  NetPlugin& net() const { return *plugin->net; }
  /// Each lane's own, as far as there are enough: the two ends choose their devices independently.
  const NetDevice& device() const { return plugin->devices[lane % plugin->devices.size()]; }
  SlotLayout layout() const { return {params.slots, params.slot_bytes}; }
};

}  // namespace rondo::plugin
