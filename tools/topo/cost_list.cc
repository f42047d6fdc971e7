// SPDX-License-Identifier: Apache-2.0
#include "cost_list.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/cost_table.h"
#include "base/saved_costs.h"

namespace rondo::topo {

std::string cost_list() {
  constexpr double kKiB = 1024;
  std::string text =
      "What messages are taken to cost, in us, where each rank has a CPU of its own (verbs: at 1 "
      "Gbit/s):\n\n";
  text += fmt::format("{:<26} {:>8} {:>8} {:>8} {:>8}\n", "way", "latency", "KiB", "message", "fold KiB");
  const auto measured = saved_costs();
  const CostTable table = measured ? cost_table(measured->costs) : CostTable();
  for (const CostRow& row : cost_rows()) {
    const LinkCost& cost = table[row.kind];
    const bool is_measured = measured && std::ranges::any_of(host_figures(), [&](const HostFigure& figure) {
                               return figure.kind == row.kind;
                             });
    const std::string source =
        is_measured ? fmt::format("measured: {}, {}", saved_costs_path().take(), measured->date)
                    : fmt::format("{}, {}", row.source, row.date);
    text += fmt::format("{:<26} {:>8.3g} {:>8.2g} {:>8.2g} {:>8.2g}  {}\n", row.name, cost.latency_us,
                        kKiB * cost.us_per_byte, cost.us_per_message, kKiB * cost.us_per_folded_byte, source);
  }
  text += fmt::format("\nLengths at which the choice changes:\n\n{:<26} {:>8}\n", "", "bytes");
  for (const ThresholdRow& row : threshold_rows())
    text += fmt::format("{:<26} {:>8}  {}, {}\n", row.name, row.value, row.source, row.date);
  text += "\nOther figures:\n\n";
  for (const FactorRow& row : factor_rows())
    text += fmt::format("{:<26} {:>8}  {}, {}\n", row.name, row.value, row.source, row.date);
  return text;
}

}  // namespace rondo::topo
