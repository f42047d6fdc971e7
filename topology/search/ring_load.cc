// SPDX-License-Identifier: Apache-2.0
#include "search/ring_load.h"

#include <limits>
#include <string>
#include <utility>

#include "link_weights.h"

namespace rondo {
namespace {

class RingLoadCount {
 public:
  RingLoadCount(const TopologyGraph& graph, std::span<const int> gpus)
      : gpus_(gpus.size()), legs_(graph, gpus), load_(graph) {}

  Status add(const RingChannel& channel, OrderUse use) {
    if (channel.kBps < 1) return error(Code::InvalidArgument, "it carries {} kB/s", channel.kBps);
    RONDO_TRY_ASSIGN(std::vector<RingLeg> legs, legs_.of(channel, use));
    for (RingLeg& leg : legs)
      RONDO_TRY(load_.add({channel.kBps, std::move(leg.hops)}, leg.from, leg.to, ThroughGpus::Yes));
    return {};
  }

  Result<RingLoad> finish(int64_t kBps, OrderUse use) const {
    RONDO_TRY_ASSIGN(BusiestLinks busiest, load_.busiest());
    RingLoad load{load_.weights(), busiest.scale, {}, std::move(busiest.links)};
    if (load.busiest.empty()) return load;
    // nccl-tests counts 2 (n - 1) / n of the vector for all-reduce; a chain moves all of it, there and back.
    const auto ranks = static_cast<int64_t>(gpus_);
    const bool both = use == OrderUse::ChainBothWays;
    const auto factor = Rational::of(both ? 2 * (ranks - 1) : 1, both ? ranks : 1).value();
    const auto carried = Rational::of(WideInteger{kBps} * factor.numerator(), factor.denominator());
    const auto bus = !carried ? carried
                              : Rational::of(WideInteger{carried->numerator()} * load.scale.denominator(),
                                             WideInteger{carried->denominator()} * load.scale.numerator());
    if (!bus) return error(Code::InvalidArgument, "their bandwidth is no fraction of 64 bits");
    load.bus_kBps = *bus;
    return load;
  }

 private:
  const size_t gpus_;
  const RingLegs legs_;
  LinkWeights load_;
};

}  // namespace

Result<RingLoad> ring_load(const TopologyGraph& graph, std::span<const int> gpus,
                           std::span<const RingChannel> channels, OrderUse use) {
  std::vector<bool> seen(graph.nodes().size());
  for (const int gpu : gpus) {
    if (gpu < 0 || static_cast<size_t>(gpu) >= seen.size() || graph.node(gpu).kind != NodeKind::Gpu ||
        seen[static_cast<size_t>(gpu)])
      return error(Code::InvalidArgument, "node {} is not a GPU, or is named twice", gpu);
    seen[static_cast<size_t>(gpu)] = true;
  }
  if (gpus.size() < 2)
    return error(Code::InvalidArgument, "a ring needs two GPUs or more, not {}", gpus.size());
  RingLoadCount count(graph, gpus);
  WideInteger total = 0;
  for (size_t i = 0; i != channels.size(); ++i) {
    const Status added = count.add(channels[i], use);
    if (!added.ok()) return added.within(fmt::format("channel {}", i));
    total += channels[i].kBps;
  }
  if (total > std::numeric_limits<int64_t>::max())
    return error(Code::InvalidArgument, "the channels are too fast for 64 bits");
  return count.finish(static_cast<int64_t>(total), use);
}

}  // namespace rondo
