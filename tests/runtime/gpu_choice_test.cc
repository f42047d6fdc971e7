// SPDX-License-Identifier: Apache-2.0
// How calls on GPU memory are carried out on well-known machines whose links are known: by the executors that
// GpuCalls has, with the predictions that it gives them.
#include <memory>
#include <string>
#include <vector>

#include "catch.h"
#include "gpu_staged/staged_executor.h"
#include "graph/known_machines.h"
#include "plan/gpu_costs.h"
#include "plan/selector.h"

using namespace rondo;

namespace {

constexpr int kRanks = 8;

RanksOfMachine ranks_of(const char* name) {
  return {.nranks = kRanks, .hosts = 1, .bus_ids = {}, .describe = [name] { return known_machine(name); }};
}

Call call_of(CollectiveKind kind, size_t bytes) {
  Call call;
  call.kind = kind;
  call.type = CallType::of(ElementType::Float32);
  call.op = CallOp::of(Reduction::Sum);
  call.count = bytes / call.type.bytes / (traits(kind).has_blocks() ? kRanks : 1);
  call.place.on_gpu = true;
  return call;
}

/// A host whose processes see all of its GPUs.
class GpuHost {
 public:
  explicit GpuHost(const char* name) : found_(std::make_shared<FoundPlans>(ranks_of(name))) {
    auto links = LinkTimes::of(found_->ranks());
    REQUIRE(links.status().message() == "");
    links_ = std::make_unique<LinkTimes>(links.take());
    costs_ = std::make_unique<GpuCosts>(*links_, found_);
    terms_ = {.shares_memory = true,
              .gpus = std::vector<PeerGpu>(kRanks),
              .max_channels = 8,
              .slot_bytes = size_t{512} << 10};
    for (int gpu = 0; gpu < kRanks; ++gpu) {
      terms_.gpus[static_cast<size_t>(gpu)].processors = 80;
      terms_.gpus[static_cast<size_t>(gpu)].uuid[0] = static_cast<std::byte>(gpu);
    }
  }

  const LinkTimes& links() const { return *links_; }

  double own_us(const Call& call) const {
    return staged_steps(call, kRanks) * CostTable()[CostKind::StagedStep].latency_us +
           costs_->us(call, [&](int from, int to) { return staged_volume(call, kRanks, from, to); });
  }

  Candidate choice(CollectiveKind kind, size_t bytes, bool reproducible = false) {
    const Call call = call_of(kind, bytes);
    const LinkModel model{.nranks = kRanks};
    const Executor own{.name = "gpu_staged",
                       .on_gpu = true,
                       .predict_own = [&](const Call& of) { return own_us(of); },
                       .competes = true};
    const Executor connections{
        .name = "gpu_connections",
        .on_gpu = true,
        .predict =
            [&](const Algorithm& algorithm, const Call& of, const Shape& shape) {
              return costs_->over_connections(algorithm, of, shape, model, terms_);
            },
        .found = [&](const Call& of, const Shape& shape) { return costs_->found(of, shape, own_us(of)); },
        .competes = true};
    executors_ = {own, connections};
    const auto chosen = Selector::parse("", reproducible).take().select(call, model.shape(call), executors_);
    REQUIRE(chosen.status().message() == "");
    return chosen.value();
  }

 private:
  std::shared_ptr<FoundPlans> found_;
  std::unique_ptr<LinkTimes> links_;
  std::unique_ptr<GpuCosts> costs_;
  ExecutionTerms terms_;
  std::vector<Executor> executors_;
};

bool is_by_links(const Candidate& chosen) {
  return chosen.algorithm != nullptr && (std::string_view(chosen.algorithm->name) == "forest" ||
                                         std::string_view(chosen.algorithm->name) == "rings");
}

/// GB/s, as nccl-tests has it.
double bus_GBps(CollectiveKind kind, size_t bytes, double us) {
  return bus_factor(kind, kRanks) * static_cast<double>(bytes) / us / 1e3;
}

constexpr size_t kShort = 64, kLong = size_t{256} << 20;

}  // namespace

TEST_CASE("where switches join all GPUs, calls are staged, at what the links allow") {
  for (const char* name : {"hgx-a100", "hgx-h100", "hgx-h200", "hgx-b200", "mi300x"}) {
    GpuHost host(name);
    for (const CollectiveKind kind :
         {CollectiveKind::AllReduce, CollectiveKind::AllGather, CollectiveKind::ReduceScatter}) {
      INFO(name << ", " << collective_name(kind));
      for (const size_t bytes : {kShort, size_t{1} << 20, kLong})
        CHECK(host.choice(kind, bytes).algorithm == nullptr);
      const Call call = call_of(kind, kLong);
      const double busiest =
          host.links().us_per_byte([&](int from, int to) { return staged_volume(call, kRanks, from, to); });
      CHECK(busiest == Approx(host.links().least_us_per_byte(kind, 0)));
    }
  }
}

TEST_CASE("where links are unequal, short calls are staged, and long ones follow the links") {
  struct Row {
    const char* machine;
    double long_GBps;  // of all_reduce: least
  };
  // The links of a DGX-1V allow 120 GB/s; that many blocks move less.
  for (const auto& [name, long_GBps] : {Row{"dgx-1v", 75}, Row{"pcie-8gpu", 15}}) {
    GpuHost host(name);
    for (const CollectiveKind kind :
         {CollectiveKind::AllReduce, CollectiveKind::AllGather, CollectiveKind::ReduceScatter}) {
      INFO(name << ", " << collective_name(kind));
      CHECK(host.choice(kind, kShort).algorithm == nullptr);
      const Candidate chosen = host.choice(kind, kLong);
      const double own_us = host.own_us(call_of(kind, kLong));
      INFO(name_of(chosen) << ", " << chosen.prediction.us << " us, staged " << own_us);
      CHECK(is_by_links(chosen));
      CHECK(bus_GBps(kind, kLong, chosen.prediction.us) >= long_GBps);
      CHECK(chosen.prediction.us < 0.8 * own_us);
      if (reduces(kind)) CHECK_FALSE(is_by_links(host.choice(kind, kLong, true)));
    }
  }
}
