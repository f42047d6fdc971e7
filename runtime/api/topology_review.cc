// SPDX-License-Identifier: Apache-2.0
// The C API's reviews: what two topologies differ in, or what is wrong with one, with the limits that each
// difference alone, or each fault mended alone, leads to.
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <tuple>
#include <vector>

#include "base/error_kinds.h"
#include "review/differences.h"
#include "review/faults.h"
#include "review/host_faults.h"
#include "review/machine_finding.h"
#include "topology_handle.h"

struct rondo_topology_review {
  struct Entry {
    std::string text, advice;
    double all_gather, all_reduce;
  };
  static constexpr uint64_t kMark = 0x776569766572646f;
  uint64_t mark = kMark;
  std::vector<Entry> entries;
};

namespace {

using namespace rondo;
using api::check_struct;
using api::check_topology;
using api::guarded;

using Clock = std::chrono::steady_clock;

// Descriptions may come from strangers, with up to 1,024 GPUs: after this time no further limit is computed.
constexpr auto kMaxTime = std::chrono::seconds(1);
constexpr double kNoLimit = -1;

Status check_review(rondo_topology_review_t review) {
  if (review == nullptr) return api::null_argument("review");
  if (review->mark != rondo_topology_review::kMark)
    return error(ErrorKind::NoSuchHandle, "review: not one, or freed");
  return {};
}

/// Each change is made to a copy of the machine.
std::unique_ptr<rondo_topology_review> priced(const Machine& machine, int hosts,
                                              const std::vector<MachineFinding>& findings) {
  auto review = std::make_unique<rondo_topology_review>();
  const auto deadline = Clock::now() + kMaxTime;
  for (const MachineFinding& finding : findings) {
    auto& entry = review->entries.emplace_back();
    entry = {finding.text, finding.advice, kNoLimit, kNoLimit};
    if (!finding.change || Clock::now() > deadline) continue;
    Machine changed = machine;
    finding.change(changed);
    const auto limits = machine_limits(changed, hosts, {});
    if (!limits.ok()) continue;
    entry.all_gather = api::gigabytes(limits.value().all_gather);
    entry.all_reduce = api::gigabytes(limits.value().all_reduce);
  }
  return review;
}

}  // namespace

rondo_status_t rondo_topology_compare(rondo_topology_review_t* review, rondo_topology_t a,
                                      rondo_topology_t b) {
  return guarded("rondo_topology_compare", nullptr, [&]() -> Status {
    if (review == nullptr) return api::null_argument("review");
    *review = nullptr;
    RONDO_TRY(check_topology(a, "a"));
    RONDO_TRY(check_topology(b, "b"));
    RONDO_TRY_ASSIGN(const Machine first, api::machine_of(*a));
    RONDO_TRY_ASSIGN(const Machine second, api::machine_of(*b));
    *review = priced(first, a->graph.hosts(), differences(first, second)).release();
    return {};
  });
}

rondo_status_t rondo_topology_diagnose(rondo_topology_review_t* review, rondo_topology_t topology) {
  return guarded("rondo_topology_diagnose", nullptr, [&]() -> Status {
    if (review == nullptr) return api::null_argument("review");
    *review = nullptr;
    RONDO_TRY(check_topology(topology));
    RONDO_TRY_ASSIGN(const Machine machine, api::machine_of(*topology));
    auto found = priced(machine, topology->graph.hosts(), faults(machine));
    std::ranges::stable_sort(found->entries, std::greater<>(), [](const auto& entry) {
      return std::tuple(entry.all_gather, entry.all_reduce);
    });
    *review = found.release();
    return {};
  });
}

rondo_status_t rondo_topology_diagnose_host(rondo_topology_review_t* review, const char* root) {
  return guarded("rondo_topology_diagnose_host", nullptr, [&]() -> Status {
    if (review == nullptr) return api::null_argument("review");
    *review = nullptr;
    const std::string folder = root != nullptr ? root : "";
    if (!std::filesystem::exists(folder + "/sys") && !std::filesystem::exists(folder + "/proc"))
      return error(Code::InvalidArgument, "root is '{}': it has neither sys nor proc", folder);
    *review = priced({}, 1, host_faults(folder)).release();
    return {};
  });
}

rondo_status_t rondo_topology_finding(rondo_topology_review_t review, int index,
                                      rondo_topology_finding_t* finding) {
  return guarded("rondo_topology_finding", nullptr, [&]() -> Status {
    RONDO_TRY(check_review(review));
    RONDO_TRY(check_struct("finding", finding));
    const bool exists = index >= 0 && static_cast<size_t>(index) < review->entries.size();
    static const rondo_topology_review::Entry kNone = {"", "", kNoLimit, kNoLimit};
    const auto& entry = exists ? review->entries[static_cast<size_t>(index)] : kNone;
    finding->text = exists ? entry.text.c_str() : nullptr;
    finding->advice = entry.advice.c_str();
    finding->all_gather = entry.all_gather;
    finding->all_reduce = entry.all_reduce;
    return {};
  });
}

rondo_status_t rondo_topology_review_free(rondo_topology_review_t review) {
  if (review == nullptr) return RONDO_OK;
  return guarded("rondo_topology_review_free", nullptr, [&]() -> Status {
    RONDO_TRY(check_review(review));
    review->mark = 0;
    delete review;
    return {};
  });
}
