// SPDX-License-Identifier: Apache-2.0
// The loop of fold() when sources or results are lines: incoming data is combined and forwarded in registers.
// The loads of several sources are issued before the first is waited for. Device code.
#pragma once

#include "ll128_lines.h"
#include "ll_lines.h"

namespace rondo::device {

template <class Math, class Lines>
class LineFolding {
 public:
  RONDO_DEVICE LineFolding(const FoldTask& task, LaneIndex lane)
      : math_(task), task_(task), lines_(task, task.count * task.lines->type_bytes, lane) {}

  /// False: the call was stopped before all sources had arrived.
  RONDO_DEVICE bool run() {
    for (; lines_.more(); lines_.next()) {
      LineValues values{};
      if (!combine_sources(values)) return false;
      Pack packs[Lines::kPacks];
      for (uint32_t p = 0; p < Lines::kPacks; ++p) packs[p] = math_.pack_of(values.of[p]);
      for (int k = 0; k < task_.nouts; ++k) lines_.put(k, packs);
    }
    return true;
  }

 private:
  static constexpr int kInFlight = 4;  // sources

  struct LineValues {
    typename Math::Values of[Lines::kPacks];
  };

  RONDO_DEVICE bool combine_sources(LineValues& values) const {
    for (int first = 0; first < task_.nsources; first += kInFlight) {
      typename Lines::Look looks[kInFlight];
      for (int u = 0; u < kInFlight; ++u)
        if (first + u < task_.nsources) looks[u] = lines_.look(first + u);
      for (int u = 0; u < kInFlight; ++u)
        if (first + u < task_.nsources && !combine_source(first + u, looks[u], values)) return false;
    }
    return true;
  }
  RONDO_DEVICE bool combine_source(int k, const typename Lines::Look& look, LineValues& values) const {
    Pack packs[Lines::kPacks];
    if (!lines_.take(k, look, packs)) return false;
    for (uint32_t p = 0; p < Lines::kPacks; ++p) {
      const auto operand = math_.values_of(k, packs[p]);
      values.of[p] = k == 0 ? operand : math_.combine(values.of[p], operand);
    }
    return true;
  }

  Math math_;
  const FoldTask& task_;
  Lines lines_;
};

template <class Math>
RONDO_DEVICE_CALLED bool fold_lines(const FoldTask& task, LaneIndex lane) {
  if (task.lines->protocol == Protocol::LL) return LineFolding<Math, LLLines>(task, lane).run();
  return LineFolding<Math, LL128Lines>(task, lane).run();
}

}  // namespace rondo::device
