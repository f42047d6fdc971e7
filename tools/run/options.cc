// SPDX-License-Identifier: Apache-2.0
#include "options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <initializer_list>

#include "base/words.h"
#include "rondo/rondo.h"

namespace rondo::run {
namespace {

constexpr int kMaxRanks = 4096;
constexpr double kMaxSeconds = 1e9;
constexpr int kBadOptions = 2;

void declare(CLI::App& app, RunOptions& options) {
  app.add_option("-n,--ranks,--np", options.ranks, "number of ranks to start on this host")->required();
  app.add_flag("--prefix,!--no-prefix,--tag-output,!--no-tag-output", options.prefix,
               "begin every line of output with its rank, as in \"[3] text\" (yes)");
  app.add_flag("--keep-going", options.keep_going, "do not end the other ranks when one fails");
  app.add_flag("--heap", options.heap,
               "let ranks read one another's large blocks of malloc() in place: preload librondo-heap.so");
  app.add_option("--grace", options.grace_s, "seconds between SIGTERM and SIGKILL when ending ranks (5)");
  app.add_option("--timeout", options.timeout_s, "seconds after which all ranks are ended; 0: no limit (0)");
  app.set_version_flag("--version", fmt::format("rondo-run {}.{}.{}", RONDO_VERSION / 10000,
                                                RONDO_VERSION / 100 % 100, RONDO_VERSION % 100));
  app.prefix_command();  // everything from the program's name on belongs to the program
  app.footer(
      "rondo-run -n 4 program arguments: each rank finds RANK, WORLD_SIZE, LOCAL_RANK, LOCAL_WORLD_SIZE,\n"
      "MASTER_ADDR, MASTER_PORT and RONDO_SECRET in its environment. Standard input goes to rank 0.\n"
      "The exit code is that of the first rank that failed, 128 + the signal number if one ended it.");
}

/// CLI11 does not know of the program after the options.
std::string help_of(const CLI::App& app) {
  constexpr std::string_view kOptions = "[OPTIONS]";
  std::string help = app.help();
  return help.insert(help.find(kOptions) + kOptions.size(), " PROGRAM [ARGUMENT...]");
}

/// Rewrites mpirun's single-dash "-np" as "--np"; the program's own words stay as they are.
std::vector<const char*> understood(int argc, const char* const* argv) {
  std::vector<const char*> words(argv, argv + argc);
  const auto is_any_of = [](std::string_view word, std::initializer_list<std::string_view> names) {
    return std::find(names.begin(), names.end(), word) != names.end();
  };
  for (size_t i = 1; i < words.size() && words[i][0] == '-' && words[i] != std::string_view("--"); ++i) {
    if (words[i] == std::string_view("-np")) words[i] = "--np";
    if (is_any_of(words[i], {"-n", "--ranks", "--np", "--grace", "--timeout"})) ++i;  // its value
  }
  return words;
}

std::string unknown_option(const std::string& word) {
  constexpr std::string_view kNames[] = {"--ranks", "--np",         "--prefix",  "--no-prefix",
                                         "--grace", "--timeout",    "--version", "--tag-output",
                                         "--help",  "--keep-going", "--heap"};
  return fmt::format("there is no option {}{}", word, did_you_mean(word, kNames));
}

std::string check(const RunOptions& options) {
  if (options.ranks < 1 || options.ranks > kMaxRanks)
    return fmt::format("-n is {}: give 1 to {} ranks", options.ranks, kMaxRanks);
  if (!(options.grace_s >= 0) || options.grace_s > kMaxSeconds)
    return fmt::format("--grace is {}: give seconds, at least 0", options.grace_s);
  if (!(options.timeout_s >= 0) || options.timeout_s > kMaxSeconds)
    return fmt::format("--timeout is {}: give seconds, 0 for none", options.timeout_s);
  if (options.command.empty()) return "name the program to run";
  const std::string& program = options.command[0];
  if (program.empty()) return "the program's name is empty";
  if (program[0] == '-') return unknown_option(program);
  return "";
}

}  // namespace

ParsedRunOptions parse_options(int argc, const char* const* argv) {
  ParsedRunOptions parsed;
  CLI::App app("Starts the ranks of a program on this host.", "rondo-run");
  declare(app, parsed.options);
  try {  // CLI11 reports errors by exceptions, and --help too
    app.parse(argc, understood(argc, argv).data());
    parsed.options.command = app.remaining();
    // "--" ends the options of rondo-run; it is not the program.
    if (!parsed.options.command.empty() && parsed.options.command[0] == "--")
      parsed.options.command.erase(parsed.options.command.begin());
  } catch (const CLI::CallForHelp&) {
    parsed.message = help_of(app);
    return parsed;
  } catch (const CLI::CallForVersion& call) {
    parsed.message = std::string(call.what()) + "\n";
    return parsed;
  } catch (const CLI::ParseError& wrong) {
    parsed.message = wrong.what();
  }
  if (parsed.message.empty()) parsed.message = check(parsed.options);
  parsed.run = parsed.message.empty();
  if (!parsed.run) {
    parsed.code = kBadOptions;
    parsed.message = fmt::format("rondo-run: {} (rondo-run --help lists the options)\n", parsed.message);
  }
  return parsed;
}

}  // namespace rondo::run
