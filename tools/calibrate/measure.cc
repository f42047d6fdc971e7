// SPDX-License-Identifier: Apache-2.0
#include "calibrate/measure.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <thread>
#include <utility>

#include "few_cpus.h"
#include "plan/connection_costs.h"
#include "plan/pull_costs.h"
#include "rondo/rondo.h"

namespace rondo::calibrate {
namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kMaxBytes = size_t{2} << 20;  // of a vector
constexpr size_t kMaxCpus = 4;
constexpr int kMaxRanks = 8;
constexpr int kRounds = 5;
constexpr int64_t kTimeout_ms = 10'000;

constexpr CollectiveKind kKinds[] = {CollectiveKind::AllReduce, CollectiveKind::AllGather,
                                     CollectiveKind::ReduceScatter, CollectiveKind::Broadcast};

/// Everything that is timed on one communicator of its own: one algorithm by one executor, at several
/// lengths.
struct TimedSeries {
  struct Length {
    size_t count = 0;              // of elements, as Call counts them
    int calls = 0;                 // that are timed together
    std::vector<double> times_us;  // of a call, in each round
  };
  const Algorithm* algorithm = nullptr;
  bool is_pulled = false;
  std::vector<Length> lengths;

  std::string choice() const {
    return fmt::format("{}={}@{}", collective_name(algorithm->kind), algorithm->name,
                       is_pulled ? "shm_pull" : "connections");
  }
};

Call call_of(CollectiveKind kind, size_t count) {
  Call call;
  call.kind = kind;
  call.type = CallType::of(ElementType::Float32);
  call.op = CallOp::of(Reduction::Sum);
  call.count = count;
  return call;
}

rondo_status_t make_call(CollectiveKind kind, const float* in, float* out, size_t count, rondo_comm_t comm) {
  switch (kind) {
    case CollectiveKind::AllReduce:
      return rondo_all_reduce(in, out, count, RONDO_FLOAT32, RONDO_SUM, comm, nullptr);
    case CollectiveKind::AllGather: return rondo_all_gather(in, out, count, RONDO_FLOAT32, comm, nullptr);
    case CollectiveKind::ReduceScatter:
      return rondo_reduce_scatter(in, out, count, RONDO_FLOAT32, RONDO_SUM, comm, nullptr);
    default: return rondo_broadcast(in, out, count, RONDO_FLOAT32, 0, comm, nullptr);
  }
}

struct RankFailure {
  rondo_status_t status = RONDO_OK;
  std::string text;  // empty: there is none
};

/// Takes part in one round of a series as one rank.
class RankOfSeries {
 public:
  RankOfSeries(rondo_comm_t parent, int rank, const char* transport, const TimedSeries& series)
      : series_(series) {
    const std::string choice = series.choice();
    rondo_config_t config = RONDO_CONFIG_INITIALIZER;
    config.algorithm = choice.c_str();
    config.transport = transport;
    config.name = "calibration";
    config.timeout_ms = kTimeout_ms;
    check(rondo_split(parent, 0, rank, &comm_, &config));
  }
  RankOfSeries(const RankOfSeries&) = delete;
  RankOfSeries& operator=(const RankOfSeries&) = delete;
  ~RankOfSeries() {
    if (comm_ != nullptr) rondo_destroy(comm_);
  }

  /// A time for each length; fewer after a failure.
  std::vector<double> run(const std::vector<float>& in, std::vector<float>& out) {
    std::vector<double> times_us;
    // Memory is slow when it is first used, that of slots too.
    repeat(series_.lengths.back(), series_.is_pulled ? 1 : kMaxSlots, in.data(), out.data());
    for (const TimedSeries::Length& length : series_.lengths)
      if (failure_.text.empty()) times_us.push_back(time_us(length, in.data(), out.data()));
    return times_us;
  }
  const RankFailure& failure() const { return failure_; }

 private:
  void repeat(const TimedSeries::Length& length, int times, const float* in, float* out) {
    for (int i = 0; i < times && failure_.text.empty(); ++i)
      check(make_call(series_.algorithm->kind, in, out, length.count, comm_));
  }

  double time_us(const TimedSeries::Length& length, const float* in, float* out) {
    repeat(length, length.calls / 4 + 1, in, out);
    if (failure_.text.empty()) check(rondo_barrier(comm_, nullptr));
    const auto begin = Clock::now();
    repeat(length, length.calls, in, out);
    return std::chrono::duration<double, std::micro>(Clock::now() - begin).count() / length.calls;
  }

  void check(rondo_status_t status) {
    if (status != RONDO_OK && failure_.text.empty()) failure_ = {status, rondo_last_error(nullptr)};
  }

  const TimedSeries& series_;
  rondo_comm_t comm_ = nullptr;
  RankFailure failure_;
};

/// The ranks of one transport, all of this process.
class LocalRanks {
 public:
  LocalRanks(const char* transport, int nranks) : transport_(transport), comms_(static_cast<size_t>(nranks)) {
    rondo_config_t config = RONDO_CONFIG_INITIALIZER;
    config.transport = transport;
    config.device = "host";
    config.timeout_ms = kTimeout_ms;
    if (rondo_init_all(comms_.data(), nranks, &config) != RONDO_OK) failure_ = rondo_last_error(nullptr);
    inputs_.assign(comms_.size(), std::vector<float>(kMaxBytes / sizeof(float)));
    outputs_ = inputs_;
  }
  LocalRanks(const LocalRanks&) = delete;
  LocalRanks& operator=(const LocalRanks&) = delete;
  ~LocalRanks() {
    for (rondo_comm_t comm : comms_)
      if (comm != nullptr) rondo_destroy(comm);
  }
  const std::string& failure() const { return failure_; }

  /// The time of each length by the rank that took longest.
  std::vector<double> run(const TimedSeries& series) {
    std::vector<std::vector<double>> times_us(comms_.size());
    std::vector<RankFailure> failures(comms_.size());
    std::vector<std::thread> threads;
    for (size_t rank = 0; rank < comms_.size(); ++rank)
      threads.emplace_back([&, rank] {
        RankOfSeries one(comms_[rank], static_cast<int>(rank), transport_, series);
        times_us[rank] = one.run(inputs_[rank], outputs_[rank]);
        failures[rank] = one.failure();
      });
    for (std::thread& thread : threads) thread.join();
    // A rank that failed by itself says more than those that waited for it.
    std::ranges::stable_sort(failures, {},
                             [](const RankFailure& failure) { return failure.status == RONDO_TIMEOUT; });
    for (const RankFailure& failure : failures)
      if (failure_.empty()) failure_ = failure.text;
    std::vector<double> longest(series.lengths.size());
    for (const auto& of_rank : times_us)
      for (size_t i = 0; i < of_rank.size(); ++i) longest[i] = std::max(longest[i], of_rank[i]);
    return longest;
  }

 private:
  const char* transport_;
  std::vector<rondo_comm_t> comms_;
  std::vector<std::vector<float>> inputs_, outputs_;
  std::string failure_;
};

/// So that calls of that length take a millisecond or two together.
int calls_of(size_t bytes, int nranks, bool share_cpus) {
  constexpr double kShort_us = 0.5, kShared_us = 2, kBytesPerUs = 4000, kTogether_us = 1000;
  const double moving_us = static_cast<double>(bytes) / kBytesPerUs * nranks;
  const double about_us = moving_us + (share_cpus ? kShared_us * nranks : kShort_us);
  return static_cast<int>(std::max(3.0, kTogether_us / about_us));
}

/// The lengths at which a collective's vector has 8 B, and `factor` times as much, up to a limit.
TimedSeries series_of(const Algorithm& algorithm, bool is_pulled, int nranks, bool share_cpus,
                      size_t factor) {
  TimedSeries series{.algorithm = &algorithm, .is_pulled = is_pulled};
  const size_t blocks = traits(algorithm.kind).has_blocks() ? static_cast<size_t>(nranks) : 1;
  const size_t max_bytes = is_pulled ? max_pulled_bytes(algorithm.kind, share_cpus) : kMaxBytes;
  for (size_t bytes = 8; bytes <= max_bytes; bytes *= factor)
    if (const size_t count = bytes / sizeof(float) / blocks; count != 0)
      series.lengths.push_back({.count = count, .calls = calls_of(bytes, nranks, share_cpus)});
  return series;
}

std::vector<TimedSeries> all_series(const Transport& transport, int nranks, bool share_cpus) {
  const bool shares_memory = transport.medium != Medium::Network;
  const size_t factor = shares_memory ? 8 : 64;
  std::vector<TimedSeries> all;
  for (const CollectiveKind kind : kKinds)
    for (const Algorithm& algorithm : algorithms()) {
      if (algorithm.kind != kind || algorithm.for_groups ||
          !algorithm.supports(call_of(kind, 1).shape(nranks)))
        continue;
      if (!algorithm.for_shared_memory || shares_memory)
        all.push_back(series_of(algorithm, false, nranks, share_cpus, factor));
      if (algorithm.rounds > 0 && shares_memory)
        all.push_back(series_of(algorithm, true, nranks, share_cpus, factor));
    }
  return all;
}

/// Measures rounds until there are enough or it is `end`. A round counts if others have left the CPUs alone.
Status measure_rounds(LocalRanks& ranks, FewCpus& cpus, Clock::time_point end,
                      std::vector<TimedSeries>& all) {
  constexpr double kMaxDisturbed = 0.1;
  double disturbed = 1;
  cpus.used_by_others();
  for (int rounds = 0; rounds < kRounds && (rounds == 0 || Clock::now() < end);) {
    std::vector<std::vector<double>> times_us;
    for (const TimedSeries& series : all) {
      times_us.push_back(ranks.run(series));
      if (!ranks.failure().empty()) return error(Code::SystemError, "{}", ranks.failure());
      if (rounds > 0 && Clock::now() >= end) return {};
    }
    disturbed = cpus.used_by_others();
    if (disturbed <= kMaxDisturbed) {
      ++rounds;
      for (size_t i = 0; i < all.size(); ++i)
        for (size_t k = 0; k < times_us[i].size(); ++k) all[i].lengths[k].times_us.push_back(times_us[i][k]);
    } else if (Clock::now() >= end) {
      return error(Code::SystemError,
                   "this host is busy: {:.0f}% of the time of the CPUs was taken by others; repeat it when "
                   "they are idle",
                   100 * disturbed);
    }
  }
  return {};
}

void add_cells(const std::vector<TimedSeries>& all, const MeasuredCell& like,
               std::vector<MeasuredCell>& cells) {
  std::map<std::pair<CollectiveKind, size_t>, MeasuredCell> found;  // by count
  for (const TimedSeries& series : all)
    for (const TimedSeries::Length& length : series.lengths) {
      const CollectiveKind kind = series.algorithm->kind;
      MeasuredCell& cell = found.emplace(std::pair(kind, length.count), like).first->second;
      cell.call = call_of(kind, length.count);
      cell.candidates.push_back({series.algorithm, series.is_pulled, std::ranges::min(length.times_us)});
    }
  for (auto& [key, cell] : found) cells.push_back(std::move(cell));
}

/// Numbers of ranks of which each has a CPU, and of which they share them.
std::vector<int> sizes_to_measure(int cpus) {
  std::vector<int> sizes;
  for (const int nranks : {2, cpus, 2 * cpus, 4 * cpus})
    if (nranks >= 2 && nranks <= kMaxRanks && std::ranges::find(sizes, nranks) == sizes.end())
      sizes.push_back(nranks);
  return sizes;
}

}  // namespace

Result<std::vector<MeasuredCell>> measure(double seconds) {
  RONDO_TRY_ASSIGN(std::vector<int> close, close_cpus(kMaxCpus));
  FewCpus cpus(std::move(close));
  std::vector<std::pair<const Transport*, int>> parts;
  for (const char* name : {"shm", "tcp"})
    if (const auto transport = transport_by_name(name); transport.ok())
      for (const int nranks : sizes_to_measure(cpus.count())) parts.emplace_back(transport.value(), nranks);
  std::vector<MeasuredCell> cells;
  const auto begin = Clock::now();
  for (size_t i = 0; i < parts.size(); ++i) {
    const auto& [transport, nranks] = parts[i];
    const double share = static_cast<double>(i + 1) / static_cast<double>(parts.size());
    const auto end =
        begin + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds * share));
    LocalRanks ranks(transport->name, nranks);
    std::vector<TimedSeries> all = all_series(*transport, nranks, nranks > cpus.count());
    const Status measured = ranks.failure().empty() ? measure_rounds(ranks, cpus, end, all)
                                                    : error(Code::SystemError, "{}", ranks.failure());
    if (!measured.ok())
      return error(measured.code(), "{} ranks over {}: {}", nranks, transport->name, measured.message())
          .because(measured.kind());
    add_cells(all,
              {.nranks = nranks,
               .ranks_per_cpu = static_cast<double>(nranks) / cpus.count(),
               .transport = transport},
              cells);
  }
  return cells;
}

}  // namespace rondo::calibrate
