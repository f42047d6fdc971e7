// SPDX-License-Identifier: Apache-2.0
#include "review_table.h"

#include <fmt/format.h>

#include <cmath>
#include <memory>
#include <vector>

#include "machine_view.h"

namespace rondo::topo {
namespace {

/// Of NVLink or xGMI alone, if it joins all GPUs.
struct ReviewedLimits {
  double all_gather = 0, all_reduce = 0;
  std::string limit;  // of all_gather; empty: there is none, of fewer than two GPUs
};

ReviewedLimits limits_of(rondo_topology_t topology) {
  rondo_topology_limit_t all_gather = {}, all_reduce = {};
  all_gather.size = all_reduce.size = sizeof(all_gather);
  if (rondo_topology_limit(topology, "all_gather", 0, 0, &all_gather) != RONDO_OK ||
      rondo_topology_limit(topology, "all_reduce", 0, 0, &all_reduce) != RONDO_OK)
    return {};
  return {all_gather.bandwidth, all_reduce.bandwidth, all_gather.limit};
}

struct FreeReview {
  void operator()(rondo_topology_review_t review) const { rondo_topology_review_free(review); }
};

using OwnedReview = std::unique_ptr<rondo_topology_review, FreeReview>;

std::vector<rondo_topology_finding_t> findings_of(rondo_topology_review_t review) {
  std::vector<rondo_topology_finding_t> findings;
  for (int i = 0;; ++i) {
    rondo_topology_finding_t finding = {};
    finding.size = sizeof(finding);
    require(rondo_topology_finding(review, i, &finding));
    if (finding.text == nullptr) return findings;
    findings.push_back(finding);
  }
}

/// "+20.0", "-1.5", "0.0": between the figures as they are shown; "?" if the limit with the change is not
/// known.
std::string change_text(double from, double to) {
  if (to < 0) return "?";
  const double tenths = std::nearbyint(to * 10) - std::nearbyint(from * 10);
  return tenths == 0 ? "0.0" : fmt::format("{:+.1f}", tenths / 10);
}

std::string row(const std::string& all_gather, const std::string& all_reduce, const std::string& text) {
  return fmt::format("{:>10}{:>12}  {}\n", all_gather, all_reduce, text);
}

std::string machine_row(const NamedTopology& machine, const ReviewedLimits& limits) {
  if (limits.limit.empty()) return row("-", "-", machine.name + ": fewer than two GPUs");
  return row(gigabytes(limits.all_gather), gigabytes(limits.all_reduce),
             fmt::format("{}: {}", machine.name, limits.limit));
}

std::string finding_row(const ReviewedLimits& limits, const rondo_topology_finding_t& finding) {
  return row(change_text(limits.all_gather, finding.all_gather),
             change_text(limits.all_reduce, finding.all_reduce), finding.text);
}

}  // namespace

std::string difference_table(const NamedTopology& a, const NamedTopology& b) {
  rondo_topology_review_t review = nullptr;
  require(rondo_topology_compare(&review, a.topology, b.topology));
  const OwnedReview owner(review);
  const ReviewedLimits limits = limits_of(a.topology);
  std::string text = row("all_gather", "all_reduce", "GB/s of bus bandwidth; each difference alone");
  text += machine_row(a, limits);
  const std::vector<rondo_topology_finding_t> findings = findings_of(review);
  for (const rondo_topology_finding_t& finding : findings) text += finding_row(limits, finding);
  if (findings.empty()) text += row("", "", "no difference");
  return text + machine_row(b, limits_of(b.topology));
}

std::string fault_table(const NamedTopology& machine, const std::vector<std::string>& remarks) {
  rondo_topology_review_t review = nullptr;
  require(rondo_topology_diagnose(&review, machine.topology));
  const OwnedReview owner(review);
  const ReviewedLimits limits = limits_of(machine.topology);
  std::string text = row("all_gather", "all_reduce", "GB/s of bus bandwidth; each fault repaired alone");
  text += machine_row(machine, limits);
  const std::vector<rondo_topology_finding_t> findings = findings_of(review);
  for (const rondo_topology_finding_t& finding : findings)
    text += finding_row(limits, finding) + row("", "", fmt::format("-> {}", finding.advice));
  if (findings.empty()) text += row("", "", "no fault found");
  for (const std::string& remark : remarks) text += fmt::format("note: {}\n", remark);
  return text;
}

std::string host_fault_list(const std::string& root) {
  rondo_topology_review_t review = nullptr;
  require_options(rondo_topology_diagnose_host(&review, root.empty() ? nullptr : root.c_str()));
  const OwnedReview owner(review);
  std::string text;
  for (const rondo_topology_finding_t& finding : findings_of(review))
    text += fmt::format("{}\n-> {}\n", finding.text, finding.advice);
  return text.empty() ? "no fault found in the host's settings\n" : text;
}

}  // namespace rondo::topo
