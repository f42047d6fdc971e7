// SPDX-License-Identifier: Apache-2.0
// The plugin transport: ranks of any hosts, over a network plugin made for NCCL that the user names.
#include <atomic>

#include "base/error_kinds.h"
#include "base/log.h"
#include "plugin/connection.h"
#include "transports/transport.h"

namespace rondo {
namespace {

/// So that a connection registers 2 MiB, with four slots each way.
constexpr size_t kPluginSlotBytes = size_t{256} * 1024;

LinkCost plugin_cost(const LinkLoad& load) { return load.costs[CostKind::Plugin]; }

Result<std::unique_ptr<Connection>> plugin_connect(std::unique_ptr<Link> link,
                                                   const ConnectionParams& params) {
  RONDO_TRY(check_params(params));
  const std::string file = plugin::wanted_file();
  if (file.empty())
    return error(ErrorKind::NoPluginNamed, "no network plugin can be used: RONDO_NET_PLUGIN names none");
  RONDO_TRY_ASSIGN(auto loaded, plugin::loaded_plugin(file));
  auto connection = std::make_unique<plugin::PluginConnection>(plugin::PluginTerms{
      .params = agreed(params), .plugin = std::move(loaded), .peer = link->peer(), .lane = link->key().port});
  RONDO_TRY(connection->begin(std::move(link)));
  return std::unique_ptr<Connection>(std::move(connection));
}

/// One bit: a plugin that the user names is used as far as it works. If not, other transports are.
Result<Transport::OwnFabrics> plugin_fabrics() {
  const std::string file = plugin::wanted_file();
  if (file.empty()) return Transport::OwnFabrics();
  const auto loaded = plugin::loaded_plugin(file);
  if (loaded.ok()) return Transport::OwnFabrics{.bits = 1};
  static std::atomic<bool> told = false;
  if (!told.exchange(true))
    log().warn("{}; other hosts are reached over InfiniBand, RoCE or TCP instead [{}]",
               loaded.status().message(), loaded.status().id());
  return Transport::OwnFabrics();
}

}  // namespace

Transport plugin_transport() {
  return {.name = "plugin",
          .summary = "processes of any hosts, over a network plugin made for NCCL",
          .medium = Medium::Network,
          .slot_bytes = kPluginSlotBytes,
          .cost = plugin_cost,
          .reaches = [](const Endpoint&, const Endpoint&) { return true; },
          .connect = plugin_connect,
          .fabrics = plugin_fabrics};
}

}  // namespace rondo
