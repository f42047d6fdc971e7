// SPDX-License-Identifier: Apache-2.0
// rondo-plan: what the ranks of a collective do, whether that is right, and how long it takes.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <exception>

#include "animation.h"
#include "choice.h"
#include "difference.h"
#include "option_rules.h"
#include "plan_source.h"
#include "reports.h"
#include "timeline.h"

namespace {

using namespace rondo::planner;

constexpr const char* kPlanHelp =
    "COLLECTIVE=ALGORITHM, such as all_reduce=ring, all_gather=forest; or a file in MSCCL's XML";

/// The options that say which call a plan is for.
void declare_call(CLI::App& command, PlanOptions& options) {
  auto* load =
      command.add_option("--load", options.load, "the machine that a file describes, as for rondo-topo")
          ->check([](const std::string& path) { return path.empty() ? "it names no file" : ""; });
  command.add_option("--machine", options.machine, "a well-known machine (rondo-topo --list)")
      ->check([](const std::string& name) { return name.empty() ? "it names no machine" : ""; })
      ->excludes(load);
  command.add_option("--hosts", options.hosts, "N hosts of this kind, joined by a network (1)")
      ->check(CLI::Range(1, 64));
  command.add_option("--ranks", options.ranks, "number of ranks (the GPUs of the machine, or 8)")
      ->check(CLI::Range(1, 256));
  command.add_option("--root", options.root, "the root's rank (0)");
  command.add_option("--group", options.group, "consecutive ranks that are close, as those of a host (1)")
      ->check(CLI::Range(1, 256));
  command
      .add_option("--weights", options.weights,
                  "W,W,...: parts of a vector that each rank of a group carries between groups (1 each)")
      ->delimiter(',')
      ->check(CLI::Range(1, 64));
}

/// The options that say what a plan runs on.
void declare_network(CLI::App& command, PlanOptions& options) {
  command.add_option("--bytes", options.bytes, "size of the vector; several: commas between them (64M)");
  command
      .add_option("--tiles", options.tiles,
                  "run the plan once for each of N stretches of the vector (8; for a picture 1)")
      ->check(CLI::Range(1, 65'536));
  command.add_option("--latency", options.latency_us, "of a message, in microseconds (2)")
      ->check(CLI::Range(0.0, 1e9));
  command.add_option("--bandwidth", options.bandwidth, "without a machine: of each rank's ports, GB/s (25)")
      ->check(CLI::Range(1e-6, 1e9));
  command
      .add_option("--slots", options.slots, "messages that a connection holds (2, or what the plan needs)")
      ->check(CLI::Range(1, 1'024));
  command.add_flag("--all-links", options.all_links,
                   "all links, not NVLink or xGMI alone if it joins all GPUs");
}

CLI::App* declare_command(CLI::App& app, PlanOptions& options, const char* name, const char* help, bool runs,
                          int plans = 1) {
  CLI::App* const command = app.add_subcommand(name, help);
  command->add_option(plans == 1 ? "plan" : "plans", options.plans, kPlanHelp)->required()->expected(plans);
  declare_call(*command, options);
  if (runs) declare_network(*command, options);
  return command;
}

void declare(CLI::App& app, PlanOptions& options) {
  declare_command(app, options, "verify", "whether every rank gets what it should, and what that needs",
                  false);
  declare_command(app, options, "steps", "what the ranks do, a line for each step", false)
      ->add_option("--rank", options.rank, "of this rank alone")
      ->check(CLI::NonNegativeNumber);
  declare_command(app, options, "simulate", "how long it takes", true);
  CLI::App* const explain = declare_command(
      app, options, "explain",
      "what the predicted time consists of, and how near it is to the limit; of a COLLECTIVE without "
      "=ALGORITHM: which one a communicator would choose, and why",
      true);
  explain->add_option("--cpus", options.cpus, "without =ALGORITHM: CPUs of each host (this host's)")
      ->check(CLI::Range(1, 65'536));
  CLI::App* const show = declare_command(
      app, options, "show", "a picture: ranks down, time across, each message a line or a bar", true);
  auto* const animate =
      show->add_flag("--animate", options.animate, "a moving picture: chunks that travel between ranks");
  show->add_flag("--bars", options.bars, "bars, even of few messages")->excludes(animate);
  declare_command(app, options, "diff", "what two plans differ in", true, 2);
  declare_command(app, options, "export", "write the plan in MSCCL's XML", false)
      ->add_option("--output", options.output, "the file (-: standard output)")
      ->check([](const std::string& path) { return path.empty() ? "it names no file" : ""; });
  app.add_subcommand("import", "what a file in MSCCL's XML is, and whether it is right")
      ->add_option("file", options.plans, "the file")
      ->required()
      ->expected(1);
  app.require_subcommand(1);
  app.set_version_flag("--version", version_text());
}

int print_proof(rondo_plan_t plan) {
  fmt::print("{}", proof_text(plan));
  return proof_of(plan).verifies != 0 ? 0 : kFailed;
}

/// Ends the program if a picture would be too large, before the plan is simulated.
void check_drawable(rondo_plan_t plan, const PlanOptions& options) {
  const int64_t messages = totals_of(plan).messages * tiles_of(plan, options, 1);
  const int64_t most = options.animate ? 5'000 : 20'000;
  if (messages > most)
    fail(fmt::format("{} are too many for a picture: expected at most {}; --tiles 1 has the fewest",
                     count_text(messages, "message"), most));
}

int show(rondo_plan_t plan, const PlanOptions& options, rondo_topology_t machine) {
  const std::vector<double> sizes = sizes_of(options);
  if (sizes.size() != 1) refuse("--bytes: a picture has one size");
  check_drawable(plan, options);
  const OwnedRun run = run_of(plan, network_of(plan, options, machine, sizes[0], 1));
  const std::string title =
      fmt::format("{}: {} on {}", title_of(plan), rondo::size_text(sizes[0]), network_name(options));
  fmt::print("{}", options.animate ? animation(plan, run.get(), title)
                                   : timeline(plan, run.get(), title, options.bars));
  return 0;
}

int import(const PlanOptions& options) {
  rondo_plan_t plan = nullptr;
  require(rondo_plan_import(&plan, options.plans[0].c_str()));
  const OwnedPlan owner(plan);
  fmt::print("{}", shape_text(plan));
  return print_proof(plan);
}

int run(const CLI::App& parsed, const PlanOptions& options) {
  const std::string& command = parsed.get_name();
  if (command == "import") return import(options);
  if (const std::string problem = option_problem(parsed, options); !problem.empty()) refuse(problem);
  const OwnedTopology machine = machine_of(options);
  if (command == "explain" && is_collective(options.plans[0])) {
    fmt::print("{}", choice_text(options.plans[0], options, machine.get()));
    return 0;
  }
  const OwnedPlan plan = plan_of(options.plans[0], options, machine.get());
  if (command == "verify") {
    fmt::print("{}\n", title_of(plan.get()));
    return print_proof(plan.get());
  }
  if (command == "steps") fmt::print("{}", step_list(plan.get(), options.rank));
  if (command == "simulate") fmt::print("{}", time_table(plan.get(), options, machine.get()));
  if (command == "explain") fmt::print("{}", explanation(plan.get(), options, machine.get()));
  if (command == "export") require(rondo_plan_export(plan.get(), options.output.c_str()));
  if (command == "show") return show(plan.get(), options, machine.get());
  if (command == "diff") {
    const OwnedPlan other = plan_of(options.plans[1], options, machine.get());
    fmt::print("{}", difference_table({options.plans[0], plan.get()}, {options.plans[1], other.get()},
                                      options, machine.get()));
  }
  return 0;
}

}  // namespace

const char* const rondo::tool::kProgramName = "rondo-plan";

int main(int argc, char** argv) try {
  PlanOptions options;
  CLI::App app("What the ranks of a collective do, whether that is right, and how long it takes.",
               kProgramName);
  declare(app, options);
  app.failure_message([](const CLI::App*, const CLI::Error& wrong) { return option_error(wrong.what()); });
  try {  // CLI11 reports errors by exceptions, and --help too
    app.parse(argc, argv);
  } catch (const CLI::ParseError& parsed) {
    return app.exit(parsed) == 0 ? 0 : kBadOptions;
  }
  return ended(run(*app.get_subcommands()[0], options));
} catch (const std::exception& failure) {
  fail(failure.what());
}
