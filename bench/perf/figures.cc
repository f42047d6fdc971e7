// SPDX-License-Identifier: Apache-2.0
#include "figures.h"

#include <fmt/format.h>

#include <optional>

#include "handoff.h"
#include "sizes.h"

namespace rondo::perf {
namespace {

// A form of a row.
struct FigureSource {
  const Row& row;
  const Timing& timing;
  bool in_place = false;
  std::optional<IterationStatistics> iterations;
};

struct ColumnRow {
  const char* title;
  bool of_point;    // see FigureColumn
  bool own_always;  // a column even if all lines have the same
  std::string (*text)(const FigureSource&);
};

std::string figure_text(double value) { return fmt::format("{:.6g}", value); }

std::string figure_text(const std::optional<double>& value) { return value ? figure_text(*value) : ""; }

std::string figure_text(const std::optional<size_t>& value) { return value ? fmt::format("{}", *value) : ""; }

std::string or_nothing(const std::string& text) { return text == "none" ? "" : text; }

constexpr ColumnRow kFigureColumns[] = {
    {"run", false, false, [](const FigureSource& s) { return s.row.run; }},
    {"collective", false, false, [](const FigureSource& s) { return s.row.collective; }},
    {"ranks", false, false, [](const FigureSource& s) { return fmt::format("{}", s.row.ranks); }},
    {"type", false, false, [](const FigureSource& s) { return or_nothing(s.row.type); }},
    {"operation", false, false, [](const FigureSource& s) { return or_nothing(s.row.op); }},
    {"root", false, false,
     [](const FigureSource& s) { return s.row.root < 0 ? "" : fmt::format("{}", s.row.root); }},
    {"size", true, true, [](const FigureSource& s) { return format_size(static_cast<double>(s.row.bytes)); }},
    {"bytes", false, true, [](const FigureSource& s) { return fmt::format("{}", s.row.bytes); }},
    {"count", false, false, [](const FigureSource& s) { return fmt::format("{}", s.row.count); }},
    {"algorithm", true, false, [](const FigureSource& s) { return or_nothing(s.row.algorithm); }},
    {"transport", false, false, [](const FigureSource& s) { return s.row.transport; }},
    {"form", true, true,
     [](const FigureSource& s) { return std::string(s.in_place ? "in place" : "out of place"); }},
    {"time, \xC2\xB5s", true, true, [](const FigureSource& s) { return figure_text(s.timing.time_us); }},
    {"algorithm bandwidth, GB/s", true, true,
     [](const FigureSource& s) { return figure_text(s.timing.algbw); }},
    {"bus bandwidth, GB/s", true, true, [](const FigureSource& s) { return figure_text(s.timing.busbw); }},
    {"wrong", false, false, [](const FigureSource& s) { return figure_text(s.timing.wrong); }},
    {"limit, \xC2\xB5s", true, false, [](const FigureSource& s) { return figure_text(s.timing.limit_us); }},
    {"fastest, \xC2\xB5s", true, true,
     [](const FigureSource& s) { return s.iterations ? figure_text(s.iterations->least_us) : ""; }},
    {"p50, \xC2\xB5s", true, true,
     [](const FigureSource& s) { return s.iterations ? figure_text(s.iterations->p50_us) : ""; }},
    {"p95, \xC2\xB5s", true, true,
     [](const FigureSource& s) { return s.iterations ? figure_text(s.iterations->p95_us) : ""; }},
    {"p99, \xC2\xB5s", true, true,
     [](const FigureSource& s) { return s.iterations ? figure_text(s.iterations->p99_us) : ""; }},
    {"slowest, \xC2\xB5s", true, true,
     [](const FigureSource& s) { return s.iterations ? figure_text(s.iterations->most_us) : ""; }},
    {"deviation, %", false, true,
     [](const FigureSource& s) {
       return s.iterations ? figure_text(s.iterations->variation_percent()) : "";
     }},
    {"memory", false, false, [](const FigureSource& s) { return s.row.setup.memory; }},
    {"calls", false, false, [](const FigureSource& s) { return s.row.setup.calls; }},
    {"clock", false, false, [](const FigureSource& s) { return s.row.setup.clock; }},
    {"inputs", false, false,
     [](const FigureSource& s) { return std::string(s.row.setup.fresh ? "fresh" : ""); }},
    {"GPU", false, false, [](const FigureSource& s) { return s.row.setup.gpu; }},
    {"driver", false, false, [](const FigureSource& s) { return s.row.setup.driver; }},
    {"cache line, ns", false, false,
     [](const FigureSource& s) { return figure_text(s.row.setup.handoff_ns); }},
    {"cache line after, ns", false, false,
     [](const FigureSource& s) { return figure_text(s.row.handoff_after_ns); }},
    {"state of the machine", false, false,
     [](const FigureSource& s) {
       return std::string(machine_state(s.row.setup.handoff_ns, s.row.handoff_after_ns));
     }},
};

bool all_equal(const std::vector<FigureLine>& lines, const std::vector<std::string>& cells) {
  for (size_t i = 1; i < lines.size(); ++i)
    if (cells[i] != cells[0]) return false;
  return true;
}

}  // namespace

FigureTable figures_of(const std::vector<Row>& rows) {
  FigureTable table;
  std::vector<FigureSource> sources;
  for (size_t i = 0; i < rows.size(); ++i) {
    for (const bool in_place : {false, true}) {
      const std::optional<Timing>& timing = in_place ? rows[i].in_place : rows[i].out_of_place;
      if (!timing) continue;
      std::optional<IterationStatistics> iterations;
      if (timing->iterations) iterations = statistics_of(*timing->iterations);
      sources.push_back({rows[i], *timing, in_place, iterations});
      table.lines.push_back({i, in_place, {}});
    }
  }
  for (const ColumnRow& column : kFigureColumns) {
    std::vector<std::string> cells;
    bool empty = true;
    for (const FigureSource& source : sources) {
      cells.push_back(column.text(source));
      empty &= cells.back().empty();
    }
    if (empty) continue;
    if (!column.own_always && all_equal(table.lines, cells)) {
      table.shared.emplace_back(column.title, cells[0]);
      continue;
    }
    table.columns.push_back({column.title, column.of_point});
    for (size_t i = 0; i < cells.size(); ++i) table.lines[i].cells.push_back(cells[i]);
  }
  return table;
}

}  // namespace rondo::perf
