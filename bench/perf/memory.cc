// SPDX-License-Identifier: Apache-2.0
#include "memory.h"

#include <fmt/format.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <string>

namespace rondo::perf {
namespace {

// The number after "key:" in a file of /proc, in KiB.
double kib_in(const std::string& file, const std::string& key) {
  std::ifstream in(file);
  std::string word;
  double kib = 0;
  while (in >> word) {
    if (word == key && in >> kib) return kib;
  }
  return 0;
}

}  // namespace

ProcessMemory memory_of(pid_t pid) {
  const std::string folder = fmt::format("/proc/{}/", pid);
  return {kib_in(folder + "status", "VmHWM:"), kib_in(folder + "smaps_rollup", "Pss:")};
}

ProcessMemory memory_of_bare_process() {
  std::string name = "sleep", seconds = "10";
  char* arguments[] = {name.data(), seconds.data(), nullptr};
  pid_t pid = 0;
  if (posix_spawnp(&pid, "sleep", nullptr, nullptr, arguments, environ) != 0) return {};
  constexpr useconds_t kUntilLoaded_us = 50'000;
  usleep(kUntilLoaded_us);
  const ProcessMemory memory = memory_of(pid);
  kill(pid, SIGKILL);
  waitpid(pid, nullptr, 0);
  return memory;
}

}  // namespace rondo::perf
