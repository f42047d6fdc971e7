// SPDX-License-Identifier: Apache-2.0
// fit-costs: the costs of messages within a host that explain measured times best. Reads what
// selector_check.py --json writes.
#include <fmt/core.h>

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "calibrate/cost_fit.h"

namespace {

using namespace rondo;
using calibrate::MeasuredCandidate;
using calibrate::MeasuredCell;

/// Throws what is wrong.
MeasuredCell cell_from(const nlohmann::json& row, const Transport& transport, int cpus) {
  const std::string collective = row.at("collective");
  const auto kind = collective_by_name(collective);
  if (!kind) throw std::runtime_error("there is no collective '" + collective + "'");
  MeasuredCell cell;
  cell.nranks = row.at("ranks");
  if (cell.nranks < 2) throw std::runtime_error("a cell has fewer than 2 ranks");
  cell.ranks_per_cpu = static_cast<double>(cell.nranks) / cpus;
  cell.transport = &transport;
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
    cell.candidates.push_back(
        {algorithm.value(), name.substr(at + 1) == "shm_pull", calibrate::median(times)});
  }
  std::ranges::stable_sort(cell.candidates, {}, &MeasuredCandidate::algorithm);  // as in the table
  return cell;
}

void run(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw std::runtime_error(path + ": cannot be read");
  const auto contents = nlohmann::json::parse(file);
  const int cpus = contents.at("about").at("cpus");
  if (cpus < 1) throw std::runtime_error(fmt::format("{}: it is of {} CPUs", path, cpus));
  if (contents.at("cells").empty()) throw std::runtime_error(path + ": has no cells");
  const auto transport = transport_by_name(contents.at("about").at("transport").get<std::string>());
  if (!transport.ok()) throw std::runtime_error(transport.status().message());
  std::vector<MeasuredCell> cells;
  for (const auto& row : contents.at("cells")) cells.push_back(cell_from(row, *transport.value(), cpus));
  std::erase_if(cells, [](const MeasuredCell& cell) { return cell.candidates.empty(); });
  if (cells.empty()) throw std::runtime_error(path + ": has no cells");
  fmt::print("{}", calibrate::comparison(calibrate::fitted(CostTable(), cells), cells));
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
