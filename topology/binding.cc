// SPDX-License-Identifier: Apache-2.0
#include "topology/binding.h"

#include <sched.h>

#include <cerrno>
#include <memory>

namespace rondo {
namespace {

struct FreeSet {
  void operator()(cpu_set_t* set) const { CPU_FREE(set); }
};

constexpr int kMaxCpus = 1 << 16;  // far more than Linux supports

}  // namespace

Result<std::vector<int>> bound_cpus() {
  // The kernel rejects a set smaller than its own, whose size it does not reveal: try increasing sizes.
  for (int room = 1024; room <= kMaxCpus; room *= 2) {
    const std::unique_ptr<cpu_set_t, FreeSet> set(CPU_ALLOC(static_cast<size_t>(room)));
    if (!set) return error(Code::OutOfMemory, "no memory for a set of {} CPUs", room);
    const size_t bytes = CPU_ALLOC_SIZE(static_cast<size_t>(room));
    CPU_ZERO_S(bytes, set.get());
    if (sched_getaffinity(0, bytes, set.get()) != 0) {
      if (errno == EINVAL) continue;
      return system_error("reading which CPUs this thread may run on", errno);
    }
    std::vector<int> cpus;
    for (int cpu = 0; cpu < room; ++cpu)
      if (CPU_ISSET_S(static_cast<size_t>(cpu), bytes, set.get())) cpus.push_back(cpu);
    return cpus;
  }
  return system_error("reading which CPUs this thread may run on", EINVAL);
}

Status bind_thread(int cpu) {
  if (cpu < 0 || cpu >= kMaxCpus)
    return error(Code::InvalidArgument, "CPU {} is out of range: CPUs are numbered from 0 to {}", cpu,
                 kMaxCpus - 1);
  const size_t room = static_cast<size_t>(cpu) + 1;
  const std::unique_ptr<cpu_set_t, FreeSet> set(CPU_ALLOC(room));
  if (!set) return error(Code::OutOfMemory, "no memory for a set of {} CPUs", room);
  const size_t bytes = CPU_ALLOC_SIZE(room);
  CPU_ZERO_S(bytes, set.get());
  CPU_SET_S(static_cast<size_t>(cpu), bytes, set.get());
  if (sched_setaffinity(0, bytes, set.get()) != 0)
    return system_error(fmt::format("binding this thread to CPU {}", cpu), errno);
  return {};
}

}  // namespace rondo
