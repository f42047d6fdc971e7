// SPDX-License-Identifier: Apache-2.0
#include "metrics_text.h"

#include <fmt/core.h>

#include "base/file_name.h"

namespace rondo {
namespace {

std::string head_text(const char* name, const char* type, const char* help) {
  return fmt::format("# HELP {} {}\n# TYPE {} {}\n", name, help, name, type);
}

}  // namespace

std::string label_text(std::string_view value) {
  std::string text = "\"";
  for (const char one : value) {
    if (one == '"' || one == '\\') text += '\\';
    text += one == '\n' ? "\\n" : std::string(1, one);
  }
  return text + '"';
}

std::string metrics_text(const ProcessTotals& totals) {
  const std::string process = fmt::format("host={},rank=\"{}\"", label_text(host_name()), totals.first_rank);
  const auto by_collective = [&](const char* name, const auto& values) {
    std::string lines;
    for (const CollectiveKind kind : kAllCollectives)
      lines += fmt::format("{}{{{},collective=\"{}\"}} {}\n", name, process, collective_name(kind),
                           values[static_cast<size_t>(kind)]);
    return lines;
  };
  std::string text = head_text("rondo_calls_total", "counter", "Collective calls that have begun.");
  text += by_collective("rondo_calls_total", totals.counts.calls);
  text += head_text("rondo_bytes_total", "counter", "Bytes of these calls, as their counts say.");
  text += by_collective("rondo_bytes_total", totals.counts.bytes);
  text +=
      head_text("rondo_failures_total", "counter", "Communicators that failed, by the call they were in.");
  for (const auto& [of, count] : totals.failures)
    text += fmt::format("rondo_failures_total{{{},collective=\"{}\",status=\"{}\"}} {}\n", process,
                        of.first == CollectiveKind::PointToPoint ? "none" : collective_name(of.first),
                        code_name(of.second), count);
  text += head_text("rondo_communicators", "gauge", "Communicators that have not been destroyed.");
  text += fmt::format("rondo_communicators{{{}}} {}\n", process, totals.live);
  text += head_text("rondo_longest_call_seconds", "gauge", "How long the oldest running call has lasted.");
  return text + fmt::format("rondo_longest_call_seconds{{{}}} {:.3f}\n", process,
                            static_cast<double>(totals.longest_ns) / 1e9);
}

}  // namespace rondo
