// SPDX-License-Identifier: Apache-2.0
#include "topology/host.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <sstream>

namespace rondo {
namespace {

constexpr const char* kMagic = "rondo-host-1";  // the number changes with the format

/// The threads of each core, cores in machine order.
std::vector<std::vector<const Cpu*>> by_core(const HostInfo& host) {
  std::vector<std::vector<const Cpu*>> cores;
  std::vector<int> numbers;
  // The first threads of all cores come first, so cores are encountered in order.
  for (const Cpu& cpu : host.cpus) {
    const auto found = std::find(numbers.begin(), numbers.end(), cpu.core);
    if (found == numbers.end()) {
      numbers.push_back(cpu.core);
      cores.push_back({&cpu});
    } else {
      cores[static_cast<size_t>(found - numbers.begin())].push_back(&cpu);
    }
  }
  return cores;
}

}  // namespace

int HostInfo::cores() const {
  std::set<int> numbers;
  for (const Cpu& cpu : cpus) numbers.insert(cpu.core);
  return static_cast<int>(numbers.size());
}

int HostInfo::concurrency() const {
  const auto all = static_cast<int>(cpus.size());
  return cpu_quota > 0 ? std::min(all, static_cast<int>(std::ceil(cpu_quota))) : all;
}

std::string to_text(const HostInfo& host) {
  std::string text =
      fmt::format("{} {} {} {}", kMagic, host.installed_cpus, host.cpu_quota, host.memory_bytes);
  for (const Cpu& cpu : host.cpus)
    text += fmt::format(" {}:{}:{}:{}:{}", cpu.id, cpu.core, cpu.numa, cpu.l2, cpu.l3);
  return text;
}

Result<HostInfo> host_from_text(std::string_view text) {
  std::istringstream in{std::string(text)};
  std::string magic;
  HostInfo host;
  in >> magic;
  if (magic != kMagic)
    return error(Code::InvalidArgument, "the description of a host starts with '{}', not with {}",
                 magic.substr(0, 32), kMagic);
  if (!(in >> host.installed_cpus >> host.cpu_quota >> host.memory_bytes))
    return error(Code::InvalidArgument,
                 "the description of a host lacks its numbers of CPUs, quota and memory");
  for (std::string word; in >> word;) {
    Cpu cpu;
    char rest = 0;
    if (std::sscanf(word.c_str(), "%d:%d:%d:%d:%d%c", &cpu.id, &cpu.core, &cpu.numa, &cpu.l2, &cpu.l3,
                    &rest) != 5)
      return error(Code::InvalidArgument,
                   "the description of a host has a CPU '{}': expected id:core:numa:l2:l3", word);
    host.cpus.push_back(cpu);
  }
  return host;
}

HostInfo restricted_to(const HostInfo& host, std::span<const int> cpu_ids) {
  const std::set<int> wanted(cpu_ids.begin(), cpu_ids.end());
  HostInfo out = host;
  out.cpus.clear();
  // If a core's first thread is left out, its second one becomes the first, so sort the threads anew.
  std::vector<std::vector<Cpu>> by_turn;
  for (const auto& core : by_core(host)) {
    size_t turn = 0;
    for (const Cpu* cpu : core) {
      if (!wanted.contains(cpu->id)) continue;
      if (by_turn.size() <= turn) by_turn.emplace_back();
      by_turn[turn++].push_back(*cpu);
    }
  }
  for (const auto& turn : by_turn) out.cpus.insert(out.cpus.end(), turn.begin(), turn.end());
  return out;
}

// 5 ranks on 2 cores of 2 threads (a, b):       2 ranks on 4 cores:
//
//   core 0   0a 1b 2a                             core   0  1  2  3
//   core 1   3a 4b                                rank   0     1
std::vector<int> place_ranks(const HostInfo& host, int local_ranks) {
  const auto cores = by_core(host);
  if (cores.empty() || local_ranks <= 0) return {};
  const auto ranks = static_cast<size_t>(local_ranks);
  std::vector<int> placed;
  std::vector<size_t> taken(cores.size());
  for (size_t rank = 0; rank < ranks; ++rank) {
    const size_t core = rank * cores.size() / ranks;
    placed.push_back(cores[core][taken[core]++ % cores[core].size()]->id);
  }
  return placed;
}

}  // namespace rondo
