// SPDX-License-Identifier: Apache-2.0
#include "numa_nodes.h"

#include <algorithm>
#include <charconv>

namespace rondo {
namespace {

constexpr const char* kNodes = "devices/system/node";
constexpr const char* kModalias = "devices/system/cpu/modalias";

// The kernel's numbers for makers of x86 processors (arch/x86/include/asm/processor.h), as CPUID names them.
struct MakerRow {
  int number;
  const char* name;
};
constexpr MakerRow kMakers[] = {
    {0, "GenuineIntel"}, {2, "AuthenticAMD"}, {5, "CentaurHauls"}, {9, "HygonGenuine"}, {10, "  Shanghai  "},
};

/// The number of four hexadecimal digits after a key: 25 of "ven0002fam0019mod0011" after "fam". -1: none.
int hex_after(std::string_view text, std::string_view key) {
  constexpr size_t kDigits = 4;
  const size_t at = text.find(key);
  if (at == std::string_view::npos) return -1;
  text = text.substr(at + key.size(), kDigits);
  int value = -1;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
  return failure == std::errc() ? value : -1;
}

/// From "cpu:type:x86,ven0002fam0019mod0011:feature:,0000,..." or "cpu:type:aarch64:feature:...", by which
/// the kernel names processors for loading modules.
bool describe_processor(std::string_view modalias, NumaNode& numa) {
  constexpr std::string_view kStart = "cpu:type:";
  if (!modalias.starts_with(kStart)) return false;
  modalias.remove_prefix(kStart.size());
  const std::string_view type = modalias.substr(0, modalias.find(':'));
  if (type.starts_with("x86,")) {
    numa.arch = "x86_64";
    const int maker = hex_after(type, "ven");
    const auto row = std::ranges::find(kMakers, maker, &MakerRow::number);
    if (row != std::end(kMakers)) numa.vendor = row->name;
    numa.family = hex_after(type, "fam");
    numa.model = hex_after(type, "mod");
  } else if (type.starts_with("aarch64")) {
    numa.arch = "arm64";
  } else if (type.starts_with("power") || type.starts_with("ppc")) {
    numa.arch = "ppc64";
  } else {
    return false;
  }
  return true;
}

NumaNode processor(Sysfs& sysfs) {
  NumaNode numa;
  const std::string modalias = sysfs.line(kModalias);
  if (!describe_processor(modalias, numa))
    sysfs.repair(kModalias, modalias.empty() ? "missing or empty: the processor is not known"
                                             : fmt::format("'{}' is a processor that is not known",
                                                           modalias.substr(0, 64)));
  return numa;
}

/// 3 of "node3"; -1: another name.
int node_number(const std::string& name) {
  constexpr std::string_view kNode = "node";
  int number = -1;
  if (name.starts_with(kNode)) std::from_chars(name.data() + kNode.size(), name.data() + name.size(), number);
  return number <= kMaxNumaId && name == fmt::format("{}{}", kNode, number) ? number : -1;
}

/// Without the zeros of CPUs that could be added, if files cannot hold them. Empty: they still cannot.
std::string shortened(std::string mask) {
  constexpr std::string_view kNone = "00000000,";
  while (mask.size() > Sysfs::kMaxText && mask.starts_with(kNone)) mask.erase(0, kNone.size());
  return mask.size() > Sysfs::kMaxText ? std::string() : mask;
}

}  // namespace

Result<std::vector<NumaNode>> read_numa_nodes(Sysfs& sysfs) {
  NumaNode numa = processor(sysfs);
  std::vector<NumaNode> nodes;
  for (const std::string& name : sysfs.names(kNodes)) {
    numa.id = node_number(name);
    if (numa.id < 0) continue;
    const std::string file = fmt::format("{}/{}/cpumap", kNodes, name);
    const std::string mask = sysfs.line(file);
    if (mask.find_first_not_of("0,") == std::string::npos) continue;  // memory alone
    numa.affinity = shortened(mask);
    if (numa.affinity.empty())
      sysfs.repair(file, fmt::format("the CPU mask exceeds {} characters: left out", Sysfs::kMaxText));
    if (nodes.size() == kMaxNumaNodes)
      return error(Code::SystemError, "{}: more than the {} NUMA nodes that a host may have",
                   sysfs.shown(kNodes), kMaxNumaNodes);
    nodes.push_back(numa);
  }
  if (nodes.empty()) {
    sysfs.repair(kNodes, "no NUMA node with CPUs: the host is taken to have one");
    numa.id = -1;
    numa.affinity.clear();
    nodes.push_back(numa);
  }
  return nodes;
}

}  // namespace rondo
