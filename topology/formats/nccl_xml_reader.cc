// SPDX-License-Identifier: Apache-2.0
// Reads <system> <cpu> <pci> <gpu> <nvlink>, <xgmi> and <c2c>, <nic> and <net>. An element or attribute that
// is missing, impossible or unknown is repaired if only one reading makes sense, else an error.
#include <algorithm>
#include <limits>
#include <map>
#include <set>

#include "formats/nccl_xml.h"
#include "nccl_xml_names.h"
#include "xml_document.h"

namespace rondo {
namespace {

constexpr int kMaxInt = std::numeric_limits<int>::max();
constexpr int64_t kMaxLink_MBps = 10'000'000;
constexpr int64_t kGbit_kbps = 1'000'000;
constexpr int kGuessedByNccl = 1 << 16;  // a bit of rails and planes that NCCL has numbered by itself

size_t count_children(pugi::xml_node node, std::string_view name) {
  size_t count = 0;
  for (const pugi::xml_node child : node.children())
    if (name == child.name()) ++count;
  return count;
}

bool is_one_of(std::string_view name, std::initializer_list<std::string_view> names) {
  return std::ranges::find(names, name) != names.end();
}

class MachineReader {
 public:
  explicit MachineReader(const XmlDocument& document) : document_(document) {
    machine_.source = document.source();
  }

  Result<Machine> read() {
    const pugi::xml_node system = document_.root();
    if (std::string_view(system.name()) != "system")
      return document_.error_at(system, "<{}>: expected <system>, as NCCL_TOPO_DUMP_FILE has it{}",
                                shown(system.name()),
                                std::string_view(system.name()) == "graphs"
                                    ? "; <graphs> is the result of a search, as NCCL_GRAPH_DUMP_FILE has it"
                                    : "");
    RONDO_TRY_ASSIGN(XmlAttributes attributes, XmlAttributes::of(document_, system));
    if (!attributes.has("version")) repair(system, "<system> has no version: taken to be 1");
    RONDO_TRY_ASSIGN(machine_.version, attributes.integer("version", 1, 2, 1));
    if (attributes.has(kP2pAttribute)) {
      RONDO_TRY_ASSIGN(const int p2p, attributes.integer(kP2pAttribute, 0, 1, 1));
      machine_.p2p_below_switches = p2p == 1;
    }
    RONDO_TRY_ASSIGN(machine_.extra, attributes.rest());
    machine_.numa.reserve(std::min(count_children(system, "cpu"), kMaxNumaNodes));
    for (const pugi::xml_node child : system.children()) {
      if (std::string_view(child.name()) != "cpu") {
        leave_out(child);
        continue;
      }
      if (machine_.numa.size() == kMaxNumaNodes)
        return document_.error_at(child, "more <cpu> than the {} NUMA nodes that a host may have",
                                  kMaxNumaNodes);
      RONDO_TRY_ASSIGN(NumaNode numa, read_cpu(child));
      machine_.numa.push_back(std::move(numa));
    }
    if (machine_.numa.empty())
      return document_.error_at(system, "<system> has no <cpu>: expected at least one");
    for (const NumaNode& numa : machine_.numa) note_gpus(numa.devices);
    for (NumaNode& numa : machine_.numa) guess_targets(numa.devices);
    say_left_out();
    return std::move(machine_);
  }

 private:
  template <typename... Args>
  void repair(pugi::xml_node element, fmt::format_string<Args...> format, Args&&... args) {
    repair_at(document_.line(element), fmt::format(format, std::forward<Args>(args)...));
  }

  void repair_at(int line, const std::string& sentence) {
    machine_.repairs.push_back(place(machine_, line) + ": " + sentence);
  }

  /// Says one thing of all elements of a name within elements of a name.
  void leave_out(pugi::xml_node element) {
    if (element.type() != pugi::node_element) return;
    LeftOut& left_out = left_out_[{element.name(), element.parent().name()}];
    if (left_out.count++ == 0) left_out.first_line = document_.line(element);
  }

  void say_left_out() {
    for (const auto& [names, left_out] : left_out_)
      repair_at(
          left_out.first_line,
          fmt::format("<{}> is not known within <{}>: left out{}", shown(names.first), shown(names.second),
                      left_out.count > 1 ? fmt::format(", with {} more of them", left_out.count - 1) : ""));
  }

  Result<std::string> bus_id_in(XmlAttributes& attributes, const char* name, pugi::xml_node element) const {
    if (!attributes.has(name))
      return document_.error_at(element, "<{}> has no {}: expected {}=\"0000:3b:00.0\" or the like",
                                element.name(), name, name);
    const auto bus_id = normalized_bus_id(attributes.text(name));
    if (!bus_id.ok())
      return document_.error_at(element, "<{}>: {}: {}", element.name(), name, bus_id.status().message());
    return bus_id.value();
  }

  Result<NumaNode> read_cpu(pugi::xml_node element) {
    NumaNode numa;
    numa.line = document_.line(element);
    RONDO_TRY_ASSIGN(XmlAttributes attributes, XmlAttributes::of(document_, element));
    if (!attributes.has("numaid"))
      return document_.error_at(element, "<cpu> has no numaid: expected numaid=\"0\" or the like");
    RONDO_TRY_ASSIGN(numa.id, attributes.integer("numaid", -1, kMaxNumaId, -1));
    RONDO_TRY(check_host(element));
    numa.affinity = attributes.text("affinity");
    numa.arch = attributes.text("arch");
    numa.vendor = attributes.text("vendor");
    RONDO_TRY_ASSIGN(numa.family, attributes.integer("familyid", -1, kMaxInt, -1));
    RONDO_TRY_ASSIGN(numa.model, attributes.integer("modelid", -1, kMaxInt, -1));
    RONDO_TRY_ASSIGN(numa.extra, attributes.rest());
    numa.devices.reserve(count_children(element, "pci"));
    for (const pugi::xml_node child : element.children()) {
      const std::string_view name = child.name();
      if (name == "pci") {
        RONDO_TRY_ASSIGN(PciDevice device, read_pci(child));
        numa.devices.push_back(std::move(device));
      } else if (name == "nic") {
        RONDO_TRY(read_nic(child, numa));
      } else {
        leave_out(child);
      }
    }
    return numa;
  }

  /// NCCL writes several hosts into one file where NVLinks join them.
  Status check_host(pugi::xml_node cpu) {
    const std::string_view hash = cpu.attribute("host_hash").value();
    if (!first_cpu_) first_cpu_ = cpu;
    if (hash != first_cpu_.attribute("host_hash").value())
      return document_.error_at(
          cpu,
          "<cpu> is of another host than the one at line {}, by their host_hash: expected "
          "one host",
          document_.line(first_cpu_));
    return {};
  }

  Result<PciDevice> read_pci(pugi::xml_node element) {
    PciDevice device;
    device.line = document_.line(element);
    RONDO_TRY_ASSIGN(XmlAttributes attributes, XmlAttributes::of(document_, element));
    RONDO_TRY_ASSIGN(device.bus_id, bus_id_in(attributes, "busid", element));
    device.pci_class = attributes.text("class");
    device.link_speed = attributes.text("link_speed");
    RONDO_TRY_ASSIGN(device.link_width, attributes.integer("link_width", 0, kUnknownWidth, 0));
    if (device.link_width > kMaxPcieLanes) {
      repair(element, "link_width=\"{}\" is more lanes than PCIe has: taken as unknown", device.link_width);
      device.link_width = 0;
    }
    RONDO_TRY_ASSIGN(device.extra, attributes.rest());
    device.below.reserve(count_children(element, "pci"));
    for (const pugi::xml_node child : element.children()) RONDO_TRY(read_in_pci(child, device));
    return device;
  }

  Status read_in_pci(pugi::xml_node child, PciDevice& device) {
    const std::string_view name = child.name();
    if (name == "pci") {
      RONDO_TRY_ASSIGN(PciDevice below, read_pci(child));
      device.below.push_back(std::move(below));
    } else if (name == "nic") {
      RONDO_TRY(read_nic(child, device));
    } else if (name == "gpu" && device.gpu) {
      repair(child, "a second <gpu> in the <pci> of line {}: left out", device.line);
    } else if (name == "gpu") {
      RONDO_TRY_ASSIGN(device.gpu, read_gpu(child));
    } else if (name == "pcilink") {
      RONDO_TRY(read_other(child, device.other));
    } else {
      leave_out(child);
    }
    return {};
  }

  Result<GpuInfo> read_gpu(pugi::xml_node element) {
    GpuInfo gpu;
    gpu.line = document_.line(element);
    RONDO_TRY_ASSIGN(XmlAttributes attributes, XmlAttributes::of(document_, element));
    RONDO_TRY_ASSIGN(gpu.dev, attributes.integer("dev", -1, kMaxGpuDev, -1));
    RONDO_TRY_ASSIGN(gpu.rank, attributes.integer("rank", -1, kMaxInt, -1));
    RONDO_TRY_ASSIGN(gpu.sm, attributes.integer("sm", 0, kMaxSm, 0));
    RONDO_TRY_ASSIGN(gpu.gdr, attributes.integer("gdr", -1, kMaxInt, -1));
    gpu.gfx = attributes.text("gcn");
    RONDO_TRY_ASSIGN(gpu.extra, attributes.rest());
    for (const pugi::xml_node child : element.children()) {
      if (!is_one_of(child.name(), {"nvlink", "xgmi", "c2c"})) {
        leave_out(child);
        continue;
      }
      RONDO_TRY_ASSIGN(FabricLinks links, read_links(child));
      if (links.count > 0) gpu.links.push_back(std::move(links));
    }
    return gpu;
  }

  Result<FabricLinks> read_links(pugi::xml_node element) {
    const std::string_view name = element.name();
    FabricLinks links;
    links.line = document_.line(element);
    links.kind = name == "c2c" ? FabricKind::C2C : name == "xgmi" ? FabricKind::Xgmi : FabricKind::NvLink;
    RONDO_TRY_ASSIGN(XmlAttributes attributes, XmlAttributes::of(document_, element));
    if (!attributes.has("count")) repair(element, "<{}> has no count: taken to be one link", name);
    RONDO_TRY_ASSIGN(links.count, attributes.integer("count", 0, kMaxParallelLinks, 1));
    if (links.count == 0) repair(element, "<{}> has count=\"0\": left out", name);
    RONDO_TRY_ASSIGN(links.link_MBps, attributes.number("bw", 0, kMaxLink_MBps, 0));
    if (links.kind == FabricKind::C2C) {
      links.target = FabricTarget::Cpu;
      if (links.link_MBps == 0)
        repair(element, "<c2c> does not say its bandwidth: taken to be that of NVLinks of this GPU");
    } else {
      RONDO_TRY_ASSIGN(links.target_bus_id, bus_id_in(attributes, "target", element));
      links.target_class = attributes.text("tclass");
      links.target = target_of_class(links.target_class).value_or(FabricTarget::NvSwitch);
    }
    RONDO_TRY_ASSIGN(links.extra, attributes.rest());
    return links;
  }

  static std::optional<FabricTarget> target_of_class(const std::string& cls) {
    if (cls.starts_with("0x068001")) return FabricTarget::Cpu;
    if (cls.starts_with("0x0680")) return FabricTarget::NvSwitch;
    if (cls.starts_with("0x03") || cls.starts_with("0x12")) return FabricTarget::Gpu;
    return std::nullopt;
  }

  void note_gpus(const std::vector<PciDevice>& devices) {
    for (const PciDevice& device : devices) {
      if (device.gpu) gpus_.insert(device.bus_id);
      note_gpus(device.below);
    }
  }

  /// Links whose class does not say where they end: at a GPU, if it is here.
  void guess_targets(std::vector<PciDevice>& devices) {
    for (PciDevice& device : devices) {
      guess_targets(device.below);
      if (!device.gpu) continue;
      for (FabricLinks& links : device.gpu->links) {
        if (links.kind == FabricKind::C2C || target_of_class(links.target_class)) continue;
        const bool is_gpu = gpus_.contains(links.target_bus_id);
        links.target = is_gpu ? FabricTarget::Gpu : FabricTarget::NvSwitch;
        repair_at(links.line,
                  fmt::format("links have tclass=\"{}\": {} is taken to be {}", shown(links.target_class),
                              links.target_bus_id, is_gpu ? "the GPU of that bus id" : "an NVSwitch"));
      }
    }
  }

  /// `owner` is a PciDevice or a NumaNode.
  template <typename Owner>
  Status read_nic(pugi::xml_node element, Owner& owner) {
    RONDO_TRY_ASSIGN(const XmlAttributes attributes, XmlAttributes::of(document_, element));
    if (owner.has_nic) {
      repair(element, "a second <nic> at the same place: its ports are taken to be those of the first");
    } else {
      owner.has_nic = true;
      RONDO_TRY_ASSIGN(owner.nic_extra, attributes.rest());
    }
    owner.ports.reserve(owner.ports.size() + count_children(element, "net"));
    for (const pugi::xml_node child : element.children()) {
      if (std::string_view(child.name()) == "net") {
        RONDO_TRY_ASSIGN(NetPort port, read_net(child));
        owner.ports.push_back(std::move(port));
      } else if (is_one_of(child.name(), {"gin", "rma"})) {
        RONDO_TRY(read_other(child, owner.nic_other));
      } else {
        leave_out(child);
      }
    }
    return {};
  }

  Result<NetPort> read_net(pugi::xml_node element) {
    NetPort port;
    port.line = document_.line(element);
    RONDO_TRY_ASSIGN(XmlAttributes attributes, XmlAttributes::of(document_, element));
    RONDO_TRY_ASSIGN(port.dev, attributes.integer("dev", -1, kMaxInt, -1));
    port.name = attributes.text("name");
    if (port.name.empty()) {
      port.name =
          fmt::format("net{}", port.dev >= 0 ? std::to_string(port.dev) : fmt::format("@{}", port.line));
      repair(element, "<net> has no name: called {}", port.name);
    }
    RONDO_TRY_ASSIGN(port.speed_Mbps, read_speed(attributes, element));
    RONDO_TRY_ASSIGN(port.rail, read_rail(attributes, "rail"));
    RONDO_TRY_ASSIGN(port.plane, read_rail(attributes, "plane"));
    RONDO_TRY_ASSIGN(port.extra, attributes.rest());
    return port;
  }

  /// Some plugins state kilobits, others -1 for unknown.
  Result<int64_t> read_speed(XmlAttributes& attributes, pugi::xml_node element) {
    RONDO_TRY_ASSIGN(const int64_t speed, attributes.number("speed", -1, kMaxPort_Mbps * 1000, 0));
    if (speed <= kMaxPort_Mbps) return std::max<int64_t>(speed, 0);
    if (speed % kGbit_kbps != 0)
      return document_.error_at(element, "<net> has speed=\"{}\": expected megabits per second, up to {}",
                                speed, kMaxPort_Mbps);
    repair(element, "<net> has speed=\"{}\": taken as kilobits per second, so {} Mbit/s", speed,
           speed / 1000);
    return speed / 1000;
  }

  /// NCCL numbers rails and planes by itself if its plugin does not know them; those are no knowledge.
  Result<int> read_rail(XmlAttributes& attributes, const char* name) {
    RONDO_TRY_ASSIGN(const int number, attributes.integer(name, -1, kMaxInt, -1));
    if (number < kGuessedByNccl) return number;
    attributes.put_back(name);
    return -1;
  }

  Status read_other(pugi::xml_node element, std::vector<OtherElement>& others) {
    RONDO_TRY_ASSIGN(const XmlAttributes attributes, XmlAttributes::of(document_, element));
    RONDO_TRY_ASSIGN(Attributes kept, attributes.rest());
    others.push_back({element.name(), std::move(kept), document_.line(element)});
    for (const pugi::xml_node child : element.children()) leave_out(child);
    return {};
  }

  struct LeftOut {
    int first_line = 0;
    int count = 0;
  };

  const XmlDocument& document_;
  Machine machine_;
  std::set<std::string> gpus_;  // bus ids of PCI devices with a <gpu>
  pugi::xml_node first_cpu_;
  std::map<std::pair<std::string_view, std::string_view>, LeftOut>
      left_out_;  // by the names of it and its parent
};

}  // namespace

Result<Machine> machine_from_nccl_xml(std::string_view text, std::string source) {
  RONDO_TRY_ASSIGN(const XmlDocument document, XmlDocument::parse(text, std::move(source)));
  return MachineReader(document).read();
}

Result<Machine> machine_from_nccl_xml_file(const std::string& path) {
  RONDO_TRY_ASSIGN(const std::string text, read_file(path));
  return machine_from_nccl_xml(text, path);
}

}  // namespace rondo
