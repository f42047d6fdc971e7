// SPDX-License-Identifier: Apache-2.0
#include "memory_limit.h"

#include <algorithm>
#include <cstring>

#include "failure.h"
#include "gpu/device.h"
#include "gpu/memory.h"
#include "moves.h"
#include "try.h"

namespace rondo::perf {
namespace {

constexpr size_t kCopied = 256 << 20;  // bytes: several times a GPU's cache
constexpr int kCopies = 5;

bool same_gpu(const Who& a, const Who& b) {
  return std::memcmp(a.uuid, b.uuid, sizeof a.uuid) == 0 && std::strcmp(a.host, b.host) == 0;
}

// The first rank on the same GPU.
size_t first_on_gpu(const Team& team, size_t rank) {
  const auto found = std::find_if(team.roster.begin(), team.roster.end(),
                                  [&](const Who& who) { return same_gpu(who, team.roster[rank]); });
  return static_cast<size_t>(found - team.roster.begin());
}

// Bytes per microsecond, read plus written, of the fastest of several copies.
Result<double> copy_rate(TeamRank& member) {
  using gpu::Memory;
  const gpu::Current current(member.device);
  RONDO_TRY(current.status());
  RONDO_TRY_ASSIGN(const Memory from, Memory::allocate(gpu::MemoryKind::Device, member.device, kCopied));
  RONDO_TRY_ASSIGN(const Memory to, Memory::allocate(gpu::MemoryKind::Device, member.device, kCopied));
  const gpu::Stream stream = member.cuda_stream.get();
  RONDO_TRY(gpu::fill(from.data(), std::byte{1}, kCopied, stream));
  RONDO_TRY(gpu::copy(to.data(), from.data(), kCopied, stream));  // warms up
  double least_us = 0;
  for (int i = 0; i < kCopies; ++i) {
    RONDO_TRY(member.stopwatch.start(stream));
    RONDO_TRY(gpu::copy(to.data(), from.data(), kCopied, stream));
    RONDO_TRY(member.stopwatch.stop(stream));
    RONDO_TRY_ASSIGN(const double elapsed_us, member.stopwatch.elapsed_us());
    least_us = i == 0 ? elapsed_us : std::min(least_us, elapsed_us);
  }
  return least_us > 0 ? 2.0 * kCopied / least_us : 0.0;
}

}  // namespace

rondo_status_t measure_copy_rates(Team& team) {
  std::vector<double> own;
  for (TeamRank& member : team.members) {
    const auto rank = static_cast<size_t>(member.rank);
    double rate = 0;  // if another rank measures this GPU
    if (first_on_gpu(team, rank) == rank) {
      PERF_TRY_ASSIGN(rate, copy_rate(member));
    }
    own.push_back(rate);
  }
  PERF_TRY(collect(team, own, team.copy_rates));
  for (size_t rank = 0; rank < team.copy_rates.size(); ++rank)
    team.copy_rates[rank] = team.copy_rates[first_on_gpu(team, rank)];
  return RONDO_OK;
}

std::optional<double> limit_us(const Team& team, const Trial& trial) {
  if (team.copy_rates.empty()) return std::nullopt;
  const std::vector<Moved> moved = least_moved(trial.call.shape, !trial.place.apart);
  std::vector<double> bytes(moved.size());  // by the first rank of a GPU
  for (size_t rank = 0; rank < moved.size(); ++rank)
    bytes[first_on_gpu(team, rank)] +=
        static_cast<double>((moved[rank].read + moved[rank].written) * trial.place.element_bytes);
  double longest_us = 0;
  for (size_t rank = 0; rank < bytes.size(); ++rank)
    if (team.copy_rates[rank] > 0) longest_us = std::max(longest_us, bytes[rank] / team.copy_rates[rank]);
  return longest_us;
}

}  // namespace rondo::perf
