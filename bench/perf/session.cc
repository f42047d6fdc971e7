#include "session.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <ctime>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "algorithms.h"
#include "measure.h"
#include "table.h"
#include "try.h"
#include "values.h"
#include "watchdog.h"

namespace rondo::perf {
namespace {

constexpr double kWatchdogGrace_s =
    1;  // the library's own deadline comes first: it can say who did not answer

// What a table of rows has in common.
struct Table {
  Collective collective;
  std::string algorithm;  // empty: the library's choice
  bool varying = false;
};

// One line of the sweep within a table, for all sizes.
struct Combination {
  int type = RONDO_FLOAT32;
  Op op = Op::Sum;
  int root = 0;
};

class Session {
 public:
  explicit Session(const SessionInput& input) : input_(input), options_(*input.options) {
    rank_.options = input.options;
    rank_.comm = rank_.control = input.comm;
    rank_.rank = input.rank;
    rank_.nranks = input.nranks;
  }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  ~Session() { rondo_queue_destroy(rank_.stream); }

  rondo_status_t run();
  bool wrong() const { return rank_.wrong_here > 0 || wrong_anywhere_; }
  bool nothing_to_run() const { return nothing_; }

 private:
  void say(const std::string& text) const {
    if (rank_.rank != 0) return;
    fmt::print("{}", text);
    std::fflush(stdout);
  }
  rondo_status_t run_collective(Collective collective);
  rondo_status_t run_algorithm(const Table& table);
  rondo_status_t run_table(const Table& table);
  rondo_status_t run_combination(const Table& table, const Combination& combination);
  rondo_status_t run_sizes(const Table& table, const Combination& combination, rondo_op_t op);
  rondo_status_t run_row(const Table& table, const Combination& combination, Call call, Checker& checker);
  rondo_status_t find_transports();
  rondo_status_t open_comm(const Table& table);
  rondo_status_t open_buffers(const Call& largest, size_t element_bytes);
  rondo_status_t close_buffers();
  std::vector<Combination> combinations(Collective collective) const;
  void finish_row(Row& row);
  Call make_call(const Table& table, const Combination& combination, rondo_op_t op, size_t bytes) const;

  const SessionInput& input_;
  const Options& options_;
  RankContext rank_;
  std::unique_ptr<Buffers> buffers_;
  std::vector<void*> registered_;
  std::vector<Row> rows_;  // of the table under way
  std::string transports_;
  bool wrong_anywhere_ = false;
  bool nothing_ = false;
};

std::string timestamp() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  localtime_r(&now, &parts);
  return fmt::format("{:%Y-%m-%d %H:%M:%S}", parts);
}

TableStyle style_of(const Options& options) { return {options.cpu_time, options.timestamps}; }

std::string name_of(const Table& table) {
  return std::string(collective_info(table.collective).name) + (table.varying ? "_v" : "");
}

// Operations that the collective and the type have in common; an operation that is not used stands for all.
std::vector<Op> ops_for(const Options& options, Collective collective, const Type& type) {
  if (!collective_info(collective).reduces) return {Op::Sum};
  const bool prefix = collective == Collective::Scan || collective == Collective::Exscan;
  std::vector<Op> ops;
  for (const Op op : options.ops) {
    if (op_takes(op, type) && !(prefix && op == Op::Avg)) ops.push_back(op);
  }
  return ops;
}

std::vector<Combination> Session::combinations(Collective collective) const {
  std::vector<int> roots{0};
  if (collective_info(collective).has_root) {
    roots = options_.roots;
    for (int root = 0; options_.roots.empty() && root < rank_.nranks; ++root) roots.push_back(root);
  }
  if (collective == Collective::Barrier) return {{}};
  std::vector<Combination> all;
  for (const int type : options_.types) {
    for (const Op op : ops_for(options_, collective, type_info(type))) {
      for (const int root : roots) all.push_back({type, op, root});
    }
  }
  return all;
}

Call Session::make_call(const Table& table, const Combination& combination, rondo_op_t op,
                        size_t bytes) const {
  Call call;
  const Type& type = type_info(combination.type);
  call.shape = {table.collective,
                rank_.nranks,
                rank_.rank,
                combination.root,
                elements_for(table.collective, bytes, type.bytes, rank_.nranks),
                table.varying};
  call.layout = make_layout(call.shape);
  call.type = combination.type;
  call.op = op;
  call.comm = rank_.comm;
  call.stream = rank_.stream;
  return call;
}

rondo_status_t register_buffer(rondo_comm_t comm, Buffer& buffer, std::vector<void*>& handles) {
  if (buffer.capacity() == 0) return RONDO_OK;
  void* handle = nullptr;
  PERF_TRY(rondo_register(comm, buffer.data(), buffer.capacity(), &handle));
  handles.push_back(handle);
  return RONDO_OK;
}

rondo_status_t Session::open_buffers(const Call& largest, size_t element_bytes) {
  const auto memory = options_.shared_memory ? Buffer::Memory::Shared : Buffer::Memory::Plain;
  const size_t send = largest.layout.send_extent * element_bytes;
  const size_t recv = std::max(send, largest.layout.recv_extent * element_bytes);  // in place it holds both
  const size_t unalign = options_.unalign * element_bytes;
  buffers_ = std::make_unique<Buffers>();
  if (!buffers_->send.allocate(send, unalign, memory) || !buffers_->recv.allocate(recv, unalign, memory)) {
    fmt::print(stderr, "rondo-perf: rank {}: no memory for buffers of {} and {} bytes\n", rank_.rank, send,
               recv);
    return RONDO_OUT_OF_MEMORY;
  }
  if (!options_.register_buffers) return RONDO_OK;
  PERF_TRY(register_buffer(rank_.comm, buffers_->send, registered_));
  return register_buffer(rank_.comm, buffers_->recv, registered_);
}

rondo_status_t Session::close_buffers() {
  for (void* handle : registered_) PERF_TRY(rondo_deregister(rank_.comm, handle));
  registered_.clear();
  buffers_.reset();
  return RONDO_OK;
}

// Adds a measured row to the table, rank 0 prints it.
void Session::finish_row(Row& row) {
  for (const auto& timing : {row.out_of_place, row.in_place})
    wrong_anywhere_ |= timing && timing->wrong.value_or(0) > 0;
  say(table_row(row, style_of(options_), options_.timestamps ? timestamp() : ""));
  if (rank_.rank == 0 && input_.on_row) input_.on_row(row);
  rows_.push_back(row);
}

rondo_status_t Session::run_row(const Table& table, const Combination& combination, Call call,
                                Checker& checker) {
  const CollectiveInfo& info = collective_info(table.collective);
  const Type& type = type_info(combination.type);
  const bool barrier = table.collective == Collective::Barrier;
  Row row;
  row.collective = name_of(table);
  row.transport = transports_;
  row.ranks = rank_.nranks;
  row.count = call.shape.count;
  row.bytes =
      barrier ? 0 : call.shape.count * type.bytes * (info.in_blocks ? static_cast<size_t>(rank_.nranks) : 1);
  row.type = barrier ? "none" : type.name;
  row.op = info.reduces ? op_info(combination.op).name : "none";
  row.root = info.has_root ? combination.root : -1;
  if (input_.watches && options_.timeout_s > 0) watch_row(options_.timeout_s + kWatchdogGrace_s);
  PERF_TRY(measure(rank_, call, checker, *buffers_, row));
  if (input_.watches && options_.timeout_s > 0) watch_row(0);
  row.algorithm = table.collective == Collective::SendRecv ? "none" : rank_.algorithm;
  row.automatic = table.algorithm.empty();
  finish_row(row);
  return RONDO_OK;
}

rondo_status_t Session::run_sizes(const Table& table, const Combination& combination, rondo_op_t op) {
  const Type& type = type_info(combination.type);
  std::vector<size_t> sizes = sweep_sizes(options_.sweep);
  if (table.collective == Collective::Barrier) sizes = {0};
  Checker checker(type, combination.op, collective_info(table.collective).reduces, rank_.nranks,
                  options_.seed);
  PERF_TRY(open_buffers(make_call(table, combination, op, sizes.back()), type.bytes));
  for (const size_t bytes : sizes)
    PERF_TRY(run_row(table, combination, make_call(table, combination, op, bytes), checker));
  return close_buffers();
}

rondo_status_t Session::run_combination(const Table& table, const Combination& combination) {
  if (combination.op != Op::MulSum)
    return run_sizes(table, combination, static_cast<rondo_op_t>(combination.op));
  alignas(16) std::byte scalar[16];
  const Type& type = type_info(combination.type);
  store(type, scalar_value(type, rank_.rank), scalar);
  rondo_op_t op = 0;
  PERF_TRY(rondo_op_create_premul_sum(scalar, type.id, &op));
  PERF_TRY(run_sizes(table, combination, op));
  return rondo_op_destroy(op);
}

rondo_status_t Session::run_table(const Table& table) {
  rows_.clear();
  PERF_TRY(find_transports());
  const std::string algorithm = table.algorithm.empty() ? "" : ", algorithm " + table.algorithm;
  say(fmt::format("# {}, {} ranks{}, transport {}\n#\n{}", name_of(table), rank_.nranks, algorithm,
                  transports_, table_header(style_of(options_))));
  for (const Combination& combination : combinations(table.collective))
    PERF_TRY(run_combination(table, combination));
  say(table_footer(rows_));
  return options_.memory ? report_memory(rank_, input_.process) : RONDO_OK;
}

// What carries data between this rank and the others: "shm", or "local+shm".
rondo_status_t Session::find_transports() {
  std::set<std::string> names;
  for (int peer = 0; peer < rank_.nranks; ++peer) {
    const char* name = nullptr;
    PERF_TRY(rondo_transport(rank_.comm, peer, &name));
    if (peer != rank_.rank || rank_.nranks == 1) names.insert(name);
  }
  transports_ = fmt::format("{}", fmt::join(names, "+"));
  return RONDO_OK;
}

// The communicator that uses the table's algorithm.
rondo_status_t Session::open_comm(const Table& table) {
  const std::string choice = fmt::format("{}={}", collective_info(table.collective).name, table.algorithm);
  rondo_config_t config = RONDO_CONFIG_INITIALIZER;
  config.timeout_ms = static_cast<int64_t>(options_.timeout_s * 1000);
  config.algorithm = choice.c_str();
  if (!options_.transport.empty()) config.transport = options_.transport.c_str();
  return rondo_split(rank_.control, 0, rank_.rank, &rank_.comm, &config);
}

rondo_status_t Session::run_algorithm(const Table& table) {
  if (table.algorithm.empty()) return run_table(table);
  PERF_TRY(open_comm(table));
  const rondo_status_t status = run_table(table);
  if (status == RONDO_OK) {
    const rondo_status_t destroyed = rondo_destroy(rank_.comm);
    rank_.comm = rank_.control;
    return destroyed;
  }
  if (status != RONDO_UNSUPPORTED) return status;
  // Legal, but not for this algorithm (so many ranks, say): the same at every rank, and the next one may do
  // it.
  say(fmt::format("# left out: {}\n#\n", rondo_last_error(nullptr)));
  buffers_.reset();
  registered_.clear();
  static_cast<void>(rondo_destroy(rank_.comm));
  rank_.comm = rank_.control;
  return RONDO_OK;
}

rondo_status_t Session::run_collective(Collective collective) {
  const bool varying = options_.varying && collective_info(collective).varying;
  if (options_.varying && !varying) {
    say(fmt::format("# left out: {} has no form with a length for each rank\n#\n",
                    collective_info(collective).name));
    return RONDO_OK;
  }
  const std::vector<std::string> names = algorithm_names(collective);
  const auto chosen = chosen_algorithms(options_.algorithms, collective, names);
  if (chosen.empty())
    say(fmt::format("# left out: {} has no such algorithm; it has {}\n#\n", collective_info(collective).name,
                    names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", "))));
  for (const std::string& algorithm : chosen) {
    PERF_TRY(run_algorithm({collective, algorithm, varying}));
    nothing_ = false;
  }
  return RONDO_OK;
}

rondo_status_t Session::run() {
  if (options_.startup) PERF_TRY(report_startup(rank_, input_.process));
  if (options_.collectives.empty()) return RONDO_OK;
  PERF_TRY(report_ranks(rank_, input_.process));
  if (options_.queue) PERF_TRY(rondo_queue_create(&rank_.stream));
  nothing_ = true;
  for (int cycle = 0; options_.cycles == 0 || cycle < options_.cycles; ++cycle) {
    for (const Collective collective : options_.collectives) PERF_TRY(run_collective(collective));
  }
  return rondo_barrier(rank_.control, nullptr);  // nobody leaves while another still has work
}

}  // namespace

int report_failure(int rank, rondo_status_t status) {
  const std::string text = rondo_last_error(nullptr);
  fmt::print(stderr, "rondo-perf: rank {}: {}: {}\n", rank, rondo_status_string(status),
             text.empty() ? "the library says no more" : text);
  return kLibraryFailed;
}

int run_session(const SessionInput& input) {
  const bool root_missing = std::any_of(input.options->roots.begin(), input.options->roots.end(),
                                        [&](int root) { return root >= input.nranks; });
  if (root_missing) {
    if (input.rank == 0)
      fmt::print(stderr, "rondo-perf: -r is {}: with {} ranks the last one is {}\n", input.options->roots[0],
                 input.nranks, input.nranks - 1);
    return kBadOptions;
  }
  Session session(input);
  const rondo_status_t status = session.run();
  if (status != RONDO_OK) return report_failure(input.rank, status);
  if (session.nothing_to_run()) return kBadOptions;
  return session.wrong() ? kWrongValues : kAllRight;
}

}  // namespace rondo::perf
