#include "measure.h"

#include <time.h>

#include <algorithm>
#include <cstring>
#include <numeric>

#include "try.h"

namespace rondo::perf {
namespace {

double now_us(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) * 1e6 + static_cast<double>(now.tv_nsec) * 1e-3;
}

// Where a call finds its two buffers: apart, or within one.
struct Place {
  Buffer* send_buffer;
  std::byte* send;
  std::byte* recv;
  size_t recv_bytes;  // of the buffer that `recv` lies in
  const std::vector<Piece>* expect;
};

Place out_of_place(const Layout& layout, Buffers& buffers, size_t element_bytes) {
  return {&buffers.send, buffers.send.data(), buffers.recv.data(), layout.recv_extent * element_bytes,
          &layout.expect};
}

Place in_place(const Layout& layout, Buffers& buffers, size_t element_bytes) {
  std::byte* base = buffers.recv.data();
  return {&buffers.recv, base + layout.in_place_send * element_bytes,
          base + layout.in_place_recv * element_bytes,
          std::max(layout.send_extent, layout.recv_extent) * element_bytes, &layout.expect_in_place};
}

rondo_status_t wait_for(const RankContext& rank) {
  return rank.stream == nullptr ? RONDO_OK : rondo_queue_synchronize(rank.stream);
}

// One iteration: the call, or a group of them.
rondo_status_t iterate(const RankContext& rank, const Call& call, const Place& place) {
  const int calls = rank.options->aggregate;
  if (calls == 1) return issue(call, place.send, place.recv);
  PERF_TRY(rondo_group_start());
  rondo_status_t status = RONDO_OK;
  for (int i = 0; i < calls && status == RONDO_OK; ++i) status = issue(call, place.send, place.recv);
  const rondo_status_t ended = rondo_group_end();
  return status != RONDO_OK ? status : ended;
}

bool has_barrier(Pace pace) { return pace == Pace::BarrierEachCall || pace == Pace::UntimedBarrier; }

// Microseconds a call. Zeros are what the calls work on: sums of them stay finite however often they are
// repeated.
rondo_status_t time_calls(RankContext& rank, const Call& call, const Place& place, double& time_us) {
  const Options& options = *rank.options;
  const clockid_t clock = options.cpu_time ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC;
  for (int i = 0; i < options.warmup; ++i) PERF_TRY(iterate(rank, call, place));
  PERF_TRY(wait_for(rank));
  PERF_TRY(rondo_barrier(rank.control, nullptr));
  double untimed = 0;
  const double start = now_us(clock);
  for (int i = 1; i <= options.iterations; ++i) {
    PERF_TRY(iterate(rank, call, place));
    const bool last = i == options.iterations;
    if (options.pace == Pace::Free && !last) continue;
    PERF_TRY(wait_for(rank));
    const double done = now_us(clock);
    if (last) PERF_TRY(rondo_last_algorithm(rank.comm, &rank.algorithm));
    if (has_barrier(options.pace)) PERF_TRY(rondo_barrier(rank.control, nullptr));
    if (options.pace == Pace::UntimedBarrier) untimed += now_us(clock) - done;
  }
  time_us = (now_us(clock) - start - untimed) / options.iterations / options.aggregate;
  return RONDO_OK;
}

// One call on known data; adds up what is wrong afterwards.
rondo_status_t check_call(const RankContext& rank, const Call& call, const Place& place, size_t element_bytes,
                          uint64_t round, Checker& checker, Buffers& buffers, size_t& wrong) {
  const bool apart = place.send_buffer == &buffers.send;
  const size_t send_bytes = call.layout.send_extent * element_bytes;
  buffers.send.poison(send_bytes);
  buffers.recv.poison(place.recv_bytes);
  checker.fill(call.layout, place.send, round);
  PERF_TRY(issue(call, place.send, place.recv));
  PERF_TRY(wait_for(rank));
  wrong += checker.count_wrong(*place.expect, place.recv, round);
  if (apart) wrong += checker.count_wrong(call.layout.send, place.send, round);  // it was only to be read
  wrong += buffers.recv.damaged(place.recv_bytes) ? 1 : 0;
  wrong += buffers.send.damaged(send_bytes) ? 1 : 0;
  return RONDO_OK;
}

double averaged(const std::vector<double>& times, Average average) {
  switch (average) {
    case Average::RankZero: return times.front();
    case Average::Least: return *std::min_element(times.begin(), times.end());
    case Average::Most: return *std::max_element(times.begin(), times.end());
    case Average::Mean: break;
  }
  return std::accumulate(times.begin(), times.end(), 0.0) / static_cast<double>(times.size());
}

// Every rank's time and number of wrong elements, as one.
rondo_status_t combine(const RankContext& rank, double time_us, size_t wrong, size_t bytes,
                       Collective collective, Timing& timing) {
  std::vector<double> all;
  PERF_TRY(collect(rank, {time_us, static_cast<double>(wrong)}, all));
  std::vector<double> times;
  double wrong_everywhere = 0;
  for (size_t r = 0; r < all.size(); r += 2) {
    times.push_back(all[r]);
    wrong_everywhere += all[r + 1];
  }
  timing.time_us = averaged(times, rank.options->average);
  // A clock that did not move gives no bandwidth.
  timing.algbw = timing.time_us > 0 ? static_cast<double>(bytes) / timing.time_us * 1e-3 : 0;
  timing.busbw = timing.algbw * bus_factor(collective, rank.nranks);
  if (rank.options->checks > 0) timing.wrong = static_cast<size_t>(wrong_everywhere);
  return RONDO_OK;
}

rondo_status_t measure_place(RankContext& rank, const Call& call, const Place& place, size_t element_bytes,
                             Checker& checker, Buffers& buffers, size_t bytes,
                             std::optional<Timing>& timing) {
  if (const size_t send_bytes = call.layout.send_extent * element_bytes; send_bytes > 0)
    std::memset(buffers.send.data(), 0, send_bytes);
  if (place.recv_bytes > 0) std::memset(buffers.recv.data(), 0, place.recv_bytes);
  double time_us = 0;
  PERF_TRY(time_calls(rank, call, place, time_us));
  size_t wrong = 0;
  for (int round = 0; round < rank.options->checks; ++round)
    PERF_TRY(
        check_call(rank, call, place, element_bytes, static_cast<uint64_t>(round), checker, buffers, wrong));
  rank.wrong_here += wrong;
  timing.emplace();
  return combine(rank, time_us, wrong, bytes, call.shape.collective, *timing);
}

}  // namespace

rondo_status_t measure(RankContext& rank, Call call, Checker& checker, Buffers& buffers, Row& row) {
  size_t element_bytes = 0;
  PERF_TRY(rondo_type_size(call.type, &element_bytes));
  PERF_TRY(measure_place(rank, call, out_of_place(call.layout, buffers, element_bytes), element_bytes,
                         checker, buffers, row.bytes, row.out_of_place));
  if (!collective_info(call.shape.collective).in_place) return RONDO_OK;
  return measure_place(rank, call, in_place(call.layout, buffers, element_bytes), element_bytes, checker,
                       buffers, row.bytes, row.in_place);
}

rondo_status_t collect(const RankContext& rank, const std::vector<double>& values, std::vector<double>& all) {
  all.assign(values.size() * static_cast<size_t>(rank.nranks), 0.0);
  return rondo_all_gather(values.data(), all.data(), values.size(), RONDO_FLOAT64, rank.control, nullptr);
}

}  // namespace rondo::perf
