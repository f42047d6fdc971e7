// SPDX-License-Identifier: Apache-2.0
// Calls on GPUs, direct and staged, give the bits of the Schedule that specifies them (docs/algorithms.md),
// as the host's executor runs it: for values whose sums depend on the order, on every rank.
#include <cstring>
#include <deque>
#include <map>

#include "algorithms/algorithm.h"
#include "collective_call.h"
#include "collective_result.h"
#include "oracle.h"
#include "processes.h"
#include "worlds.h"

namespace rondo::test {
namespace {

using Bytes = std::vector<std::byte>;

/// A GPU combines all operands at once, in rank order, and rounds the result. Whether the algorithm does the
/// same to this type, and so specifies the bits of a GPU's calls.
bool specifies(const Algorithm& row, rondo_type_t type) {
  return row.association == Association::OneFold ||
         (row.association == Association::RankOrder && !type_row(type).is_small_float());
}

/// All floats, and two integers, which no order of operands changes.
const std::vector<rondo_type_t>& compared_types() {
  static const std::vector<rondo_type_t> types = [] {
    std::vector<rondo_type_t> made{RONDO_INT32, RONDO_UINT8};
    for (rondo_type_t type = 0; type < kTypes; ++type)
      if (type_row(type).kind == Class::Float) made.push_back(type);
    return made;
  }();
  return types;
}

constexpr size_t kShort = 1009;           // elements
constexpr size_t kLongBytes = 66 * 1024;  // an all_reduce this long takes two steps if it is staged

/// One call of all ranks.
struct Job {
  Kind kind = Kind::AllReduce;
  rondo_type_t type = RONDO_FLOAT32;
  rondo_op_t op = RONDO_SUM;
  bool scales = false;  // a pre-multiplied sum
  size_t count = kShort;

  std::string text() const {
    return std::string(collective_name(kind)) + ", " + std::to_string(count) + " " + type_name(type) + ", " +
           (scales ? "pre-multiplied sum" : op_name(op));
  }
  Bytes input(int rank, int nranks) const {
    const size_t blocks = kind == Kind::ReduceScatter ? static_cast<size_t>(nranks) : 1;
    return random_operands(type, op, 2 * count, rank, count * blocks);
  }
  size_t output_bytes() const { return count * type_bytes(type); }
};

/// One call by ranks that this thread drives together.
std::vector<Bytes> call_all(const Job& job, std::span<const Rank> ranks) {
  std::deque<PremulSum> sums;
  std::vector<std::shared_ptr<std::byte>> from;
  std::vector<std::shared_ptr<std::byte>> to;
  check(rondo_group_start());
  for (const Rank& rank : ranks) {
    const Bytes input = job.input(rank.rank, rank.size);
    rondo_op_t op = job.op;
    if (job.scales)
      op = sums.emplace_back(random_operands(job.type, RONDO_SUM, 4, rank.rank, 1).data(), job.type).get();
    from.push_back(rank.memory->allocate(input.size()));
    to.push_back(rank.memory->allocate(job.output_bytes()));
    rank.memory->copy(from.back().get(), input.data(), input.size());
    check(make_call({job.kind, from.back().get(), to.back().get(), job.count, job.type, op}, rank.comm),
          rank.comm);
  }
  check(rondo_group_end());
  std::vector<Bytes> results;
  for (size_t i = 0; i < ranks.size(); ++i) {
    results.emplace_back(job.output_bytes());
    ranks[i].memory->copy(results.back().data(), to[i].get(), results.back().size());
  }
  return results;
}

const ForeignMemory& host_memory() {
  static const ForeignMemory memory{
      .allocate =
          [](size_t bytes) {
            return std::shared_ptr<std::byte>(new std::byte[bytes]{}, std::default_delete<std::byte[]>());
          },
      .copy = [](void* to, const void* from, size_t bytes) { std::memcpy(to, from, bytes); }};
  return memory;
}

/// Ranks of the host's executor, with the given algorithm.
class HostRanks {
 public:
  HostRanks(int nranks, const char* algorithm) : local_(nranks, config_of(algorithm)) {
    for (int rank = 0; rank < nranks; ++rank) {
      ranks_.push_back(local_.rank(rank));
      ranks_.back().memory = &host_memory();
    }
  }
  std::span<const Rank> ranks() const { return ranks_; }

 private:
  static rondo_config_t config_of(const char* algorithm) {
    rondo_config_t config = RONDO_CONFIG_INITIALIZER;
    config.device = "host";
    config.algorithm = algorithm;
    return config;
  }

  LocalRanks local_;
  std::vector<Rank> ranks_;
};

size_t long_count(rondo_type_t type) { return kLongBytes / type_bytes(type) + 3; }

std::vector<Job> jobs_of(Kind kind) {
  std::vector<Job> jobs;
  for (const rondo_type_t type : compared_types())
    for (const size_t count : {kShort, long_count(type)}) {
      if (count != kShort && kind != Kind::AllReduce) continue;
      for (const rondo_op_t op : {RONDO_SUM, RONDO_PROD, RONDO_AVG})
        if (op != RONDO_AVG || averages(kind)) jobs.push_back({kind, type, op, false, count});
      jobs.push_back({kind, type, RONDO_SUM, true, count});
    }
  return jobs;
}

/// Compares the GPU results of the ranks in `mine` with the host's.
void compare(const Job& job, std::span<const Rank> mine, const std::vector<Bytes>& got,
             const std::vector<Bytes>& expected, const char* algorithm) {
  for (size_t i = 0; i < mine.size(); ++i) {
    const int rank = mine[i].rank;
    if (has_result(job.kind, mine[i].size, 0, rank))
      require(got[i] == expected[static_cast<size_t>(rank)], job.text() + ": rank " + std::to_string(rank) +
                                                                 " of " + std::to_string(mine[i].size) +
                                                                 " has different bits than " + algorithm);
  }
}

std::string wish(const Algorithm& row) { return std::string(collective_name(row.kind)) + "=" + row.name; }

void compare_kind(Kind kind, std::span<const Rank> mine) {
  std::vector<std::pair<const Algorithm*, std::unique_ptr<HostRanks>>> hosts;
  for (const Algorithm& row : algorithms())
    if (row.kind == kind && row.association != Association::Any)
      hosts.emplace_back(&row, std::make_unique<HostRanks>(mine.front().size, wish(row).c_str()));
  require(!hosts.empty(), "nothing specifies " + std::string(collective_name(kind)));
  for (const Job& job : jobs_of(kind)) {
    const std::vector<Bytes> got = call_all(job, mine);
    for (const auto& [row, host] : hosts)
      if (specifies(*row, job.type)) compare(job, mine, got, call_all(job, host->ranks()), row->name);
  }
}

void compare_all(std::span<const Rank> mine) {
  for (const Kind kind : kAllCollectives)
    if (reduces(kind)) compare_kind(kind, mine);
}

void went_by(const Rank& rank, const std::string& way) {
  require(last_algorithm(rank) == way, "went by " + last_algorithm(rank));
}

constexpr int kSizes[] = {2, 3, 5, 8};

TEST_CASE("ranks of one process get the bits of the algorithm that specifies their calls") {
  if (children_lack_gpus()) return;
  for (const int n : kSizes) {
    INFO(n << " ranks");
    expect_success(run_world({.nranks = 1}, [n](Rank&) {
      const Party party(n, "cuda");
      std::vector<Rank> mine;
      for (int rank = 0; rank < n; ++rank) mine.push_back(party.rank(rank));
      compare_all(mine);
      went_by(mine.front(), "gpu_direct");
    }));
  }
}

TEST_CASE("ranks of several processes get the bits of the algorithm that specifies their calls") {
  if (children_lack_gpus()) return;
  const TurnsFolder folder;
  for (const int n : kSizes) {
    INFO(n << " ranks");
    expect_success(run_world(processes(n, {"cuda:0"}, folder.with({kTight})), [](Rank rank) {
      const ForeignMemory memory = foreign_memory(gpu::MemoryKind::Device, 0);
      rank.memory = &memory;
      compare_all({&rank, 1});
      went_by(rank, "gpu_staged");
    }));
  }
}

/// The last algorithm of each kind that combines operands in one fold.
std::map<Kind, const Algorithm*> one_fold_algorithms() {
  std::map<Kind, const Algorithm*> rows;
  for (const Algorithm& row : algorithms())
    if (row.association == Association::OneFold) rows[row.kind] = &row;
  return rows;
}

TEST_CASE("in reproducible mode the device gets those bits by any protocol and number of channels") {
  if (children_lack_gpus()) return;
  const auto rows = one_fold_algorithms();
  std::string wishes;
  for (const auto& [kind, row] : rows) wishes += (wishes.empty() ? "" : ";") + wish(*row);
  for (const char* protocol : {"simple", "ll"})
    for (const char* channels : {"1", "4"}) {
      INFO(protocol << ", " << channels << " channels");
      const WorldOptions options{.nranks = 1,
                                 .environment = {{"RONDO_REPRODUCIBLE", "1"},
                                                 {"RONDO_ALGORITHM", wishes},
                                                 {"RONDO_PROTOCOL", protocol},
                                                 {"RONDO_CHANNELS", channels}}};
      expect_success(run_world(options, [&](Rank&) {
        const Party party(3, "cuda");
        std::vector<Rank> mine;
        for (int rank = 0; rank < 3; ++rank) mine.push_back(party.rank(rank));
        compare_all(mine);
        went_by(mine.front(), rows.rbegin()->second->name);
      }));
    }
}

TEST_CASE("the compared values distinguish orders and roundings") {
  expect_success(run_world({.nranks = 1}, [](Rank&) {
    for (const int n : {3, 5, 8}) {
      const HostRanks one_shot(n, "all_reduce=one_shot");
      const HostRanks ring(n, "all_reduce=ring");
      for (const rondo_type_t type : compared_types()) {
        const Job job{.type = type, .count = long_count(type)};
        const bool differ = call_all(job, one_shot.ranks()) != call_all(job, ring.ranks());
        require(differ == type_row(type).is_rounded(), std::to_string(n) + " ranks, " + type_name(type));
      }
    }
  }));
}

/// A GPU combines all operands at once and rounds the result; a chain rounds what each rank passes on.
TEST_CASE("a GPU's scan of small floats equals the one-shot reduction of the ranks up to each") {
  if (children_lack_gpus()) return;
  expect_success(run_world({.nranks = 1}, [](Rank&) {
    constexpr int kRanks = 5;
    const Party party(kRanks, "cuda");
    std::vector<Rank> mine;
    for (int rank = 0; rank < kRanks; ++rank) mine.push_back(party.rank(rank));
    for (const rondo_type_t type : compared_types()) {
      const std::vector<Bytes> got = call_all({.kind = Kind::Scan, .type = type}, mine);
      for (int rank = 0; rank < kRanks; ++rank) {
        const HostRanks up_to_it(rank + 1, "all_reduce=one_shot");
        require(got[static_cast<size_t>(rank)] == call_all({.type = type}, up_to_it.ranks()).front(),
                std::string(type_name(type)) + ", rank " + std::to_string(rank));
      }
    }
  }));
}

}  // namespace
}  // namespace rondo::test
