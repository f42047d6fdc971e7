// SPDX-License-Identifier: Apache-2.0
#include "option_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>

#include "base/collective.h"
#include "choice.h"

namespace rondo::planner {
namespace {

/// Refuses each of some options that is given.
std::string refused(const CLI::App& command, std::initializer_list<const char*> names, const char* expected) {
  for (const char* const name : names)
    if (const CLI::Option* const option = command.get_option_no_throw(name);
        option != nullptr && option->count() > 0)
      return fmt::format("{}: expected only {}", name, expected);
  return "";
}

/// Whether a plan of the table, or a choice, is of a collective with a root, or of none that is known.
bool may_have_root(const std::string& plan) {
  const auto kind = collective_by_name(plan.substr(0, plan.find('=')));
  return !kind || has_root(*kind);
}

std::string machine_problem(const CLI::App& command, const PlanOptions& options, bool is_choice) {
  if (!options.machine.empty() || !options.load.empty())
    return refused(command, {"--bandwidth"}, "without a machine");
  constexpr const char* kWithMachine = "with a machine (--machine or --load)";
  if (!is_choice) return refused(command, {"--hosts", "--all-links"}, kWithMachine);
  return refused(command, {"--tiles", "--latency", "--bandwidth", "--slots", "--all-links"}, kWithMachine);
}

std::string file_problem(const CLI::App& command) {
  const bool runs = command.get_option_no_throw("--bytes") != nullptr;
  constexpr const char* kOfTheTable = "for COLLECTIVE=ALGORITHM, not for a file";
  const std::string of_call = refused(command, {"--root", "--group", "--weights"}, kOfTheTable);
  return runs || !of_call.empty() ? of_call
                                  : refused(command, {"--machine", "--load", "--hosts"}, kOfTheTable);
}

}  // namespace

std::string option_problem(const CLI::App& command, const PlanOptions& options) {
  const bool is_choice = command.get_name() == "explain" && is_collective(options.plans[0]);
  const bool has_files = !is_choice && std::ranges::none_of(options.plans, is_of_the_table);
  if (!is_choice)
    if (std::string problem = refused(command, {"--cpus"}, "for a COLLECTIVE without =ALGORITHM");
        !problem.empty())
      return problem;
  if (has_files)
    if (std::string problem = file_problem(command); !problem.empty()) return problem;
  if (!has_files && std::ranges::none_of(options.plans, may_have_root))
    if (std::string problem = refused(command, {"--root"}, "for a collective with a root"); !problem.empty())
      return problem;
  if (is_choice)
    if (std::string problem = refused(command, {"--weights"}, "for COLLECTIVE=ALGORITHM"); !problem.empty())
      return problem;
  if (!options.weights.empty() && std::ssize(options.weights) != options.group)
    return fmt::format("--weights: there are {}: expected {}, one for each rank of a --group",
                       options.weights.size(), options.group);
  return machine_problem(command, options, is_choice);
}

}  // namespace rondo::planner
