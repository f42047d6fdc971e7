// SPDX-License-Identifier: Apache-2.0
// LoadedPlugin: the network plugin that the user names, loaded and initialised. A process does that once for
// each file, and keeps it until it ends. A forked child starts anew: what its parent has opened is not its
// own. Any thread; loading opens devices, which may take long.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "plugin/net_plugin.h"

namespace rondo::plugin {

struct LoadedPlugin {
  std::unique_ptr<NetPlugin> net;
  std::vector<NetDevice> devices;  // that take host memory, of the highest speed among them; not empty
};

/// The file that RONDO_NET_PLUGIN, or else NCCL_NET_PLUGIN, stands for; empty if they name none.
std::string wanted_file();

/// Loads it, unless that was done before. Unsupported if it cannot be used, in words that name the file.
Result<std::shared_ptr<const LoadedPlugin>> loaded_plugin(const std::string& file);

}  // namespace rondo::plugin
