// SPDX-License-Identifier: Apache-2.0
// rondo-doctor: what would slow down or stop a job on these hosts, found before it begins.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <exception>
#include <set>

#include "exchange.h"
#include "host_check.h"
#include "program.h"
#include "report.h"

namespace {

using namespace rondo::doctor;
using rondo::Communicator;
using rondo::tool::ended;

constexpr int kFaultsFound = 3;
constexpr char kEnd = '\0';  // of each text that ranks exchange

const DoctorHost& host_of(const std::vector<DoctorHost>& hosts, int rank) {
  return *std::find_if(hosts.begin(), hosts.end(), [&](const DoctorHost& host) {
    return std::find(host.ranks.begin(), host.ranks.end(), rank) != host.ranks.end();
  });
}

/// Each host's findings, at rank 0: those of its ranks, equal ones once. `own`: of this rank.
std::vector<DoctorFindings> collect(const Communicator& world, const std::vector<DoctorHost>& hosts,
                                    const DoctorFindings& own) {
  std::string text;
  for (const DoctorFinding& finding : own) text += finding.text + kEnd + finding.advice + kEnd;
  std::vector<std::size_t> counts(static_cast<std::size_t>(world.size()));
  const std::size_t bytes = text.size();
  world.all_gather(bytes, counts);
  std::size_t total = 0;
  for (const std::size_t count : counts) total += count;
  std::string all(world.rank() == 0 ? total : 0, kEnd);
  world.gather_v(text, all, counts, 0);
  std::vector<DoctorFindings> findings(hosts.size());
  if (world.rank() != 0) return findings;
  std::size_t at = 0;
  const auto next = [&] {
    const std::string one = all.c_str() + at;
    at += one.size() + 1;
    return one;
  };
  for (int rank = 0; rank < world.size(); ++rank) {
    DoctorFindings& of_host = findings[static_cast<std::size_t>(&host_of(hosts, rank) - hosts.data())];
    const std::size_t end = at + counts[static_cast<std::size_t>(rank)];
    while (at < end) {
      DoctorFinding finding{next(), ""};
      finding.advice = next();
      if (std::find(of_host.begin(), of_host.end(), finding) == of_host.end())
        of_host.push_back(std::move(finding));
    }
  }
  return findings;
}

/// The transports between the first ranks of hosts, as rank 0 sees them.
std::string transports(const Communicator& world, const std::vector<DoctorHost>& hosts) {
  std::set<std::string> names;
  for (const DoctorHost& host : hosts)
    if (host.ranks.front() != 0) names.insert(world.transport(host.ranks.front()));
  return fmt::format("{}", fmt::join(names, " and "));
}

void print(const DoctorFindings& findings) {
  for (const DoctorFinding& finding : findings) fmt::print("{}\n-> {}\n", finding.text, finding.advice);
}

int conclude(const std::vector<DoctorFindings>& findings, const DoctorFindings& between,
             const DoctorFindings& failed) {
  if (!failed.empty()) return rondo::tool::kFailed;
  std::size_t count = between.size();
  for (const DoctorFindings& of_host : findings) count += of_host.size();
  if (count == 0) fmt::print("no fault found\n");
  return count == 0 ? 0 : kFaultsFound;
}

int examine(const rondo::Config& config) {
  auto world = Communicator::init(config);
  const std::vector<DoctorHost> hosts = find_hosts(world);
  const DoctorHost& here = host_of(hosts, world.rank());
  const Communicator neighbours = world.split(here.ranks.front(), 0, {.name = "host"});
  world.barrier();  // so that all compute at the same time
  double lost = lost_time();
  neighbours.all_reduce(lost, rondo::Op::max);
  DoctorFindings own;
  const bool is_first = here.ranks.front() == world.rank();
  if (is_first) own = host_findings(lost, neighbours.size());
  const DoctorFindings memory = memory_findings(world, here.ranks);
  own.insert(own.end(), memory.begin(), memory.end());
  const std::vector<DoctorFindings> findings = collect(world, hosts, own);
  const std::chrono::milliseconds limit = message_limit(config.timeout);
  const std::vector<HostPair> pairs = measure_pairs(world, hosts, limit);
  int code = 0;
  if (world.rank() == 0) {
    const DoctorFindings between = pair_findings(hosts, pairs), failed = failed_pairs(hosts, pairs, limit);
    fmt::print("{}{}{}", roster_text(hosts), pairs_text(pairs, transports(world, hosts)),
               findings_text(hosts, findings));
    print(failed);
    print(between);
    code = conclude(findings, between, failed);
    if (world.size() == 1)
      fmt::print(
          "for more than one host, and what is between ranks: rondo-run -n 4 rondo-doctor, or the job's "
          "launcher\n");
  }
  world.close();
  return code;
}

}  // namespace

const char* const rondo::tool::kProgramName = "rondo-doctor";

int main(int argc, char** argv) try {
  double timeout_s = 60;
  CLI::App app(
      "Looks for what would slow down or stop a job: settings and load of each host, and messages between "
      "all pairs of hosts. Start it on all ranks, as a job; alone it looks at this host.\nExits with 3 if "
      "there are faults, and with 1 if ranks cannot meet or exchange messages.",
      rondo::tool::kProgramName);
  app.add_option("--timeout", timeout_s,
                 "seconds to wait for all ranks, and for each message between them (60)")
      ->check(CLI::Range(0.1, 86400.0));
  app.set_version_flag("--version", rondo::tool::version_text());
  app.failure_message(
      [](const CLI::App*, const CLI::Error& wrong) { return rondo::tool::option_error(wrong.what()); });
  try {  // CLI11 reports errors by exceptions, and --help too
    app.parse(argc, argv);
  } catch (const CLI::ParseError& parsed) {
    return app.exit(parsed) == 0 ? 0 : rondo::tool::kBadOptions;
  }
  if (std::isnan(timeout_s)) rondo::tool::refuse("--timeout is 'nan': it must be a number of seconds");
  const std::chrono::milliseconds limit(static_cast<std::int64_t>(timeout_s * 1000));
  return ended(examine({.timeout = limit, .init_timeout = limit}));
} catch (const std::exception& failure) {
  rondo::tool::fail(failure.what());
}
