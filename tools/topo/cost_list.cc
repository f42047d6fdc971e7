// SPDX-License-Identifier: Apache-2.0
#include "cost_list.h"

#include <fmt/format.h>

#include "base/cost_table.h"

namespace rondo::topo {

std::string cost_list() {
  constexpr double kKiB = 1024;
  std::string text =
      "What messages are taken to cost, in us, where each rank has a CPU of its own (verbs: at 1 "
      "Gbit/s):\n\n";
  text += fmt::format("{:<26} {:>8} {:>8} {:>8} {:>8}\n", "way", "latency", "KiB", "message", "fold KiB");
  for (const CostRow& row : cost_rows())
    text += fmt::format("{:<26} {:>8.3g} {:>8.2g} {:>8.2g} {:>8.2g}  {}, {}\n", row.name, row.cost.latency_us,
                        kKiB * row.cost.us_per_byte, row.cost.us_per_message,
                        kKiB * row.cost.us_per_folded_byte, row.source, row.date);
  text += fmt::format("\nLengths at which the choice changes:\n\n{:<26} {:>8}\n", "", "bytes");
  for (const ThresholdRow& row : threshold_rows())
    text += fmt::format("{:<26} {:>8}  {}, {}\n", row.name, row.bytes, row.source, row.date);
  return text;
}

}  // namespace rondo::topo
