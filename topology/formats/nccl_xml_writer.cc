// SPDX-License-Identifier: Apache-2.0
// Writes what nccl_xml_reader.cc reads. Attributes come in the order in which NCCL's detection adds them, so
// that its dumps and these can be compared as text; those that it does not know come last.
#include <algorithm>
#include <span>

#include "formats/nccl_xml.h"
#include "nccl_xml_names.h"
#include "xml_document.h"

namespace rondo {
namespace {

using Order = std::span<const std::string_view>;

constexpr std::string_view kCpuOrder[] = {"host_hash", "numaid",   "affinity", "arch",
                                          "vendor",    "familyid", "modelid"};
constexpr std::string_view kPciOrder[] = {
    "busid", "class", "vendor", "device", "subsystem_vendor", "subsystem_device", "link_speed", "link_width"};
constexpr std::string_view kGpuOrder[] = {"dev", "sm", "gcn", "arch", "rank", "gdr"};
constexpr std::string_view kLinksOrder[] = {"bw", "target", "count", "tclass"};
constexpr std::string_view kNetOrder[] = {"name", "dev",     "speed", "port", "latency",
                                          "guid", "maxconn", "gdr",   "coll"};

class MachineWriter {
 public:
  std::string write(const Machine& machine) {
    Attributes attributes = {{"version", fmt::format("{}", machine.version)}};
    if (machine.p2p_below_switches)
      attributes.emplace_back(kP2pAttribute, *machine.p2p_below_switches ? "1" : "0");
    element("system", std::move(attributes), machine.extra, {}, !machine.numa.empty(), [&] {
      for (const NumaNode& numa : machine.numa) cpu(numa);
    });
    return std::move(text_);
  }

 private:
  /// Both keep to the order, as far as that leaves `extra` as it is.
  void write_attributes(Attributes attributes, const Attributes& extra, Order order) {
    const auto rank = [&](const auto& attribute) {
      return std::ranges::find(order, attribute.first) - order.begin();
    };
    std::ranges::stable_sort(attributes, {}, rank);
    auto next = extra.begin();
    for (const auto& attribute : attributes) {
      for (; next != extra.end() && rank(*next) < rank(attribute); ++next) write_attribute(*next);
      write_attribute(attribute);
    }
    for (; next != extra.end(); ++next) write_attribute(*next);
  }

  void write_attribute(const Attributes::value_type& attribute) {
    text_ += fmt::format(" {}=\"{}\"", attribute.first, escaped(attribute.second));
  }

  /// Writes <name ...>, what is inside, and </name>.
  template <typename Inside>
  void element(std::string_view name, Attributes attributes, const Attributes& extra, Order order,
               bool has_inside, Inside inside) {
    text_.append(indent_, ' ') += '<';
    text_ += name;
    write_attributes(std::move(attributes), extra, order);
    text_ += has_inside ? ">\n" : "/>\n";
    if (!has_inside) return;
    indent_ += 2;
    inside();
    indent_ -= 2;
    text_.append(indent_, ' ') += fmt::format("</{}>\n", name);
  }

  void leaf(std::string_view name, Attributes attributes, const Attributes& extra, Order order) {
    element(name, std::move(attributes), extra, order, false, [] {});
  }

  static void add_text(Attributes& attributes, const char* name, const std::string& value) {
    if (!value.empty()) attributes.emplace_back(name, value);
  }

  static void add_number(Attributes& attributes, const char* name, int64_t value, int64_t unknown = -1) {
    if (value != unknown) attributes.emplace_back(name, fmt::format("{}", value));
  }

  void cpu(const NumaNode& numa) {
    Attributes attributes = {{"numaid", fmt::format("{}", numa.id)}};
    add_text(attributes, "affinity", numa.affinity);
    add_text(attributes, "arch", numa.arch);
    add_text(attributes, "vendor", numa.vendor);
    add_number(attributes, "familyid", numa.family);
    add_number(attributes, "modelid", numa.model);
    element("cpu", std::move(attributes), numa.extra, kCpuOrder, has_nic(numa) || !numa.devices.empty(), [&] {
      for (const PciDevice& device : numa.devices) pci(device);
      nic(numa);
    });
  }

  void pci(const PciDevice& device) {
    Attributes attributes = {{"busid", device.bus_id}};
    add_text(attributes, "class", device.pci_class);
    // NCCL asks the kernel for what is absent, so a device that is described has both, unknown as they may
    // be.
    if (!device.pci_class.empty() || !device.link_speed.empty() || device.link_width > 0) {
      attributes.emplace_back("link_speed", device.link_speed);
      attributes.emplace_back("link_width", fmt::format("{}", device.link_width));
    }
    const bool has_inside = device.gpu || has_nic(device) || !device.below.empty() || !device.other.empty();
    element("pci", std::move(attributes), device.extra, kPciOrder, has_inside, [&] {
      if (device.gpu) gpu(*device.gpu);
      nic(device);
      for (const PciDevice& below : device.below) pci(below);
      for (const OtherElement& other : device.other) leaf(other.name, {}, other.attributes, {});
    });
  }

  void gpu(const GpuInfo& gpu) {
    Attributes attributes;
    add_number(attributes, "dev", gpu.dev);
    add_number(attributes, "sm", gpu.sm, 0);
    add_text(attributes, "gcn", gpu.gfx);
    add_number(attributes, "rank", gpu.rank);
    add_number(attributes, "gdr", gpu.gdr);
    element("gpu", std::move(attributes), gpu.extra, kGpuOrder, !gpu.links.empty(), [&] {
      for (const FabricLinks& links : gpu.links) fabric_links(links);
    });
  }

  void fabric_links(const FabricLinks& links) {
    Attributes attributes;
    add_number(attributes, "bw", links.link_MBps, 0);
    add_text(attributes, "target", links.target_bus_id);
    add_number(attributes, "count", links.count);
    add_text(attributes, "tclass", links.target_class);
    const char* name = links.kind == FabricKind::C2C    ? "c2c"
                       : links.kind == FabricKind::Xgmi ? "xgmi"
                                                        : "nvlink";
    leaf(name, std::move(attributes), links.extra, kLinksOrder);
  }

  /// `owner` is a PciDevice or a NumaNode.
  template <typename Owner>
  static bool has_nic(const Owner& owner) {
    return owner.has_nic || !owner.ports.empty();
  }

  template <typename Owner>
  void nic(const Owner& owner) {
    if (!has_nic(owner)) return;
    element("nic", {}, owner.nic_extra, {}, !owner.ports.empty() || !owner.nic_other.empty(), [&] {
      for (const NetPort& port : owner.ports) net(port);
      for (const OtherElement& other : owner.nic_other) leaf(other.name, {}, other.attributes, {});
    });
  }

  void net(const NetPort& port) {
    Attributes attributes = {{"name", port.name}};
    add_number(attributes, "dev", port.dev);
    add_number(attributes, "speed", port.speed_Mbps, 0);
    add_number(attributes, "rail", port.rail);
    add_number(attributes, "plane", port.plane);
    leaf("net", std::move(attributes), port.extra, kNetOrder);
  }

  std::string text_;
  size_t indent_ = 0;
};

}  // namespace

std::string nccl_xml(const Machine& machine) { return MachineWriter().write(machine); }

}  // namespace rondo
