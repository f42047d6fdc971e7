// SPDX-License-Identifier: Apache-2.0
#include "session.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sched.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "algorithms.h"
#include "cases.h"
#include "failure.h"
#include "gpu/device.h"
#include "handoff.h"
#include "host_clock.h"
#include "measure.h"
#include "memory_limit.h"
#include "rules.h"
#include "run_facts.h"
#include "table.h"
#include "team_buffers.h"
#include "team_start.h"
#include "terminal_plot.h"
#include "try.h"
#include "values.h"
#include "watchdog.h"

namespace rondo::perf {
namespace {

constexpr double kWatchdogGrace_s =
    1;  // lets the library's own deadline expire first: it can name the ranks that did not answer

class BenchSession {
 public:
  explicit BenchSession(const SessionInput& input) : input_(input), options_(*input.options) {
    team_.options = input.options;
    team_.control = input.comm;
    team_.thread = input.thread;
    team_.nthreads = input.nthreads;
    team_.graphs = input.graphs;
    const int each = options_.gpu.per_thread;
    team_.nranks = input.nthreads * each;
    team_.members.resize(static_cast<size_t>(each));
    for (int i = 0; i < each; ++i) team_.members[static_cast<size_t>(i)].rank = input.thread * each + i;
  }
  BenchSession(const BenchSession&) = delete;
  BenchSession& operator=(const BenchSession&) = delete;

  rondo_status_t run();
  void end(bool failed);
  bool wrong() const { return team_.wrong_here > 0 || wrong_anywhere_; }
  bool nothing_to_run() const { return nothing_; }
  bool unwritten() const { return unwritten_; }

 private:
  void say(const std::string& text) const {
    if (!team_.prints()) return;
    fmt::print("{}", text);
    std::fflush(stdout);
  }
  rondo_status_t run_tables();
  rondo_status_t run_collective(Collective collective);
  rondo_status_t run_algorithm(const Table& table);
  rondo_status_t run_table(const Table& table);
  rondo_status_t run_combinations(const Table& table);
  rondo_status_t run_combination(const Table& table, const Combination& combination);
  rondo_status_t run_sizes(const Table& table, const Combination& combination,
                           const std::vector<rondo_op_t>& ops);
  rondo_status_t run_row(const Table& table, const Combination& combination, std::vector<Trial> trials,
                         Checker& checker);
  rondo_status_t connect_hosts();
  rondo_status_t explain_sizes(const Table& table, const Combination& combination,
                               const std::vector<rondo_op_t>& ops);
  rondo_status_t save_rules();
  rondo_status_t find_setup();
  rondo_status_t find_transports();
  void find_cpus();
  rondo_status_t probe();
  rondo_status_t part_ranks();
  bool share_cpus(const std::vector<double>& cpus) const;
  void finish_row(Row& row);
  std::vector<size_t> sizes_of(const Table& table) const;
  std::vector<Trial> make_trials(const Table& table, const Combination& combination,
                                 const std::vector<rondo_op_t>& ops, size_t bytes) const;

  const SessionInput& input_;
  const PerfOptions& options_;
  Team team_;
  Setup setup_;
  TeamBuffers buffers_;
  std::vector<Row> rows_;  // of the current table
  std::string transports_;
  std::optional<CpuPair> cpus_;  // to probe
  std::map<Collective, std::string> rules_;
  bool wrong_anywhere_ = false;
  bool nothing_ = false;
  bool unwritten_ = false;
};

TableStyle style_of(const PerfOptions& options) {
  return {options.cpu_time, options.timestamps, options.gpu.limits, options.per_iteration};
}

std::vector<Trial> BenchSession::make_trials(const Table& table, const Combination& combination,
                                             const std::vector<rondo_op_t>& ops, size_t bytes) const {
  const TypeRow& type = type_info(combination.type);
  const size_t count = elements_for(table.collective, bytes, type.bytes, team_.nranks);
  std::vector<Trial> trials(team_.members.size());
  for (size_t i = 0; i < trials.size(); ++i) {
    const TeamRank& member = team_.members[i];
    BenchCall& call = trials[i].call;
    call.shape = {table.collective,
                  team_.nranks,
                  member.rank,
                  combination.root,
                  count,
                  table.varying,
                  table.collective == Collective::SendRecv && options_.one_way};
    call.layout = make_layout(call.shape);
    call.type = combination.type;
    call.op = ops[i];
    call.comm = member.comm;
    call.stream = member.stream;
    call.ping_pong = options_.ping_pong;
  }
  return trials;
}

// Chooses two CPUs of the ranks on this host.
void BenchSession::find_cpus() {
  std::vector<int> cpus;
  for (const Who& one : team_.roster)
    if (std::strcmp(one.host, team_.roster[0].host) == 0) cpus.push_back(one.cpu);
  cpus_ = choose_pair(cpus, allowed_cpus());
}

// Runs before and after each table. Rank 0 probes while the others wait.
rondo_status_t BenchSession::probe() {
  if (options_.gpu.used()) return RONDO_OK;
  if (team_.prints()) {
    setup_.handoff_ns = cpus_ ? measure_handoff(*cpus_) : std::nullopt;
    say(fmt::format("# cache line: {}\n", describe_handoff(cpus_, setup_.handoff_ns)));
  }
  return rondo_barrier(team_.control, nullptr);
}

// `cpus`: by thread.
bool BenchSession::share_cpus(const std::vector<double>& cpus) const {
  std::set<std::pair<std::string, double>> used;
  for (size_t thread = 0; thread < cpus.size(); ++thread)
    if (!used.emplace(team_.roster[thread * team_.members.size()].host, cpus[thread]).second) return true;
  return false;
}

// While ranks waited for the probe, the kernel may have put two on one CPU although others were idle. Keeps
// all busy until it has moved them apart; in vain if there are too few CPUs.
rondo_status_t BenchSession::part_ranks() {
  constexpr int kTries = 8;
  constexpr double kBusy_us = 3000;
  if (options_.gpu.used()) return RONDO_OK;
  std::vector<double> cpus;
  for (int i = 0; i < kTries; ++i) {
    PERF_TRY(collect(team_, {static_cast<double>(sched_getcpu())}, cpus));
    if (!share_cpus(cpus)) return RONDO_OK;
    for (const double start_us = now_us(); now_us() - start_us < kBusy_us;) {
    }
  }
  return RONDO_OK;
}

// Adds a measured row to the table; rank 0 prints it and passes it on at once, since a later row may crash.
void BenchSession::finish_row(Row& row) {
  for (const auto& timing : {row.out_of_place, row.in_place})
    wrong_anywhere_ |= timing && timing->wrong.value_or(0) > 0;
  say(table_row(row, style_of(options_), options_.timestamps ? time_of_day() : ""));
  if (team_.prints()) input_.results->row(row);
  rows_.push_back(row);
}

rondo_status_t BenchSession::run_row(const Table& table, const Combination& combination,
                                     std::vector<Trial> trials, Checker& checker) {
  Row row = blank_row(table, combination, trials[0].call.shape.count, team_.nranks);
  row.setup = setup_;
  for (size_t i = 0; i < trials.size(); ++i) trials[i].buffers = buffers_.of(i);
  if (input_.watches && options_.timeout_s > 0) watch_row(options_.timeout_s + kWatchdogGrace_s);
  PERF_TRY(measure(team_, std::move(trials), checker, row));
  if (input_.watches && options_.timeout_s > 0) watch_row(0);
  row.algorithm = is_of_messages(table.collective) ? "none" : team_.algorithm;
  PERF_TRY(find_transports());  // connecting may have shown that the best one cannot be used
  row.transport = transports_;
  finish_row(row);
  return RONDO_OK;
}

std::vector<size_t> BenchSession::sizes_of(const Table& table) const {
  return table.collective == Collective::Barrier ? std::vector<size_t>{0} : sweep_sizes(options_.sweep);
}

/// So that explanations can say how ranks of different hosts are connected.
rondo_status_t BenchSession::connect_hosts() {
  if (transports_ == "local" || transports_ == "shm" || transports_ == "local+shm") return RONDO_OK;
  return together(team_, [this](TeamRank& member) {
    const std::vector<char> from(static_cast<size_t>(team_.nranks));
    std::vector<char> to(from.size());
    return rondo_all_to_all(from.data(), to.data(), 1, RONDO_INT8, member.comm, nullptr);
  });
}

/// The text is the same at all ranks, but for the connections at its end.
rondo_status_t BenchSession::explain_sizes(const Table& table, const Combination& combination,
                                           const std::vector<rondo_op_t>& ops) {
  std::vector<ChoiceAtSize> choices;
  for (const size_t bytes : sizes_of(table)) {
    const BenchCall call = make_trials(table, combination, ops, bytes)[0].call;
    const char* text = "";
    PERF_TRY(rondo_explain(call.comm, std::string(collective_info(table.collective).name).c_str(),
                           call.shape.count, call.type, call.op, call.shape.root, &text));
    if (options_.explain) say(fmt::format("{}\n", text));
    choices.push_back({bytes, choice_in(text)});
  }
  rules_[table.collective] = rule_of(table.collective, choices);
  return RONDO_OK;
}

rondo_status_t BenchSession::save_rules() {
  if (options_.rules_file.empty() || !team_.prints() || nothing_) return RONDO_OK;
  int version = 0;
  PERF_TRY(rondo_version(&version));
  std::string text =
      fmt::format("# Chosen by Rondo {}.{}.{} for {} ranks ({}), {}; see RONDO_ALGORITHM.\n", version / 10000,
                  version / 100 % 100, version % 100, team_.nranks, transports_, time_of_day());
  for (const auto& [collective, rule] : rules_) text += rule + "\n";
  unwritten_ = !write_rules(options_.rules_file, text);
  return RONDO_OK;
}

rondo_status_t BenchSession::run_sizes(const Table& table, const Combination& combination,
                                       const std::vector<rondo_op_t>& ops) {
  if (!options_.makes_calls()) return explain_sizes(table, combination, ops);
  const TypeRow& type = type_info(combination.type);
  const std::vector<size_t> sizes = sizes_of(table);
  Checker checker(type, combination.op, traits(table.collective).reduces(), team_.nranks, options_.seed);
  PERF_TRY(buffers_.open(team_, make_trials(table, combination, ops, sizes.back()), type.bytes));
  for (const size_t bytes : sizes)
    PERF_TRY(run_row(table, combination, make_trials(table, combination, ops, bytes), checker));
  PERF_TRY(buffers_.close());
  // To free a GPU's memory waits for all its streams, and to deregister memory waits for peers: no rank may
  // let a stream wait in the next call before all have done both.
  const bool waits = options_.register_buffers || options_.gpu.used();
  return waits ? rondo_barrier(team_.control, nullptr) : RONDO_OK;
}

rondo_status_t BenchSession::run_combination(const Table& table, const Combination& combination) {
  std::vector<rondo_op_t> ops(team_.members.size(), static_cast<rondo_op_t>(combination.op));
  if (combination.op != Op::MulSum) return run_sizes(table, combination, ops);
  alignas(16) std::byte scalar[16];
  const TypeRow& type = type_info(combination.type);
  for (size_t i = 0; i < ops.size(); ++i) {
    store(type, scalar_value(type, team_.members[i].rank), scalar);
    PERF_TRY(rondo_op_create_premul_sum(scalar, type.id, &ops[i]));
  }
  PERF_TRY(run_sizes(table, combination, ops));
  for (const rondo_op_t op : ops) PERF_TRY(rondo_op_destroy(op));
  return RONDO_OK;
}

rondo_status_t BenchSession::run_combinations(const Table& table) {
  for (const Combination& combination : combinations(options_, table.collective, team_.nranks))
    PERF_TRY(run_combination(table, combination));
  nothing_ = false;
  return RONDO_OK;
}

rondo_status_t BenchSession::run_table(const Table& table) {
  rows_.clear();
  PERF_TRY(find_transports());
  if (options_.explain) PERF_TRY(connect_hosts());
  if (!options_.makes_calls()) return run_combinations(table);
  const std::string algorithm = table.algorithm.empty() ? "" : ", algorithm " + table.algorithm;
  say(fmt::format("# {}, {} ranks{}, transport {}\n", name_of(table), team_.nranks, algorithm, transports_));
  PERF_TRY(probe());
  PERF_TRY(part_ranks());
  say("#\n" + table_header(style_of(options_)));
  PERF_TRY(run_combinations(table));
  PERF_TRY(probe());
  if (team_.prints()) input_.results->table_end({setup_.handoff_ns});
  say(table_footer(rows_));
  if (options_.ascii) say(terminal_plot(rows_, terminal_columns()));
  return options_.memory ? report_memory(team_, input_.process) : RONDO_OK;
}

// Finds the transports between this thread's ranks and the others: "shm", or "local+shm".
rondo_status_t BenchSession::find_transports() {
  std::set<std::string> names;
  for (const TeamRank& member : team_.members) {
    for (int peer = 0; peer < team_.nranks; ++peer) {
      const char* name = nullptr;
      PERF_TRY(rondo_transport(member.comm, peer, &name));
      if (peer != member.rank || team_.nranks == 1) names.insert(name);
    }
  }
  transports_ = fmt::format("{}", fmt::join(names, "+"));
  return RONDO_OK;
}

rondo_status_t BenchSession::run_algorithm(const Table& table) {
  if (table.algorithm.empty()) return run_table(table);
  const rondo_status_t known =
      use_algorithm(team_, fmt::format("{}={}", collective_info(table.collective).name, table.algorithm));
  if (known == RONDO_INVALID_ARGUMENT) {
    say(fmt::format("# left out: {}\n#\n", take_failure()));
    return RONDO_OK;
  }
  PERF_TRY(known);
  const rondo_status_t status = run_table(table);
  if (status == RONDO_OK) return use_joined(team_);
  if (status != RONDO_UNSUPPORTED) return status;
  // A legal call that this algorithm does not support, for example with this number of ranks. The outcome is
  // the same at every rank, and the next algorithm may support it.
  say(fmt::format("# left out: {}\n#\n", take_failure()));
  buffers_.drop();
  static_cast<void>(use_joined(team_));
  return RONDO_OK;
}

rondo_status_t BenchSession::run_collective(Collective collective) {
  const bool varying =
      options_.varying && traits(collective).has_blocks() && collective != Collective::Hypercube;
  if (options_.varying && !varying) {
    say(fmt::format("# left out: {} has no form with a length for each rank\n#\n",
                    collective_info(collective).name));
    return RONDO_OK;
  }
  if (collective == Collective::Hypercube && !std::has_single_bit(static_cast<unsigned>(team_.nranks))) {
    say(fmt::format("# left out: nRanks {} is not a power of 2, skipping\n#\n", team_.nranks));
    nothing_ = false;  // for nccl-tests, too, that is no failure
    return RONDO_OK;
  }
  if (is_of_messages(collective) && options_.gpu.graph_launches > 0 && team_.nthreads > 1) {
    say("# left out: one graph cannot hold the messages of several threads (-t 1)\n#\n");
    return RONDO_OK;
  }
  const std::vector<std::string> names = algorithm_names(collective);
  const std::vector<std::string> chosen = chosen_algorithms(options_.algorithms, collective, names);
  if (names.empty() && (!options_.makes_calls() || !chosen.front().empty())) {
    say(fmt::format("# left out: {} has no algorithms\n#\n", collective_info(collective).name));
    return RONDO_OK;
  }
  for (const std::string& algorithm : chosen) PERF_TRY(run_algorithm({collective, algorithm, varying}));
  return RONDO_OK;
}

// Fills in what rows and the lines above them report about memory, calls and clock.
rondo_status_t BenchSession::find_setup() {
  const GpuOptions& gpu = options_.gpu;
  setup_.memory = space_name(gpu.space);
  setup_.calls = options_.queue           ? "queue"
                 : gpu.graph_launches > 0 ? "graph"
                 : gpu.used()             ? "stream"
                                          : "calls";
  setup_.clock = times_by_events(options_) ? "events" : options_.cpu_time ? "cpu" : "host";
  setup_.fresh = options_.fresh;
  if (options_.per_iteration && !times_by_events(options_))
    setup_.clock_read_ns = clock_read_ns(clock_for(options_.cpu_time));
  setup_.graph_launches = gpu.graph_launches;
  if (!gpu.used()) return RONDO_OK;
  PERF_TRY_ASSIGN(const int version, gpu::driver_version());
  setup_.driver = fmt::format("{}.{}", version / 1000, version / 10 % 100);
  setup_.gpu = team_.roster[0].gpu;
  if (!team_.copy_rates.empty()) setup_.copy_gbs = team_.copy_rates[0] * 1e-3;
  return RONDO_OK;
}

rondo_status_t BenchSession::run_tables() {
  if (options_.gpu.limits) PERF_TRY(measure_copy_rates(team_));
  PERF_TRY(find_setup());
  PERF_TRY(report_ranks(team_, input_.process, setup_));
  nothing_ = true;
  for (int cycle = 0; options_.cycles == 0 || cycle < options_.cycles; ++cycle) {
    for (const Collective collective : options_.collectives) PERF_TRY(run_collective(collective));
    PERF_TRY(save_rules());
  }
  return rondo_barrier(team_.control, nullptr);  // no thread leaves while another still has work
}

rondo_status_t BenchSession::run() {
  PERF_TRY(start_team(team_));
  if (options_.startup) PERF_TRY(report_startup(team_, input_.process));
  PERF_TRY(fill_roster(team_));
  find_cpus();
  return options_.collectives.empty() ? RONDO_OK : run_tables();
}

void BenchSession::end(bool failed) {
  if (failed) release_others(team_);
  buffers_.drop();
  end_team(team_);
}

}  // namespace

int report_failure(int rank, rondo_status_t status) {
  const std::string text = take_failure();
  const std::string who = rank < 0 ? "" : fmt::format("rank {}: ", rank);
  fmt::print(stderr, "rondo-perf: {}{}: {}\n", who, rondo_status_string(status),
             text.empty() ? "the library gives no reason" : text);
  return kLibraryFailed;
}

int run_session(const SessionInput& input) {
  const PerfOptions& options = *input.options;
  const int nranks = input.nthreads * options.gpu.per_thread;
  const bool root_missing =
      std::any_of(options.roots.begin(), options.roots.end(), [&](int root) { return root >= nranks; });
  if (root_missing) {
    if (input.thread == 0)
      fmt::print(stderr, "rondo-perf: -r is {}: with {} ranks the last one is {}\n", options.roots[0], nranks,
                 nranks - 1);
    return kBadOptions;
  }
  BenchSession session(input);
  const rondo_status_t status = session.run();
  const int code =
      status == RONDO_OK ? kAllRight : report_failure(input.thread * options.gpu.per_thread, status);
  session.end(status != RONDO_OK);
  if (code != kAllRight) return code;
  if (session.nothing_to_run() || session.unwritten()) return kBadOptions;
  return session.wrong() ? kWrongValues : kAllRight;
}

}  // namespace rondo::perf
