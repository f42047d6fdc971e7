// SPDX-License-Identifier: Apache-2.0
// The verbs transport: ranks of any hosts that reach one another by InfiniBand or RoCE.
#include <mutex>

#include "base/log.h"
#include "base/settings.h"
#include "common/params.h"
#include "transports/transport.h"
#include "verbs/connection.h"
#include "verbs/fabrics.h"

namespace rondo {
namespace {

/// So that a connection pins 2 MiB: room for four slots and one more each way (verbs/message_ring.h).
constexpr size_t kVerbsSlotBytes = size_t{208} * 1024;

LinkCost verbs_cost(const LinkLoad& load) {
  constexpr double kUsualRate_Gbps = 100;
  LinkCost cost = load.costs[CostKind::Verbs];
  cost.us_per_byte /= load.rate_Gbps > 0 ? load.rate_Gbps : kUsualRate_Gbps;
  return cost;
}

/// A variable of the table; others have no effect yet.
std::optional<std::string> variable(std::string_view name) {
  const auto rows = all_settings();
  for (size_t i = 0; i < rows.size(); ++i)
    if (rows[i].variable == name) return setting(static_cast<Setting>(i));
  return std::nullopt;
}

Result<std::unique_ptr<Connection>> verbs_connect(std::unique_ptr<Link> link,
                                                  const ConnectionParams& params) {
  RONDO_TRY(check_params(params));
  RONDO_TRY(verbs::library().status());
  RONDO_TRY_ASSIGN(verbs::VerbsSettings settings, verbs::read_settings(variable));
  if (!settings.traffic_class && params.traffic_class != 0) settings.traffic_class = params.traffic_class;
  static std::once_flag told;
  std::call_once(told, [&] {
    for (const std::string& sentence : settings.ignored) log().info("{}", sentence);
  });
  verbs::VerbsTerms terms{.params = agreed(params),
                          .session = link->key().session,
                          .lane = link->key().port,
                          .peer = link->peer(),
                          .dials = link->dials(),
                          .turn = params.turn,
                          .place = verbs::location_of_rank(params.gpu),
                          .reads_back = params.gpu_reads_back && settings.gpu_direct.value_or(true),
                          .settings = std::move(settings)};
  verbs::ConnectionPages pages;
  RONDO_TRY_ASSIGN(pages.outgoing, verbs::SlotPages::make(terms.layout()));
  RONDO_TRY_ASSIGN(pages.incoming, verbs::SlotPages::make(terms.layout()));
  auto connection = std::make_unique<verbs::VerbsConnection>(std::move(terms), std::move(pages));
  RONDO_TRY(connection->begin(std::move(link)));
  return std::unique_ptr<Connection>(std::move(connection));
}

Result<Transport::OwnFabrics> verbs_fabrics() {
  RONDO_TRY_ASSIGN(const verbs::VerbsSettings settings, verbs::read_settings(variable));
  return verbs::find_fabrics(settings, {static_cast<uint64_t>(ConnectionParams().slots), kVerbsSlotBytes});
}

}  // namespace

Transport verbs_transport() {
  return {.name = "verbs",
          .summary = "processes of any hosts, over InfiniBand or RoCE",
          .medium = Medium::Network,
          .slot_bytes = kVerbsSlotBytes,
          .cost = verbs_cost,
          .reaches = [](const Endpoint&, const Endpoint&) { return true; },
          .connect = verbs_connect,
          .fabrics = verbs_fabrics};
}

}  // namespace rondo
