// SPDX-License-Identifier: Apache-2.0
// rondo-perf: measures how fast the collectives are, and checks their results.
#include <fmt/format.h>

#include <cstdio>
#include <string>
#include <vector>

#include "algorithms.h"
#include "document.h"
#include "gpus.h"
#include "handoff.h"
#include "options.h"
#include "plot.h"
#include "run_facts.h"
#include "session.h"
#include "start.h"

namespace rondo::perf {
namespace {

bool write_file(const std::string& path, const std::string& text, const char* mode) {
  if (path.empty()) return true;  // not requested
  std::FILE* file = std::fopen(path.c_str(), mode);
  const bool written = file != nullptr && std::fwrite(text.data(), 1, text.size(), file) == text.size();
  const bool closed = file != nullptr && std::fclose(file) == 0;
  if (!written || !closed) fmt::print(stderr, "rondo-perf: cannot write {}\n", path);
  return written && closed;
}

// Checked before minutes of measuring instead of after.
bool can_write(const PerfOptions& options) {
  return write_file(options.json_file, "", "a") && write_file(options.plot_file, "", "a");
}

int list_algorithms(const PerfOptions& options) {
  for (const Collective collective : options.collectives) {
    fmt::print("{}:", collective_info(collective).name);
    for (const std::string& name : algorithm_names(collective)) fmt::print(" {}", name);
    fmt::print("\n");
  }
  return kAllRight;
}

int probe() {
  const std::vector<int> cpus = allowed_cpus();
  const auto pair = choose_pair(cpus, cpus);
  fmt::print("{}\n", describe_handoff(pair, pair ? measure_handoff(*pair) : std::nullopt));
  return kAllRight;
}

int run(int argc, char** argv) {
  const ParsedPerfOptions parsed = parse_options(argc, argv, visible_gpus);
  if (!parsed.run) {
    fmt::print(parsed.code == 0 ? stdout : stderr, "{}", parsed.message);
    return parsed.code;
  }
  const PerfOptions& options = parsed.options;
  if (options.list_algorithms) return list_algorithms(options);
  if (options.probe) return probe();
  if (!can_write(options)) return kBadOptions;
  RunFacts facts = facts_at_start(argc, argv);
  std::vector<Row> rows;
  size_t complete = 0;  // rows of tables that have ended
  const RowReceiver receiver{[&](const Row& row) { rows.push_back(row); },
                             [&](const TableEnd& end) {
                               for (; complete < rows.size(); ++complete)
                                 rows[complete].handoff_after_ns = end.handoff_ns;
                             }};
  const int code = run_benchmark(options, receiver);
  facts.end_time = time_of_day();
  // Under a launcher, ranks other than 0 have no rows and must not overwrite rank 0's files.
  if (rows.empty()) return code;
  const bool json = write_file(options.json_file, document_json(options, facts, rows), "w");
  const bool plot = write_file(options.plot_file, plot_svg(rows), "w");
  if (code == kAllRight && (!json || !plot)) return kLibraryFailed;
  return code;
}

}  // namespace
}  // namespace rondo::perf

int main(int argc, char** argv) { return rondo::perf::run(argc, argv); }
