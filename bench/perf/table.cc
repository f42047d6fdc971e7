// SPDX-License-Identifier: Apache-2.0
#include "table.h"

#include <fmt/format.h>

namespace rondo::perf {
namespace {

// nccl-tests' widths, except that the type column fits "complex128".
constexpr const char* kColumns = "{:>12}  {:>12}  {:>10}  {:>6}  {:>6}";
constexpr const char* kTimings = "  {:>7}  {:>6}  {:>6}  {:>6}";
constexpr const char* kLimits = "  {:>9}  {:>7}";
// nccl-tests' columns of -I, and p50 and p95, which it has in JSON only.
constexpr const char* kIterations = "  {:>7}  {:>7}  {:>7}  {:>7}  {:>7}  {:>7}";
constexpr int kTimestamp = 19;  // characters

std::string line(const char* first, const char* second, const char* type, const char* op, const char* root,
                 const std::string& timings) {
  std::string text = fmt::format(fmt::runtime(kColumns), first, second, type, op, root);
  text.replace(0, 1, "#");
  return text + timings;
}

std::string limit_columns(const std::optional<Timing>& timing) {
  if (!timing || !timing->limit_us || !(timing->time_us > 0))
    return fmt::format(fmt::runtime(kLimits), "N/A", "N/A");
  return fmt::format(fmt::runtime(kLimits), fitted(*timing->limit_us, 9),
                     fitted(100 * *timing->limit_us / timing->time_us, 7));
}

std::string timing_columns(const std::optional<Timing>& timing) {
  if (!timing) return fmt::format(fmt::runtime(kTimings), "N/A", "N/A", "N/A", "N/A");
  return fmt::format(fmt::runtime(kTimings), fitted(timing->time_us, 7), fitted(timing->algbw, 6),
                     fitted(timing->busbw, 6), timing->wrong ? fmt::format("{}", *timing->wrong) : "N/A");
}

std::string iteration_columns(const std::optional<Timing>& timing) {
  if (!timing || !timing->iterations)
    return fmt::format(fmt::runtime(kIterations), "N/A", "N/A", "N/A", "N/A", "N/A", "N/A");
  const IterationStatistics of = statistics_of(*timing->iterations);
  return fmt::format(fmt::runtime(kIterations), fitted(of.least_us, 7), fitted(of.p50_us, 7),
                     fitted(of.p95_us, 7), fitted(of.p99_us, 7), fitted(of.most_us, 7),
                     fitted(of.variation_percent(), 7));
}

std::string form_columns(const std::optional<Timing>& timing, const TableStyle& style) {
  return timing_columns(timing) + (style.iterations ? iteration_columns(timing) : "") +
         (style.limits ? limit_columns(timing) : "");
}

}  // namespace

std::string fitted(double value, int width) {
  for (const int decimals : {2, 1, 0}) {
    std::string text = fmt::format("{:.{}f}", value, decimals);
    if (text.size() <= static_cast<size_t>(width)) return text;
  }
  const std::string text = fmt::format("{:.1e}", value);
  return text.size() <= static_cast<size_t>(width) ? text : fmt::format("{:.0e}", value);
}

std::string table_header(const TableStyle& style) {
  std::string titles =
      fmt::format(fmt::runtime(kTimings), style.cpu_time ? "cputime" : "time", "algbw", "busbw", "#wrong");
  std::string units = fmt::format(fmt::runtime(kTimings), "(us)", "(GB/s)", "(GB/s)", "");
  if (style.iterations) {
    titles += fmt::format(fmt::runtime(kIterations), "i_min", "i_p50", "i_p95", "i_p99", "i_max", "i_cv%");
    units += fmt::format(fmt::runtime(kIterations), "(us)", "(us)", "(us)", "(us)", "(us)", "(%)");
  }
  if (style.limits) titles += fmt::format(fmt::runtime(kLimits), "limit", "reached");
  if (style.limits) units += fmt::format(fmt::runtime(kLimits), "(us)", "(%)");
  const std::string above = fmt::format("{:^{}}", "out-of-place", titles.size());
  const std::string beside = fmt::format("{:^{}}", "in-place", titles.size());
  const char* when = style.timestamps ? "  timestamp" : "";
  return line("", "", "", "", "", above + beside) + "\n" +
         line("size", "count", "type", "redop", "root", titles + titles + when) + "\n" +
         line("(B)", "(elements)", "", "", "", units + units) + "\n";
}

std::string table_row(const Row& row, const TableStyle& style, const std::string& timestamp) {
  std::string text = fmt::format(fmt::runtime(kColumns), row.bytes, row.count, row.type, row.op, row.root) +
                     form_columns(row.out_of_place, style) + form_columns(row.in_place, style);
  if (style.timestamps) text += fmt::format("  {:>{}}", timestamp, kTimestamp);
  return text + "\n";
}

TableTotals totals_of(const std::vector<Row>& rows) {
  TableTotals totals;
  size_t timings = 0;
  for (const Row& row : rows) {
    for (const auto& timing : {row.out_of_place, row.in_place}) {
      if (!timing) continue;
      totals.wrong += timing->wrong.value_or(0);
      totals.mean_busbw += timing->busbw;
      ++timings;
    }
  }
  if (timings > 0) totals.mean_busbw /= static_cast<double>(timings);
  return totals;
}

std::string table_footer(const std::vector<Row>& rows) {
  const TableTotals totals = totals_of(rows);
  return fmt::format("# Out of bounds values : {} {}\n# Avg bus bandwidth    : {:g}\n#\n", totals.wrong,
                     totals.wrong == 0 ? "OK" : "FAILED", totals.mean_busbw);
}

}  // namespace rondo::perf
