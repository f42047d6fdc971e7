// SPDX-License-Identifier: Apache-2.0
#include "few_cpus.h"

#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <utility>

#include "topology/binding.h"
#include "topology/host.h"

namespace rondo::calibrate {
namespace {

double seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
}

void bind_to(const std::vector<int>& cpus) {
  const auto most = static_cast<size_t>(*std::ranges::max_element(cpus)) + 1;
  cpu_set_t* const set = CPU_ALLOC(most);
  CPU_ZERO_S(CPU_ALLOC_SIZE(most), set);
  for (const int cpu : cpus) CPU_SET_S(static_cast<size_t>(cpu), CPU_ALLOC_SIZE(most), set);
  ::sched_setaffinity(0, CPU_ALLOC_SIZE(most), set);
  CPU_FREE(set);
}

}  // namespace

Result<std::vector<int>> close_cpus(size_t at_most) {
  RONDO_TRY_ASSIGN(const std::vector<int> bound, bound_cpus());
  RONDO_TRY_ASSIGN(HostInfo host, detect_host());
  host = restricted_to(host, bound);
  at_most = std::min(at_most, static_cast<size_t>(std::max(1, host.concurrency())));
  std::vector<int> cpus;
  std::set<int> cores;
  for (const Cpu& cpu : host.cpus)
    if (cpus.size() < at_most && cpu.l3 == host.cpus[0].l3 && cores.insert(cpu.core).second)
      cpus.push_back(cpu.id);
  return cpus.empty() ? std::vector<int>{bound[0]} : cpus;
}

FewCpus::FewCpus(std::vector<int> cpus) : cpus_(std::move(cpus)) {
  if (auto bound = bound_cpus(); bound.ok()) before_ = bound.take();
  bind_to(cpus_);
  last_ = now();
}

FewCpus::~FewCpus() {
  if (!before_.empty()) bind_to(before_);
}

double FewCpus::used_by_others() {
  const UsedTime begin = last_;
  last_ = now();
  const double elapsed = std::chrono::duration<double>(last_.at - begin.at).count();
  const double others = (last_.busy - begin.busy) - (last_.own - begin.own);
  return std::clamp(others / (elapsed * count()), 0.0, 1.0);
}

FewCpus::UsedTime FewCpus::now() const {
  UsedTime times{.at = std::chrono::steady_clock::now()};
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  times.own = seconds(used.ru_utime) + seconds(used.ru_stime);
  std::ifstream file("/proc/stat");
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string name;
    double user = 0, nice = 0, system = 0, idle = 0, io = 0, interrupts = 0, soft = 0, stolen = 0;
    words >> name >> user >> nice >> system >> idle >> io >> interrupts >> soft >> stolen;
    if (!name.starts_with("cpu") || name == "cpu") continue;
    const int cpu = std::stoi(name.substr(3));
    if (std::ranges::find(cpus_, cpu) != cpus_.end())
      times.busy +=
          (user + nice + system + interrupts + soft + stolen) / static_cast<double>(::sysconf(_SC_CLK_TCK));
  }
  return times;
}

}  // namespace rondo::calibrate
