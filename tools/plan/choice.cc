// SPDX-License-Identifier: Apache-2.0
#include "choice.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <filesystem>

#include "base/collective.h"
#include "reports.h"

namespace rondo::planner {
namespace {

rondo_plan_job_t job_of(const PlanOptions& options, rondo_topology_t machine) {
  rondo_plan_job_t job = RONDO_PLAN_JOB_INITIALIZER;
  job.ranks = ranks_of(options, machine);
  job.hosts = options.hosts;
  job.cpus = options.cpus;
  job.group = options.group > 1 ? options.group : 0;
  job.topology = machine;
  return job;
}

/// Of float32, as the collective counts them.
size_t count_of(const std::string& collective, double bytes, int ranks) {
  const auto kind = collective_by_name(collective);
  if (kind == CollectiveKind::Barrier) return 0;
  const bool has_blocks = kind && traits(*kind).has_blocks();
  return static_cast<size_t>(bytes) / sizeof(float) / static_cast<size_t>(has_blocks ? ranks : 1);
}

}  // namespace

bool is_collective(const std::string& word) {
  std::error_code ignored;
  return std::ranges::all_of(word, [](unsigned char c) { return std::isalpha(c) != 0 || c == '_'; }) &&
         !std::filesystem::exists(word, ignored);
}

std::string choice_text(const std::string& collective, const PlanOptions& options, rondo_topology_t machine) {
  const rondo_plan_job_t job = job_of(options, machine);
  std::string text;
  for (const double bytes : sizes_of(options)) {
    const char* choice = nullptr;
    const char* algorithm = nullptr;
    require_options(rondo_plan_choice(&job, collective.c_str(), count_of(collective, bytes, job.ranks),
                                      RONDO_FLOAT32, RONDO_SUM, options.root, &choice, &algorithm));
    text += fmt::format("{}{}", text.empty() ? "" : "\n", choice);
    if (machine == nullptr) continue;
    PlanOptions of_size = options;
    of_size.bytes = fmt::format("{:.0f}", bytes);
    if (options.group == 1 && job.hosts > 1) of_size.group = job.ranks / job.hosts;
    const OwnedPlan plan = plan_of(fmt::format("{}={}", collective, algorithm), of_size, machine);
    text += explanation(plan.get(), of_size, machine);
  }
  return text;
}

}  // namespace rondo::planner
