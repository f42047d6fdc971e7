// SPDX-License-Identifier: Apache-2.0
// fit-costs: the costs of messages (base/cost_table.h) that explain measured times best. Reads what
// selector_check.py --json writes; prints, before and after, how far predictions are off and how good the
// choices made from them are.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "algorithms/algorithm.h"
#include "plan/connection_costs.h"

namespace {

using namespace rondo;

constexpr size_t kSlotBytes = size_t{64} << 10;

/// What is fitted: the rows of the table that are measured within a host.
struct FittedCosts {
  LinkCost shared = cost_of(CostKind::SharedMemory);
  double turn_us = cost_of(CostKind::Turn).latency_us;
  LinkCost pull = cost_of(CostKind::Pull);
  LinkCost shared_cpu_pull = cost_of(CostKind::SharedCpuPull);
};

struct Parameter {
  const char* name;
  double& (*of)(FittedCosts& costs);
};
const Parameter kParameters[] = {
    {"shared memory: latency_us", [](FittedCosts& costs) -> double& { return costs.shared.latency_us; }},
    {"shared memory: us_per_byte", [](FittedCosts& costs) -> double& { return costs.shared.us_per_byte; }},
    {"shared memory: us_per_message",
     [](FittedCosts& costs) -> double& { return costs.shared.us_per_message; }},
    {"shared memory: us_per_folded_byte",
     [](FittedCosts& costs) -> double& { return costs.shared.us_per_folded_byte; }},
    {"shared memory: one_way", [](FittedCosts& costs) -> double& { return costs.shared.one_way; }},
    {"shared memory: us_per_cold_byte",
     [](FittedCosts& costs) -> double& { return costs.shared.us_per_cold_byte; }},
    {"shared memory: cached_bytes", [](FittedCosts& costs) -> double& { return costs.shared.cached_bytes; }},
    {"turn: latency_us", [](FittedCosts& costs) -> double& { return costs.turn_us; }},
    {"pull: latency_us", [](FittedCosts& costs) -> double& { return costs.pull.latency_us; }},
    {"pull: us_per_byte", [](FittedCosts& costs) -> double& { return costs.pull.us_per_byte; }},
    {"pull, shared CPUs: latency_us",
     [](FittedCosts& costs) -> double& { return costs.shared_cpu_pull.latency_us; }},
    {"pull, shared CPUs: us_per_byte",
     [](FittedCosts& costs) -> double& { return costs.shared_cpu_pull.us_per_byte; }},
};

struct MeasuredCandidate {
  const Algorithm* algorithm = nullptr;
  bool is_pulled = false;
  double us = 0;
};

struct MeasuredCell {
  Call call;
  int nranks = 0;
  std::vector<MeasuredCandidate> candidates;
};

double median(std::vector<double> values) {
  std::ranges::sort(values);
  const size_t middle = values.size() / 2;
  return values.size() % 2 != 0 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

/// Throws what is wrong.
MeasuredCell cell_from(const nlohmann::json& row) {
  const std::string collective = row.at("collective");
  const auto kind = collective_by_name(collective);
  if (!kind) throw std::runtime_error("there is no collective '" + collective + "'");
  MeasuredCell cell;
  cell.nranks = row.at("ranks");
  if (cell.nranks < 2) throw std::runtime_error("a cell has fewer than 2 ranks");
  cell.call.kind = *kind;
  cell.call.type = CallType::of(ElementType::Float32);
  cell.call.op = CallOp::of(Reduction::Sum);
  const size_t blocks = traits(*kind).has_blocks() ? static_cast<size_t>(cell.nranks) : 1;
  cell.call.count = row.at("bytes").get<size_t>() / cell.call.type.bytes / blocks;
  for (const auto& [name, times_us] : row.at("times_us").items()) {
    const size_t at = name.find('@');
    if (at == std::string::npos) continue;  // Rondo's own choice, which is another candidate too
    const auto algorithm = algorithm_by_name(*kind, name.substr(0, at));
    if (!algorithm.ok()) throw std::runtime_error(algorithm.status().message());
    const auto times = times_us.get<std::vector<double>>();
    const bool any = !times.empty() && std::ranges::all_of(times, [](double us) { return us > 0; });
    if (!any) throw std::runtime_error("there are no times, or times that are not above 0, of " + name);
    cell.candidates.push_back({algorithm.value(), name.substr(at + 1) == "shm_pull", median(times)});
  }
  std::ranges::stable_sort(cell.candidates, {}, &MeasuredCandidate::algorithm);  // as in the table
  return cell;
}

class Model {
 public:
  Model(const FittedCosts& costs, int cpus) : costs_(costs), cpus_(cpus) {}

  double predicted_us(const MeasuredCell& cell, const MeasuredCandidate& candidate) const {
    const double ranks_per_cpu = std::max(1.0, static_cast<double>(cell.nranks) / cpus_);
    const bool share_cpus = ranks_per_cpu > 1;
    if (candidate.is_pulled) {
      const LinkCost& pull = share_cpus ? costs_.shared_cpu_pull : costs_.pull;
      const auto bytes = static_cast<double>(*cell.call.vector_bytes(cell.nranks));
      return predicted_time(
          candidate.algorithm->cost(cell.call.shape(cell.nranks)),
          {.latency = pull.latency_us * (share_cpus ? cell.nranks : 1), .vector = bytes * pull.us_per_byte},
          1);
    }
    LinkModel links{.nranks = cell.nranks, .cost = costs_.shared};
    links.cost.ranks_per_cpu = ranks_per_cpu;
    if (share_cpus) links.cost.latency_us = costs_.turn_us * cell.nranks;
    return predict_over_connections(*candidate.algorithm, cell.call, links.shape(cell.call), links,
                                    kSlotBytes)
        .us;
  }

  /// The one that would be chosen: pulled, if any is.
  const MeasuredCandidate& choice(const MeasuredCell& cell) const {
    return *std::ranges::min_element(cell.candidates, {}, [&](const MeasuredCandidate& candidate) {
      return std::pair(!candidate.is_pulled, predicted_us(cell, candidate));
    });
  }

 private:
  const FittedCosts& costs_;
  int cpus_;
};

/// How much longer the choice takes than the fastest candidate.
double slowdown(const Model& model, const MeasuredCell& cell) {
  return model.choice(cell).us / std::ranges::min(cell.candidates, {}, &MeasuredCandidate::us).us;
}

/// Lower is better: the mean logarithm of how far predictions are off, each up to a limit, since what a model
/// does not describe must not decide about the rest; and, of greater weight, of how much the choices lose.
double loss(const Model& model, const std::vector<MeasuredCell>& cells) {
  constexpr double kMaxOff = 1.5;
  constexpr double kWeightOfChoices = 10;
  double off = 0, lost = 0, count = 0;
  for (const MeasuredCell& cell : cells) {
    for (const MeasuredCandidate& candidate : cell.candidates)
      off += std::min(kMaxOff, std::abs(std::log(model.predicted_us(cell, candidate) / candidate.us)));
    count += static_cast<double>(cell.candidates.size());
    lost += std::log(slowdown(model, cell));
  }
  return off / count + kWeightOfChoices * lost / static_cast<double>(cells.size());
}

/// Grows slowly with the distance from the table, where figures stay that the times say nothing about.
double distance(FittedCosts costs, FittedCosts from) {
  double sum = 0;
  for (const Parameter& parameter : kParameters)
    sum += std::abs(std::log(parameter.of(costs) / parameter.of(from)));
  return 0.005 * sum;
}

/// Changes one parameter at a time by ever smaller factors, as long as that helps.
FittedCosts improved(FittedCosts costs, const FittedCosts& table, const std::vector<MeasuredCell>& cells,
                     int cpus) {
  const auto rated = [&](const FittedCosts& tried) {
    return loss(Model(tried, cpus), cells) + distance(tried, table);
  };
  double best = rated(costs);
  for (double factor = 4; factor > 1.02;) {
    bool helped = false;
    for (const Parameter& parameter : kParameters)
      for (const double change : {factor, 1 / factor}) {
        FittedCosts tried = costs;
        parameter.of(tried) *= change;
        tried.shared.one_way = std::clamp(tried.shared.one_way, 0.1, 1.0);
        const double found = rated(tried);
        if (found >= best) continue;
        best = found;
        costs = tried;
        helped = true;
      }
    if (!helped) factor = std::sqrt(factor);
  }
  return costs;
}

/// Starts from the table's costs and from multiples of them, and keeps the best result.
FittedCosts fitted(FittedCosts table, const std::vector<MeasuredCell>& cells, int cpus) {
  if (table.shared.us_per_cold_byte == 0) table.shared.us_per_cold_byte = table.shared.us_per_byte / 10;
  if (table.shared.cached_bytes == 0) table.shared.cached_bytes = 1 << 20;
  std::vector<FittedCosts> found;
  for (const double multiple : {0.5, 1.0, 2.0, 4.0})
    for (const bool runs_ahead : {false, true}) {
      FittedCosts begin = table;
      for (const Parameter& parameter : kParameters) parameter.of(begin) *= multiple;
      begin.shared.one_way = table.shared.one_way;
      begin.shared.runs_ahead = runs_ahead;
      found.push_back(improved(begin, table, cells, cpus));
    }
  return std::ranges::min(found, {},
                          [&](const FittedCosts& costs) { return loss(Model(costs, cpus), cells); });
}

void report(const char* name, const FittedCosts& costs, const std::vector<MeasuredCell>& cells, int cpus) {
  const Model model(costs, cpus);
  std::vector<double> errors;
  double good = 0, lost = 0, most = 1;
  for (const MeasuredCell& cell : cells) {
    const MeasuredCandidate& choice = model.choice(cell);
    errors.push_back(std::abs(model.predicted_us(cell, choice) - choice.us) / choice.us);
    const double ratio = slowdown(model, cell);
    good += ratio <= 1.1 ? 1 : 0;
    lost += std::log(ratio);
    most = std::max(most, ratio);
  }
  const auto count = static_cast<double>(cells.size());
  fmt::print(
      "{}: predictions are off by {:.0f}% in the median; {:.0f}% of {} choices are within 10% of the "
      "fastest, the "
      "geometric mean takes {:.3f} times as long, the worst {:.2f}\n",
      name, 100 * median(errors), 100 * good / count, cells.size(), std::exp(lost / count), most);
}

void run(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw std::runtime_error(path + ": cannot be read");
  const auto contents = nlohmann::json::parse(file);
  const int cpus = contents.at("about").at("cpus");
  if (cpus < 1) throw std::runtime_error(fmt::format("{}: it is of {} CPUs", path, cpus));
  std::vector<MeasuredCell> cells;
  for (const auto& row : contents.at("cells")) cells.push_back(cell_from(row));
  std::erase_if(cells, [](const MeasuredCell& cell) { return cell.candidates.empty(); });
  if (cells.empty()) throw std::runtime_error(path + ": has no cells");
  FittedCosts costs;
  report("table", costs, cells, cpus);
  costs = fitted(costs, cells, cpus);
  report("fitted", costs, cells, cpus);
  for (const Parameter& parameter : kParameters)
    fmt::print("{:<36} {:.3g}\n", parameter.name, parameter.of(costs));
  fmt::print("{:<36} {}\n", "shared memory: runs_ahead", costs.shared.runs_ahead);
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc != 2 || std::string_view(argv[1]) == "--help") {
    fmt::print(stderr, "usage: fit-costs CELLS.json, a file of selector_check.py --json\n");
    return argc == 2 ? EXIT_SUCCESS : 2;
  }
  run(argv[1]);
  return EXIT_SUCCESS;
} catch (const std::exception& failure) {
  fmt::print(stderr, "fit-costs: {}\n", failure.what());
  return EXIT_FAILURE;
}
