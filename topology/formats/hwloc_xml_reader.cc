// SPDX-License-Identifier: Apache-2.0
// Reads <topology> <object>: packages and NUMA nodes, with the PCI devices of hwloc_pci.h below them, and the
// matrices after them. Caches, cores and the like are passed over.
#include <algorithm>
#include <map>

#include "formats/hwloc_xml.h"
#include "hwloc_nvlinks.h"
#include "hwloc_pci.h"

namespace rondo {
namespace {

// Each CPU has some seven elements, and a set of CPUs 11 bytes for 32 of them.
constexpr XmlLimits kLimits = {
    .elements = 60'000, .attributes = 500'000, .depth = 64, .value_bytes = 4096, .text = true};
constexpr int kMaxProcessor = std::numeric_limits<int>::max();

/// hwloc's set of CPUs as the kernel prints it: "0x00000303,,0x1" is "00000303,00000000,00000001". Empty if
/// the set is infinite or not one.
std::string affinity_of(std::string_view cpuset) {
  constexpr size_t kDigits = 8;
  std::string mask;
  while (true) {
    const size_t end = std::min(cpuset.find(','), cpuset.size());
    std::string_view word = cpuset.substr(0, end);
    if (word.starts_with("0x")) word.remove_prefix(2);
    if (word.size() > kDigits || word.find_first_not_of("0123456789abcdef") != std::string_view::npos)
      return {};
    mask += std::string(kDigits - word.size(), '0');
    mask += word;
    if (end == cpuset.size()) return mask;
    mask += ',';
    cpuset.remove_prefix(end + 1);
  }
}

bool is_io(pugi::xml_node object) {
  return is_hwloc_object(object, "Bridge") || is_hwloc_object(object, "PCIDev") ||
         is_hwloc_object(object, "OSDev") || is_hwloc_object(object, "Misc");
}

class HwlocReader {
 public:
  explicit HwlocReader(const XmlDocument& document)
      : document_(document), pci_(document, major_version(document.root()), machine_) {
    machine_.source = document.source();
  }

  Result<Machine> read() {
    const pugi::xml_node topology = document_.root();
    if (std::string_view(topology.name()) != "topology")
      return document_.error_at(topology, "<{}>: expected <topology>, as lstopo writes it",
                                shown(topology.name()));
    const std::string_view version = topology.attribute("version").value();
    if (version != "2.0" && version != "3.0")
      return document_.error_at(topology, "<topology> has version=\"{}\": expected \"2.0\" or \"3.0\"",
                                shown(version));
    const pugi::xml_node host = topology.child("object");
    if (!is_hwloc_object(host, "Machine"))
      return document_.error_at(topology, "<topology> does not begin with <object type=\"Machine\">");
    architecture_ = hwloc_info(host, "Architecture");
    if (architecture_.empty()) architecture_ = hwloc_info(topology, "Architecture");
    first_package_ = host.find_node([](pugi::xml_node node) { return is_hwloc_object(node, "Package"); });
    RONDO_TRY(find_numa(host, {}));
    if (machine_.numa.empty())
      return document_.error_at(host,
                                "the machine has no NUMA node with CPUs: expected <object "
                                "type=\"NUMANode\"> with a cpuset");
    RONDO_TRY(find_devices(host, -1, numa_below_.at(host)));
    RONDO_TRY(pci_.number_gpus());
    RONDO_TRY(read_matrices(topology));
    return std::move(machine_);
  }

 private:
  /// NUMA nodes below an object, in the order of the file.
  struct Range {
    size_t first = 0, count = 0;
  };

  static int major_version(pugi::xml_node topology) {
    return std::string_view(topology.attribute("version").value()) == "2.0" ? 2 : 3;
  }

  Status find_numa(pugi::xml_node object, pugi::xml_node package) {
    if (is_hwloc_object(object, "Package")) {
      package = object;
      RONDO_TRY(note_package(object));
    }
    const size_t first = machine_.numa.size();
    for (const pugi::xml_node child : object.children("object")) {
      if (is_hwloc_object(child, "NUMANode"))
        RONDO_TRY(read_numa(child, package ? package : first_package_));
      else if (!is_io(child))
        RONDO_TRY(find_numa(child, package));
    }
    if (machine_.numa.size() > first) numa_below_[object] = {first, machine_.numa.size() - first};
    return {};
  }

  Status read_numa(pugi::xml_node element, pugi::xml_node package) {
    NumaNode numa;
    numa.line = document_.line(element);
    RONDO_TRY_ASSIGN(XmlAttributes attributes, XmlAttributes::of(document_, element));
    if (!attributes.has("os_index"))
      return document_.error_at(element, "<object type=\"NUMANode\"> has no os_index: expected its number");
    RONDO_TRY_ASSIGN(numa.id, attributes.integer("os_index", 0, kMaxNumaId, 0));
    numa.affinity = affinity_of(attributes.text("cpuset"));
    if (attributes.text("cpuset").empty() ||
        (!numa.affinity.empty() && numa.affinity.find_first_not_of("0,") == std::string::npos)) {
      add_repair(machine_, numa.line, "NUMA node {} has no CPUs: left out", numa.id);
      return {};
    }
    if (numa.affinity.empty())
      add_repair(machine_, numa.line, "cpuset=\"{}\": expected a finite set of CPUs; taken as unknown",
                 shown(attributes.text("cpuset")));
    if (machine_.numa.size() == kMaxNumaNodes)
      return document_.error_at(element, "more than the {} NUMA nodes that a host may have", kMaxNumaNodes);
    RONDO_TRY(read_processor(package, numa));
    machine_.numa.push_back(std::move(numa));
    return {};
  }

  Status read_processor(pugi::xml_node package, NumaNode& numa) {
    const std::string_view model = hwloc_info(package, "CPUModel");
    numa.vendor = known_vendor(hwloc_info(package, "CPUVendor"), model);
    numa.arch = known_architecture(numa.vendor, model);
    if (numa.arch.empty())
      add_repair(machine_, numa.line, "the architecture of NUMA node {} is not known", numa.id);
    RONDO_TRY_ASSIGN(numa.family, number_in(package, "CPUFamilyNumber"));
    RONDO_TRY_ASSIGN(numa.model, number_in(package, "CPUModelNumber"));
    if (numa.vendor == "GenuineIntel" && (numa.family < 0 || numa.model < 0))
      add_repair(machine_, numa.line,
                 "the processor of NUMA node {} has no CPUFamilyNumber and CPUModelNumber: taken to be of an "
                 "old model",
                 numa.id);
    return {};
  }

  static std::string known_vendor(std::string_view vendor, std::string_view model) {
    if (vendor == "GenuineIntel" || (vendor.empty() && model.starts_with("Intel"))) return "GenuineIntel";
    if (vendor == "AuthenticAMD" || (vendor.empty() && model.starts_with("AMD"))) return "AuthenticAMD";
    return shown(vendor);
  }

  /// As NCCL names it.
  std::string known_architecture(std::string_view vendor, std::string_view model) const {
    if (architecture_ == "aarch64") return "arm64";
    if (architecture_.starts_with("ppc64")) return "ppc64";
    if (!architecture_.empty()) return shown(architecture_);
    if (vendor == "GenuineIntel" || vendor == "AuthenticAMD") return "x86_64";
    return model.starts_with("POWER") ? "ppc64" : "";
  }

  Result<int> number_in(pugi::xml_node package, const char* name) const {
    for (const pugi::xml_node info : package.children("info")) {
      if (std::string_view(info.attribute("name").value()) != name) continue;
      RONDO_TRY_ASSIGN(XmlAttributes attributes, XmlAttributes::of(document_, info));
      return attributes.integer("value", 0, kMaxProcessor, -1);
    }
    return -1;
  }

  Status note_package(pugi::xml_node object) {
    RONDO_TRY_ASSIGN(const int64_t gp_index, gp_index_of(object));
    if (gp_index >= 0) pci_.objects[gp_index] = {HwlocKind::Package, {}, gp_index};
    return {};
  }

  Result<int64_t> gp_index_of(pugi::xml_node object) const {
    RONDO_TRY_ASSIGN(XmlAttributes attributes, XmlAttributes::of(document_, object));
    return attributes.number("gp_index", 0, kMaxGpIndex, -1);
  }

  /// A device is at the NUMA node below the nearest object around it that has one.
  Status find_devices(pugi::xml_node object, int64_t package, Range near) {
    if (is_hwloc_object(object, "Package")) {
      RONDO_TRY_ASSIGN(package, gp_index_of(object));
    }
    if (const auto below = numa_below_.find(object); below != numa_below_.end()) near = below->second;
    for (const pugi::xml_node child : object.children("object")) {
      if (!is_io(child)) {
        RONDO_TRY(find_devices(child, package, near));
        continue;
      }
      NumaNode& numa = machine_.numa[near.first];
      const size_t before = numa.devices.size();
      RONDO_TRY(pci_.read(child, package, numa.devices));
      if (near.count > 1 && numa.devices.size() > before)
        add_repair(machine_, numa.devices.back().line,
                   "{} is near {} NUMA nodes: taken to be at the first, {}", numa.devices.back().bus_id,
                   near.count, numa.id);
    }
    return {};
  }

  Status read_matrices(pugi::xml_node topology) {
    for (const pugi::xml_node child : topology.children()) {
      const std::string_view element = child.name(), name = child.attribute("name").value();
      if (element != "distances2" && element != "distances2hetero") continue;
      if (name == "XGMIBandwidth")
        add_repair(machine_, document_.line(child),
                   "xGMI links of AMD's GPUs are not read from hwloc's XML: left out");
      if (name != "NVLinkBandwidth") continue;
      if (has_nvlinks_) return document_.error_at(child, "a second matrix NVLinkBandwidth: expected one");
      has_nvlinks_ = true;
      RONDO_TRY(add_hwloc_nvlinks(document_, child, pci_.objects, machine_));
    }
    return {};
  }

  const XmlDocument& document_;
  Machine machine_;
  HwlocPci pci_;
  std::string_view architecture_;
  pugi::xml_node first_package_;
  std::map<pugi::xml_node, Range> numa_below_;
  bool has_nvlinks_ = false;
};

}  // namespace

bool is_hwloc_xml(std::string_view text) { return xml_root_name(text) == "topology"; }

Result<Machine> machine_from_hwloc_xml(std::string_view text, std::string source) {
  RONDO_TRY_ASSIGN(const XmlDocument document, XmlDocument::parse(text, std::move(source), kLimits));
  return HwlocReader(document).read();
}

}  // namespace rondo
