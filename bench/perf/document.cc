// SPDX-License-Identifier: Apache-2.0
#include "document.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "json.h"
#include "table.h"

namespace rondo::perf {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kFormat = 3;  // the number of nccl-tests' format that this follows

// nccl-tests writes truth values as strings.
const char* truth(bool value) { return value ? "true" : "false"; }

Json config_of(const PerfOptions& options) {
  const Sweep& sweep = options.sweep;
  Json config;
  config["nthreads"] = options.threads;
  config["ngpus"] = options.gpu.per_thread;
  config["minimum_bytes"] = sweep.min_bytes;
  config["maximum_bytes"] = sweep.max_bytes;
  if (sweep.factor > 1) {
    config["step_factor"] = sweep.factor;
  } else {
    config["step_bytes"] = sweep.step_bytes;
  }
  config["warmup_iters"] = options.warmup;
  config["iterations"] = options.iterations;
  config["aggregated_iterations"] = options.aggregate;
  config["validation"] = options.checks;
  config["graph"] = options.gpu.graph_launches;
  config["blocking_collectives"] = truth(options.pace != Pace::Free);
  config["per_iter_timing"] = truth(options.per_iteration);
  config["per_iter_skip"] = options.skipped_iterations;
  config["parallel_init"] = truth(options.parallel_init);
  return config;
}

Json machine_of(const RunFacts& facts) {
  Json machine;
  machine["processor"] = facts.processor;
  machine["cpus"] = facts.cpus;
  machine["kernel"] = facts.kernel;
  machine["host"] = facts.host;
  machine["governor"] = facts.governor.empty() ? Json(nullptr) : Json(facts.governor);
  machine["load"] = facts.load;
  return machine;
}

std::string line(const char* key, const Json& value) {
  return fmt::format(" \"{}\": {}", key, value.dump(-1, ' ', false, Json::error_handler_t::replace));
}

std::string lines(const std::vector<Row>& rows) {
  std::string text;
  for (const Row& row : rows) text += (text.empty() ? "\n  " : ",\n  ") + row_to_json(row);
  return fmt::format(" \"results\": [{}\n ]", text);
}

}  // namespace

std::string document_json(const PerfOptions& options, const RunFacts& facts, const std::vector<Row>& rows) {
  const TableTotals totals = totals_of(rows);
  const std::string parts[] = {
      line("version", kFormat),
      line("start_time", facts.start_time),
      line("args", facts.arguments),
      line("env", facts.environment),
      line("rondo_version", facts.version),
      line("date", facts.date),
      line("machine", machine_of(facts)),
      line("config", config_of(options)),
      lines(rows),
      line("out_of_bounds", {{"count", totals.wrong}, {"okay", truth(totals.wrong == 0)}}),
      line("average_bus_bandwidth", {{"bandwidth", totals.mean_busbw}, {"okay", "unchecked"}}),
      line("end_time", facts.end_time),
  };
  return fmt::format("{{\n{}\n}}\n", fmt::join(parts, ",\n"));
}

}  // namespace rondo::perf
