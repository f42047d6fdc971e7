// SPDX-License-Identifier: Apache-2.0
#include "curves.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

namespace rondo::perf {
namespace {

constexpr size_t kStylesOfRun = 14;  // all colours with two dashes each

using Description = std::array<std::string, 7>;

// Describes a row except for its size; parts that all rows share go into the title, the others into the names
// of curves.
Description describe(const Row& row) {
  return {row.run,
          row.collective,
          fmt::format("{} rank{}", row.ranks, row.ranks == 1 ? "" : "s"),
          row.automatic ? "" : row.algorithm,
          row.transport,
          row.op == "none" ? row.type : row.type + " " + row.op,
          row.root > 0 ? fmt::format("root {}", row.root) : ""};
}

std::string joined(const std::vector<std::string>& parts) {
  std::string text;
  for (const std::string& part : parts) {
    if (!part.empty()) text += (text.empty() ? "" : ", ") + part;
  }
  return text;
}

// Files that are compared may say anything.
bool has_place(double value) { return value > 1e-9 && value < 1e15; }

void add_point(const Row& row, size_t index, const std::optional<Timing>& timing,
               std::vector<CurvePoint>& points) {
  if (!timing || row.bytes == 0 || !has_place(timing->time_us)) return;
  const double busbw = has_place(timing->busbw) ? timing->busbw : 0;
  CurvePoint point{static_cast<double>(row.bytes), timing->time_us, busbw, 0, 0, index};
  if (timing->iterations && !timing->iterations->times_us.empty()) {
    const IterationStatistics spread = statistics_of(*timing->iterations);
    if (has_place(spread.least_us) && has_place(spread.p99_us)) {
      point.fast_us = spread.least_us;
      point.slow_us = spread.p99_us;
    }
  }
  points.push_back(point);
}

void sort_by_size(std::vector<CurvePoint>& points) {
  std::stable_sort(points.begin(), points.end(),
                   [](const CurvePoint& a, const CurvePoint& b) { return a.bytes < b.bytes; });
}

}  // namespace

CurveSet curves_of(const std::vector<Row>& rows) {
  std::array<bool, std::tuple_size_v<Description>> differs{};
  std::vector<Description> described;
  for (const Row& row : rows) {
    described.push_back(describe(row));
    for (size_t i = 0; i < differs.size(); ++i) differs[i] |= described.back()[i] != described[0][i];
  }
  CurveSet set;
  std::map<std::string, size_t> index, calls;
  for (size_t at = 0; at < rows.size(); ++at) {
    std::vector<std::string> own, shared;
    const Description& parts = described[at];
    for (size_t i = 0; i < parts.size(); ++i) (differs[i] ? own : shared).push_back(parts[i]);
    set.title = joined(shared);
    Curve points;
    add_point(rows[at], at, rows[at].out_of_place, points.out_of_place);
    add_point(rows[at], at, rows[at].in_place, points.in_place);
    if (points.out_of_place.empty() && points.in_place.empty()) continue;
    std::string name = joined(own);
    if (name.empty()) name = rows[at].collective;
    const auto [found, fresh] = index.try_emplace(name, set.curves.size());
    if (fresh) {
      if (differs[0]) own.erase(own.begin());  // the run
      const size_t call = calls.try_emplace(joined(own), calls.size()).first->second;
      const bool is_second = differs[0] && rows[at].run != rows[0].run;
      set.curves.push_back({name, call + (is_second ? kStylesOfRun : 0), {}, {}});
    }
    Curve& curve = set.curves[found->second];
    curve.out_of_place.insert(curve.out_of_place.end(), points.out_of_place.begin(),
                              points.out_of_place.end());
    curve.in_place.insert(curve.in_place.end(), points.in_place.begin(), points.in_place.end());
  }
  for (Curve& curve : set.curves) {
    sort_by_size(curve.out_of_place);
    sort_by_size(curve.in_place);
  }
  if (set.title.empty()) set.title = "collectives";
  return set;
}

const CurveMeasure kBusBandwidth{
    "Bus bandwidth", "GB/s", [](const CurvePoint& point) { return point.busbw; },
    [](const CurvePoint& point, double time_us) { return point.busbw * point.time_us / time_us; }};

const CurveMeasure kCallTime{"Time of a call", "microseconds",
                             [](const CurvePoint& point) { return point.time_us; },
                             [](const CurvePoint&, double time_us) { return time_us; }};

void ValueRange::include(double value) {
  if (value <= 0) return;
  least = least == 0 ? value : std::min(least, value);
  most = std::max(most, value);
}

CurveRanges ranges_of(const CurveSet& set, const CurveMeasure& measure, PlottedForms forms) {
  CurveRanges ranges;
  const auto include = [&](const CurvePoint& point) {
    ranges.sizes.include(point.bytes);
    ranges.values.include(measure.value(point));
    if (forms == PlottedForms::OutOfPlace || point.fast_us <= 0) return;
    for (const double time_us : {point.fast_us, point.slow_us})
      ranges.values.include(measure.at_time(point, time_us));
  };
  for (const Curve& curve : set.curves) {
    for (const CurvePoint& point : curve.out_of_place) include(point);
    if (forms == PlottedForms::Both)
      for (const CurvePoint& point : curve.in_place) include(point);
  }
  if (ranges.values.empty()) return {};
  return ranges;
}

}  // namespace rondo::perf
