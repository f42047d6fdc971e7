// SPDX-License-Identifier: Apache-2.0
#include "comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "base/json_text.h"
#include "collective.h"
#include "sizes.h"
#include "table.h"

namespace rondo::perf {
namespace {

using Json = nlohmann::ordered_json;

std::string text_of(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? in_one_line(found->get<std::string>()) : "";
}

std::optional<double> number_of(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_number() ? std::optional(found->get<double>()) : std::nullopt;
}

std::optional<double> time_of(const Json& row, const char* form) {
  const auto found = row.find(form);
  if (found == row.end() || !found->is_object()) return std::nullopt;
  const auto time_us = number_of(*found, "time");
  return time_us ? time_us : number_of(*found, "cpu_time");
}

/// nccl-tests names the collective by its program alone.
std::string collective_of(const Json& document) {
  const auto args = document.find("args");
  if (args == document.end() || !args->is_array() || args->empty() || !args->front().is_string()) return "";
  const std::string program = args->front();
  const NamedProgram named = named_program(program);
  return named.collective == nullptr ? "" : std::string(named.collective->name) + (named.varying ? "_v" : "");
}

/// Of nccl-tests, which has threads and GPUs of one process.
long long ranks_of(const Json& document) {
  const Json config = document.value("config", Json::object());
  return config.value("nthreads", 1LL) * config.value("ngpus", 1LL);
}

MeasuredRow measured_row(const Json& document, const Json& row) {
  MeasuredRow measured;
  measured.call.collective =
      row.contains("collective") ? text_of(row, "collective") : collective_of(document);
  measured.call.type = text_of(row, "type");
  measured.call.op = text_of(row, "redop");
  measured.call.memory = row.contains("memory") ? text_of(row, "memory") : "cuda";
  measured.call.root = row.value("root", -1LL);
  measured.call.ranks = row.contains("ranks") ? row.at("ranks").get<long long>() : ranks_of(document);
  measured.call.bytes = row.at("size").get<long long>();
  measured.out_of_place_us = time_of(row, "out_of_place");
  measured.in_place_us = time_of(row, "in_place");
  measured.algorithm = text_of(row, "algorithm");
  measured.state = text_of(row, "state");
  return measured;
}

/// A form with the times of its iterations, if the document has them.
std::optional<Timing> timing_of(const Json& row, const std::string& form) {
  const auto time_us = time_of(row, form.c_str());
  if (!time_us) return std::nullopt;
  const Json& object = row.at(form);
  Timing timing{
      *time_us, number_of(object, "alg_bw").value_or(0),      number_of(object, "bus_bw").value_or(0),
      {},       number_of(row, (form + "_limit_us").c_str()), {}};
  if (const auto wrong = object.find("nwrong"); wrong != object.end() && wrong->is_number_unsigned())
    timing.wrong = wrong->get<size_t>();
  const auto found = row.find(form + "_per_iter");
  if (found == row.end() || !found->contains("times_us")) return timing;
  IterationTimes iterations{found->value("skipped_iterations", 0), found->at("times_us")};
  const bool counts_some =
      iterations.skipped >= 0 && static_cast<size_t>(iterations.skipped) < iterations.times_us.size();
  if (counts_some) timing.iterations = std::move(iterations);
  return timing;
}

Row plotted_row(const MeasuredRow& measured, const Json& object) {
  Row row;
  row.collective = measured.call.collective;
  row.algorithm = text_of(object, "algorithm");
  row.automatic = object.value("automatic", true);
  row.transport = text_of(object, "transport");
  row.ranks = static_cast<int>(measured.call.ranks);
  row.bytes = static_cast<size_t>(std::max(0LL, measured.call.bytes));
  row.count = object.value("count", size_t{0});
  row.type = measured.call.type;
  row.op = measured.call.op;
  row.root = static_cast<int>(measured.call.root);
  row.setup.memory = measured.call.memory;
  row.setup.calls = text_of(object, "calls");
  row.setup.clock = text_of(object, "clock");
  row.setup.gpu = text_of(object, "gpu");
  row.setup.driver = text_of(object, "driver");
  row.setup.handoff_ns = number_of(object, "handoff_ns");
  row.setup.fresh = object.value("fresh", false);
  row.handoff_after_ns = number_of(object, "handoff_after_ns");
  row.out_of_place = timing_of(object, "out_of_place");
  row.in_place = timing_of(object, "in_place");
  return row;
}

std::string facts_of(const Json& document) {
  const std::string version = text_of(document, "rondo_version");
  std::string facts = version.empty() ? "nccl-tests" : "Rondo " + version;
  const std::string date = text_of(document, "date");
  facts += ", " + (date.empty() ? text_of(document, "start_time") : date);
  if (const auto machine = document.find("machine"); machine != document.end() && machine->is_object())
    facts += ", " + text_of(*machine, "processor");
  return facts;
}

/// The sum of logarithms of ratios, and the least ratio.
class Ratios {
 public:
  void add(double ratio, long long bytes) {
    ++count_;
    logarithms_ += std::log(ratio);
    if (count_ > 1 && ratio >= least_) return;
    least_ = ratio;
    bytes_of_least_ = bytes;
  }
  std::string text(const std::string& collective) const {
    return fmt::format("# {}: {} as the geometric mean of {}, least {} at {}\n", collective,
                       fitted(std::exp(logarithms_ / static_cast<double>(count_)), 7), count_,
                       fitted(least_, 7), format_size(static_cast<double>(bytes_of_least_)));
  }

 private:
  int count_ = 0;
  double logarithms_ = 0, least_ = 0;
  long long bytes_of_least_ = 0;
};

/// The rows of a run by what they measured.
class RowsByCall {
 public:
  explicit RowsByCall(const MeasuredRun& run) {
    for (const MeasuredRow& row : run.rows) rows_[row.call].push_back(&row);
  }
  bool are_several(const ComparedCall& call) const {
    const auto found = rows_.find(call);
    return found != rows_.end() && found->second.size() > 1;
  }
  /// Where a call has more than one row, as with --algorithm all or -N 2: those of the same algorithm in
  /// order; a single one serves all.
  const MeasuredRow* next_for(const MeasuredRow& row) {
    const auto found = rows_.find(row.call);
    if (found == rows_.end()) return nullptr;
    std::vector<const MeasuredRow*> alike;
    for (const MeasuredRow* other : found->second)
      if (other->algorithm == row.algorithm) alike.push_back(other);
    const auto& choice = alike.empty() ? found->second : alike;
    const size_t turn = turns_[{row.call, row.algorithm}]++;
    return choice[std::min(turn, choice.size() - 1)];
  }

 private:
  std::map<ComparedCall, std::vector<const MeasuredRow*>> rows_;
  std::map<std::pair<ComparedCall, std::string>, size_t> turns_;
};

std::string cell(const std::optional<double>& time_us) {
  return time_us ? fmt::format("{:>10}", fitted(*time_us, 9)) : fmt::format("{:>10}", "N/A");
}

std::optional<double> ratio_of(const std::optional<double>& first, const std::optional<double>& second) {
  if (!first || !second || *first <= 0 || *second <= 0) return std::nullopt;
  return *first / *second;
}

std::string either(const std::string& first, const std::string& second) {
  return first == second ? first : fmt::format("{}, {}", first, second);
}

std::string ratio_cell(const std::optional<double>& ratio) {
  return ratio ? fmt::format("{:>8}", fitted(*ratio, 7)) : fmt::format("{:>8}", "N/A");
}

}  // namespace

std::optional<MeasuredRun> measured_run(const std::string& name, const std::string& text,
                                        std::string& error) {
  MeasuredRun run;
  run.name = name;
  try {
    const Json document = Json::parse(text);
    run.facts = facts_of(document);
    for (const Json& row : document.at("results")) {
      run.rows.push_back(measured_row(document, row));
      run.plotted.push_back(plotted_row(run.rows.back(), row));
    }
  } catch (const Json::exception& problem) {
    error =
        fmt::format("{}: it is not a JSON document of rondo-perf or nccl-tests: {}", name, problem.what());
    return std::nullopt;
  }
  return run;
}

std::string comparison_text(const MeasuredRun& first, const MeasuredRun& second) {
  const RowsByCall own(first);
  RowsByCall others(second);
  std::map<std::string, Ratios> of_collective;
  std::vector<std::string> order;
  std::string table;
  int apart = 0;
  for (const MeasuredRow& row : first.rows) {
    const MeasuredRow* const found = others.next_for(row);
    if (found == nullptr) continue;
    const MeasuredRow& other = *found;
    const ComparedCall& call = row.call;
    const bool are_several = own.are_several(call) || others.are_several(call);
    const bool is_alike = row.state == other.state || row.state.empty() || other.state.empty();
    const auto out = ratio_of(row.out_of_place_us, other.out_of_place_us);
    const auto in = ratio_of(row.in_place_us, other.in_place_us);
    table += fmt::format("{:<18}{:>9}{:>8}{:>6}{:>14}{}{}{}{}{}{}{}{}\n", call.collective, call.type, call.op,
                         call.ranks, call.bytes, cell(row.out_of_place_us), cell(other.out_of_place_us),
                         ratio_cell(out), cell(row.in_place_us), cell(other.in_place_us), ratio_cell(in),
                         are_several ? "  " + either(row.algorithm, other.algorithm) : "",
                         is_alike ? "" : fmt::format("  {}, {}", row.state, other.state));
    if (!is_alike) {
      ++apart;
      continue;
    }
    if (std::find(order.begin(), order.end(), call.collective) == order.end())
      order.push_back(call.collective);
    for (const auto& ratio : {out, in})
      if (ratio) of_collective[call.collective].add(*ratio, call.bytes);
  }
  if (table.empty()) return "";
  std::string text =
      fmt::format("# A: {} ({})\n# B: {} ({})\n", first.name, first.facts, second.name, second.facts);
  text += fmt::format("#{:>67}{:>28}\n", "out-of-place", "in-place");
  text += fmt::format("#{:<17}{:>9}{:>8}{:>6}{:>14}", "collective", "type", "redop", "ranks", "size (B)");
  for (int form = 0; form != 2; ++form) text += fmt::format("{:>10}{:>10}{:>8}", "A (us)", "B (us)", "A/B");
  text += "\n" + table;
  for (const std::string& collective : order)
    if (const auto found = of_collective.find(collective); found != of_collective.end())
      text += found->second.text(collective);
  if (apart != 0)
    text += fmt::format("# {} measured in different states of the machine, as named: not counted\n",
                        apart == 1 ? "1 row was" : fmt::format("{} rows were", apart));
  return text + "# above 1: B is faster\n";
}

}  // namespace rondo::perf
