// SPDX-License-Identifier: Apache-2.0
// rondo_plan_choice() as a program uses it.
#include <string>

#include "c_api_checks.h"
#include "rondo/plan.h"

using namespace rondo::test;

namespace {

TEST_CASE("a choice on paper has a reason, and an algorithm that a plan can be made of") {
  rondo_plan_job_t job = RONDO_PLAN_JOB_INITIALIZER;
  job.ranks = 4;
  const char *text = nullptr, *algorithm = nullptr;
  for (const char* collective : {"all_reduce", "all_to_all", "exscan", "barrier"}) {
    const size_t count = std::string(collective) == "barrier" ? 0 : 1 << 18;
    REQUIRE(rondo_plan_choice(&job, collective, count, RONDO_FLOAT32, RONDO_SUM, 0, &text, &algorithm) ==
            RONDO_OK);
    const std::string uses = std::string("\nuses ") + algorithm + "@";
    CHECK(std::string(text).find(uses) != std::string::npos);
    rondo_plan_call_t call = RONDO_PLAN_CALL_INITIALIZER;
    call.collective = collective;
    call.ranks = job.ranks;
    rondo_plan_t plan = nullptr;
    CHECK(rondo_plan_named(&plan, &call, algorithm) == RONDO_OK);
    rondo_plan_free(plan);
  }
  CHECK(rondo_plan_choice(&job, "scan", 8, RONDO_FLOAT32, RONDO_SUM, 0, &text, nullptr) == RONDO_OK);
}

TEST_CASE("choices that make no sense are refused by name") {
  const char* text = nullptr;
  const auto refuse = [&](const auto& change, const std::string& sentence) {
    rondo_plan_job_t job = RONDO_PLAN_JOB_INITIALIZER;
    job.ranks = 8;
    change(job);
    refused(rondo_plan_choice(&job, "reduce", 8, RONDO_FLOAT32, RONDO_SUM, 0, &text, nullptr),
            RONDO_INVALID_ARGUMENT, sentence);
  };
  refuse([](auto& job) { job.size = 4; }, "job->size is 4");
  refuse([](auto& job) { job.ranks = 0; }, "job->ranks is 0: expected 1 to 256");
  refuse([](auto& job) { job.ranks = 257; }, "job->ranks is 257: expected 1 to 256");
  refuse([](auto& job) { job.hosts = 0; }, "job->hosts is 0: expected a divisor of 8 ranks");
  refuse([](auto& job) { job.hosts = 3; }, "job->hosts is 3: expected a divisor of 8 ranks");
  refuse([](auto& job) { job.cpus = -1; }, "job->cpus is -1: expected 0 to 65536");
  refuse([](auto& job) { job.group = 9; }, "job->group is 9: expected 0 to 8");
  rondo_plan_job_t job = RONDO_PLAN_JOB_INITIALIZER;
  const auto of_job = [&](const char* collective, int root, const char** to) {
    return rondo_plan_choice(&job, collective, 8, RONDO_FLOAT32, RONDO_SUM, root, to, nullptr);
  };
  refused(of_job("reduc", 0, &text), RONDO_INVALID_ARGUMENT, "did you mean reduce?");
  refused(of_job(nullptr, 0, &text), RONDO_INVALID_ARGUMENT, "collective is NULL");
  refused(of_job("reduce", 2, &text), RONDO_INVALID_ARGUMENT, "root is 2");
  refused(of_job("reduce", 0, nullptr), RONDO_INVALID_ARGUMENT, "text is NULL");
  refused(rondo_plan_choice(nullptr, "reduce", 8, RONDO_FLOAT32, RONDO_SUM, 0, &text, nullptr),
          RONDO_INVALID_ARGUMENT, "job is NULL");
}

}  // namespace
