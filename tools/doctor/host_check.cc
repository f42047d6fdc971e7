// SPDX-License-Identifier: Apache-2.0
#include "host_check.h"

#include <fmt/format.h>
#include <sched.h>
#include <sys/timex.h>

#include <chrono>
#include <memory>

#include "program.h"
#include "rondo/topology.h"

namespace rondo::doctor {
namespace {

using Clock = std::chrono::steady_clock;

constexpr auto kSample = std::chrono::milliseconds(200);
/// Two looks at the clock are further apart only if the thread was interrupted.
constexpr auto kInterruption = std::chrono::microseconds(20);
/// Interrupts of the system itself take less.
constexpr double kMuchLost = 0.05;

struct FreeHostReview {
  void operator()(rondo_topology_review_t review) const { rondo_topology_review_free(review); }
};

DoctorFindings setting_findings() {
  rondo_topology_review_t review = nullptr;
  tool::require(rondo_topology_diagnose_host(&review, nullptr));
  const std::unique_ptr<rondo_topology_review, FreeHostReview> owner(review);
  DoctorFindings findings;
  for (int i = 0;; ++i) {
    auto finding = tool::sized<rondo_topology_finding_t>();
    tool::require(rondo_topology_finding(review, i, &finding));
    if (finding.text == nullptr) return findings;
    findings.push_back({finding.text, finding.advice});
  }
}

int allowed_cpus() {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  return ::sched_getaffinity(0, sizeof allowed, &allowed) == 0 ? CPU_COUNT(&allowed) : 0;
}

void find_lost_time(double lost, int ranks, DoctorFindings& findings) {
  if (lost < kMuchLost) return;
  const int cpus = allowed_cpus();
  const bool oversubscribed = cpus > 0 && ranks > cpus;
  findings.push_back(
      {fmt::format("a rank did not run for {:.0f}% of {} ms: {}, and every call waits for its slowest rank",
                   100 * lost, kSample.count(),
                   oversubscribed ? fmt::format("{} ranks share {} CPU{}", ranks, cpus, cpus == 1 ? "" : "s")
                                  : std::string("other programs, or the hypervisor, take the CPUs")),
       oversubscribed ? "start no more ranks than there are CPUs"
                      : "see what else runs: top -H; in a virtual machine, the column st of vmstat 1"});
}

void find_clock(DoctorFindings& findings) {
  timex state{};
  if (::adjtimex(&state) != TIME_ERROR || (state.status & STA_UNSYNC) == 0) return;
  findings.push_back(
      {"the clock is not synchronised: times in logs and traces of different hosts cannot be compared",
       "start chronyd, systemd-timesyncd or ntpd"});
}

}  // namespace

double lost_time() {
  const Clock::time_point begin = Clock::now();
  Clock::duration lost{};
  for (Clock::time_point last = begin; last - begin < kSample;) {
    const Clock::time_point now = Clock::now();
    if (now - last > kInterruption) lost += now - last;
    last = now;
  }
  return std::chrono::duration<double>(lost) / (Clock::now() - begin);
}

DoctorFindings host_findings(double lost, int ranks) {
  DoctorFindings findings = setting_findings();
  find_lost_time(lost, ranks, findings);
  find_clock(findings);
  return findings;
}

}  // namespace rondo::doctor
