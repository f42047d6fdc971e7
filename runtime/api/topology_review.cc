// SPDX-License-Identifier: Apache-2.0
// The C API's reviews: what two topologies differ in, with the limits that each difference alone leads to.
#include <chrono>
#include <vector>

#include "review/differences.h"
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

// Descriptions may come from strangers, with thousands of GPUs: those after this time have no limits.
constexpr auto kMaxTime = std::chrono::seconds(1);
constexpr double kNoLimit = -1;

Status check_review(rondo_topology_review_t review) {
  if (review == nullptr) return api::null_argument("review");
  if (review->mark != rondo_topology_review::kMark)
    return error(Code::InvalidArgument, "review: not one, or freed");
  return {};
}

double gigabytes(const Rational& kBps) { return kBps.approximate() / 1e6; }

/// Each change is made to a copy of the topology's machine.
std::unique_ptr<rondo_topology_review> priced(const rondo_topology& topology,
                                              const std::vector<MachineFinding>& findings) {
  auto review = std::make_unique<rondo_topology_review>();
  const auto deadline = Clock::now() + kMaxTime;
  for (const MachineFinding& finding : findings) {
    auto& entry = review->entries.emplace_back();
    entry = {finding.text, finding.advice, kNoLimit, kNoLimit};
    if (!finding.change || Clock::now() > deadline) continue;
    Machine changed = topology.machine;
    finding.change(changed);
    const auto limits = machine_limits(changed, topology.hosts, topology.options);
    if (!limits.ok()) continue;
    entry.all_gather = gigabytes(limits.value().all_gather);
    entry.all_reduce = gigabytes(limits.value().all_reduce);
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
    *review = priced(*a, differences(a->machine, b->machine)).release();
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
