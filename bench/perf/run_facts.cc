// SPDX-License-Identifier: Apache-2.0
#include "run_facts.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cstdlib>
#include <ctime>
#include <fstream>
#include <string>
#include <string_view>

#include "handoff.h"
#include "rondo/rondo.h"

namespace rondo::perf {
namespace {

// The first "model name" of /proc/cpuinfo; the architecture if there is none.
std::string processor(const utsname& system) {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const size_t colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) return line.substr(colon + 2);
  }
  return system.machine;
}

std::vector<std::string> environment() {
  std::vector<std::string> found;
  for (char** each = environ; *each != nullptr; ++each) {
    const std::string_view word = *each;
    const bool ours = word.starts_with("RONDO_") || word.starts_with("NCCL_");
    if (ours && !word.starts_with("RONDO_SECRET=")) found.emplace_back(word);
  }
  return found;
}

std::string version() {
  int number = 0;
  if (rondo_version(&number) != RONDO_OK) return "unknown";
  return fmt::format("{}.{}.{}", number / 10000, number / 100 % 100, number % 100);
}

}  // namespace

std::string time_of_day() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  localtime_r(&now, &parts);
  return fmt::format("{:%Y-%m-%d %H:%M:%S}", parts);
}

RunFacts facts_at_start(int argc, const char* const* argv) {
  RunFacts facts;
  facts.arguments.assign(argv, argv + argc);
  facts.environment = environment();
  facts.start_time = time_of_day();
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  facts.date = fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", parts);
  facts.version = version();
  utsname system{};
  uname(&system);
  facts.processor = processor(system);
  facts.kernel = fmt::format("{} {}", system.sysname, system.release);
  facts.host = system.nodename;
  std::getline(std::ifstream("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"), facts.governor);
  if (getloadavg(&facts.load, 1) != 1) facts.load = 0;
  facts.cpus = static_cast<int>(allowed_cpus().size());
  return facts;
}

}  // namespace rondo::perf
