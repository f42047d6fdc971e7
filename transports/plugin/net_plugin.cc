// SPDX-License-Identifier: Apache-2.0
#include "plugin/net_plugin.h"

#include "base/error_kinds.h"
#include "base/log.h"
#include "plugin/adapter.h"

namespace rondo::plugin {
namespace {

/// As NCCL names them.
std::string result_name(int result) {
  constexpr const char* kNames[] = {"ncclSuccess",       "ncclUnhandledCudaError", "ncclSystemError",
                                    "ncclInternalError", "ncclInvalidArgument",    "ncclInvalidUsage",
                                    "ncclRemoteError",   "ncclInProgress"};
  const bool is_known = result >= 0 && result < static_cast<int>(std::size(kNames));
  return fmt::format("{} ({})", is_known ? kNames[result] : "unknown result", result);
}

}  // namespace

/// The peer is at fault, as far as this end knows, unless the plugin did not like what it was given.
Status NetPlugin::failed(const char* function, int result) const {
  constexpr int kInvalidArgument = 4, kInvalidUsage = 5;
  const bool is_ours = result == kInvalidArgument || result == kInvalidUsage;
  return error(ErrorKind::PluginFailed, "{}() of the network plugin {} failed: {}", function, name_,
               result_name(result))
      .as(is_ours ? Code::SystemError : Code::RemoteError);
}

std::unique_ptr<NetPlugin> adapted(int version, const void* table) {
  switch (version) {
    case 8: return std::make_unique<PluginAdapter<Calls8>>(table);
    case 9: return std::make_unique<PluginAdapter<Calls9>>(table);
    case 10: return std::make_unique<PluginAdapter<Calls10>>(table);
    default: return std::make_unique<PluginAdapter<Calls11>>(table);
  }
}

void log_plugin_line(int level, std::string_view line) {
  if (level == kWarnLevel)
    log().warn("network plugin: {}", line);
  else
    log().debug("network plugin: {}", line);
}

}  // namespace rondo::plugin
