// SPDX-License-Identifier: Apache-2.0
#include "hwloc_pci.h"

#include <algorithm>
#include <charconv>
#include <set>

#include "graph/link_speeds.h"
#include "nvidia_devices.h"

namespace rondo {
namespace {

constexpr size_t kMaxDevices = 4096;   // that lead to a GPU or a port
constexpr int kMaxPorts = 16;          // of a verbs device
constexpr int kPortActive = 4;         // state of a port, as the kernel prints it
constexpr int64_t kMaxGBps = 100'000;  // of a PCIe link

// Types of OS devices: hwloc 2 numbers them, hwloc 3 has a bit for each.
constexpr int kNetwork2 = 2, kFabric2 = 3;
constexpr int64_t kNetwork3 = 1 << 4, kFabric3 = 1 << 5;

bool is_hex(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return std::isxdigit(static_cast<unsigned char>(c)) != 0; });
}

/// "0302 [10de:1db8] [10de:131d] a1 00": class, vendor, device, those of the subsystem, revision, and, from
/// hwloc 3 on, the programming interface. Empty: it is none.
std::vector<std::string> pci_type_words(std::string_view text) {
  constexpr std::string_view kSeparators = " [:]";
  constexpr size_t kLengths[] = {4, 4, 4, 4, 4, 2, 2};
  std::vector<std::string> words;
  while (true) {
    text.remove_prefix(std::min(text.find_first_not_of(kSeparators), text.size()));
    if (text.empty()) break;
    const std::string_view word = text.substr(0, text.find_first_of(kSeparators));
    if (words.size() == std::size(kLengths) || word.size() != kLengths[words.size()] || !is_hex(word))
      return {};
    words.emplace_back(word);
    text.remove_prefix(word.size());
  }
  if (words.size() < std::size(kLengths) - 1) return {};
  return words;
}

/// "15.753846" GB/s in kB/s.
std::optional<int64_t> kBps_of(std::string_view text) {
  constexpr size_t kDigits = 6;
  const size_t point = std::min(text.find('.'), text.size());
  std::string digits(text.substr(0, point));
  std::string fraction(text.substr(std::min(point + 1, text.size())));
  if (digits.empty() || !std::ranges::all_of(digits + fraction, [](char c) { return c >= '0' && c <= '9'; }))
    return std::nullopt;
  fraction.resize(kDigits, '0');
  digits += fraction;
  int64_t kBps = 0;
  const auto [end, problem] = std::from_chars(digits.data(), digits.data() + digits.size(), kBps);
  if (problem != std::errc() || kBps > kMaxGBps * 1'000'000) return std::nullopt;
  return kBps;
}

/// The number after a name's letters: 3 of "nvml3". -1: the name is another.
int number_of(std::string_view name, std::string_view letters) {
  if (!name.starts_with(letters)) return -1;
  name.remove_prefix(letters.size());
  int number = -1;
  const auto [end, problem] = std::from_chars(name.data(), name.data() + name.size(), number);
  return problem == std::errc() && end == name.data() + name.size() && number <= kMaxGpuDev ? number : -1;
}

bool leads_somewhere(const PciDevice& device) {
  return device.gpu || !device.ports.empty() || !device.below.empty();
}

}  // namespace

Status HwlocPci::read(pugi::xml_node element, int64_t package, std::vector<PciDevice>& devices) {
  // The bridge of a CPU to PCI has no address.
  if (is_hwloc_object(element, "Bridge") &&
      std::string_view(element.attribute("bridge_type").value()).starts_with("0-")) {
    for (const pugi::xml_node child : element.children("object")) RONDO_TRY(read(child, package, devices));
    return {};
  }
  if (is_hwloc_object(element, "Bridge") || is_hwloc_object(element, "PCIDev"))
    return read_device(element, package, devices);
  return {};
}

Status HwlocPci::read_device(pugi::xml_node element, int64_t package, std::vector<PciDevice>& devices) {
  PciDevice device;
  device.line = document_.line(element);
  RONDO_TRY_ASSIGN(XmlAttributes attributes, XmlAttributes::of(document_, element));
  RONDO_TRY(read_identity(attributes, element, device));
  RONDO_TRY(read_link(attributes, element, device));
  std::vector<OsDevice> os_devices;
  for (const pugi::xml_node child : element.children("object")) {
    if (is_hwloc_object(child, "OSDev")) {
      RONDO_TRY_ASSIGN(OsDevice os_device, read_os_device(child));
      os_devices.push_back(std::move(os_device));
    } else {
      RONDO_TRY(read(child, package, device.below));
    }
  }
  wake_link(device);
  add_gpu(os_devices, element, device);
  if (device.gpu) {
    RONDO_TRY(note(element, HwlocKind::Gpu, device.bus_id, package));
    for (const OsDevice& os_device : os_devices)
      RONDO_TRY(note(os_device.element, HwlocKind::Gpu, device.bus_id, package));
  } else {
    add_ports(os_devices, device);
  }
  // A switch in a fault state has no class.
  if (attributes.text("subtype") == "NVSwitch" ||
      (device.pci_class.starts_with("0x0680") && device.extra.front().second == kNvidiaVendor))
    RONDO_TRY(note(element, HwlocKind::NvSwitch, device.bus_id, package));
  if (!leads_somewhere(device)) return {};
  if (lines_.size() == kMaxDevices || numbers_.size() > kMaxGpusOfHost)
    return document_.error_at(element, "more than the {} GPUs or {} PCI devices that a host may have",
                              kMaxGpusOfHost, kMaxDevices);
  const auto [first, is_new] = lines_.emplace(device.bus_id, device.line);
  if (!is_new)
    return document_.error_at(element, "the bus id {} is also that of line {}", device.bus_id, first->second);
  devices.push_back(std::move(device));
  return {};
}

Status HwlocPci::read_identity(XmlAttributes& attributes, pugi::xml_node element, PciDevice& device) {
  const auto bus_id = normalized_bus_id(attributes.text("pci_busid"));
  if (!bus_id.ok()) return document_.error_at(element, "pci_busid: {}", bus_id.status().message());
  device.bus_id = bus_id.value();
  const std::vector<std::string> words = pci_type_words(attributes.text("pci_type"));
  if (words.empty())
    return document_.error_at(element,
                              "pci_type=\"{}\": expected class, vendor, device and revision as in \"0302 "
                              "[10de:1db8] [10de:131d] a1\"",
                              shown(attributes.text("pci_type")));
  device.pci_class = "0x" + words[0] + (words.size() > 6 ? words[6] : "00");
  device.extra = {{"vendor", "0x" + words[1]},
                  {"device", "0x" + words[2]},
                  {"subsystem_vendor", "0x" + words[3]},
                  {"subsystem_device", "0x" + words[4]}};
  return {};
}

Status HwlocPci::read_link(XmlAttributes& attributes, pugi::xml_node element, PciDevice& device) {
  const std::string text = attributes.text("pci_link_speed");
  const auto kBps = text.empty() ? 0 : kBps_of(text);
  if (!kBps)
    return document_.error_at(element, "pci_link_speed=\"{}\": expected GB/s as in \"15.753846\", up to {}",
                              shown(text), kMaxGBps);
  const auto link = pcie_link_of(*kBps);
  if (link) {
    device.link_speed = link->speed;
    device.link_width = link->lanes;
  } else if (*kBps > 0) {
    add_repair(machine_, device.line, "pci_link_speed=\"{}\" is that of no PCIe link: taken as unknown",
               shown(text));
  }
  return {};
}

/// A bridge and the GPU below it are the ends of one link, whose rate hwloc has from the bridge as it is, and
/// from the GPU as it is at most. An idle link is slower, not narrower.
void HwlocPci::wake_link(PciDevice& bridge) {
  if (bridge.below.size() != 1 || !bridge.below.front().gpu) return;
  const PciDevice& gpu = bridge.below.front();
  if (bridge.link_speed.empty() || gpu.link_speed.empty() ||
      *pcie_kBps(bridge.link_speed, 1) >= *pcie_kBps(gpu.link_speed, 1))
    return;
  add_repair(machine_, bridge.line,
             "the link of {} to the GPU {} is at {}: taken to be idle, and at {} in use", bridge.bus_id,
             gpu.bus_id, bridge.link_speed, gpu.link_speed);
  bridge.link_speed = gpu.link_speed;
}

Result<HwlocPci::OsDevice> HwlocPci::read_os_device(pugi::xml_node element) const {
  OsDevice result{.element = element, .name = {}, .line = document_.line(element)};
  RONDO_TRY_ASSIGN(XmlAttributes attributes, XmlAttributes::of(document_, element));
  result.name = attributes.text("name");
  if (result.name.empty())
    return document_.error_at(element,
                              "<object type=\"OSDev\"> has no name: expected name=\"nvml0\" or the like");
  RONDO_TRY_ASSIGN(const int64_t type, attributes.number("osdev_type", 0, kMaxGpIndex, -1));
  result.is_fabric = version_ == 2 ? type == kFabric2 : type >= 0 && (type & kFabric3) != 0;
  result.is_network = version_ == 2 ? type == kNetwork2 : type >= 0 && (type & kNetwork3) != 0;
  return result;
}

/// NVIDIA's display devices are GPUs; others if a library for computing on them counts them.
void HwlocPci::add_gpu(const std::vector<OsDevice>& os_devices, pugi::xml_node element, PciDevice& device) {
  if (!is_hwloc_object(element, "PCIDev")) return;
  GpuNumbers numbers;
  for (const OsDevice& os_device : os_devices)
    for (size_t i = 0; i != std::size(kCounters); ++i)
      if (const int number = number_of(os_device.name, kCounters[i]); number >= 0) numbers.by[i] = number;
  const bool is_nvidia = device.extra.front().second == kNvidiaVendor;
  if (numbers == GpuNumbers() && !(is_nvidia && device.pci_class.starts_with("0x03"))) return;
  device.gpu = GpuInfo{.line = device.line};
  numbers_[device.bus_id] = numbers;
  if (is_nvidia) guess_capability(device);
}

void HwlocPci::guess_capability(PciDevice& device) {
  const std::string& words = device.extra[1].second;
  int number = 0;
  std::from_chars(words.data() + 2, words.data() + words.size(), number, 16);
  const ComputeCapability capability = compute_capability_of(number);
  device.gpu->sm = capability.sm;
  if (!capability.is_known)
    add_repair(machine_, device.line,
               "the compute capability of NVIDIA's device {} is not known: taken to be {}.{}", words,
               capability.sm / 10, capability.sm % 10);
}

/// A verbs device and the network interfaces of its PCI device are the same ports.
void HwlocPci::add_ports(const std::vector<OsDevice>& os_devices, PciDevice& device) {
  const bool has_fabric = std::ranges::any_of(os_devices, &OsDevice::is_fabric);
  for (const OsDevice& os_device : os_devices) {
    if (os_device.is_fabric)
      add_fabric_ports(os_device, device);
    else if (os_device.is_network && !has_fabric)
      device.ports.push_back({.name = os_device.name, .line = os_device.line});
  }
  device.has_nic = !device.ports.empty();
  if (device.ports.empty() && device.pci_class.starts_with("0x02"))
    add_repair(machine_, device.line, "the network interface {} has no port in use: left out", device.bus_id);
}

void HwlocPci::add_fabric_ports(const OsDevice& os_device, PciDevice& device) {
  std::string guid(hwloc_info(os_device.element, "SysImageGUID"));
  std::erase(guid, ':');
  const bool has_guid = !guid.empty() && guid.size() <= 16 && is_hex(guid);
  const auto add = [&](int port) {
    NetPort& added = device.ports.emplace_back();
    added.name = port > 1 ? fmt::format("{}:{}", os_device.name, port) : os_device.name;
    added.line = os_device.line;
    added.extra = {{"port", std::to_string(port)}};
    if (has_guid) added.extra.emplace_back("guid", "0x" + guid);
  };
  if (hwloc_info(os_device.element, "Port1State").empty()) return add(1);
  for (int port = 1; port <= kMaxPorts; ++port) {
    const std::string_view state = hwloc_info(os_device.element, fmt::format("Port{}State", port));
    if (state.empty()) return;
    if (state == std::to_string(kPortActive))
      add(port);
    else
      add_repair(machine_, os_device.line, "port {} of {} is in state {}, which is not active: left out",
                 port, os_device.name, shown(state));
  }
}

Status HwlocPci::note(pugi::xml_node element, HwlocKind kind, const std::string& bus_id, int64_t package) {
  RONDO_TRY_ASSIGN(XmlAttributes attributes, XmlAttributes::of(document_, element));
  RONDO_TRY_ASSIGN(const int64_t gp_index, attributes.number("gp_index", 0, kMaxGpIndex, -1));
  if (gp_index >= 0) objects[gp_index] = {kind, bus_id, package};
  return {};
}

Status HwlocPci::number_gpus() {
  size_t counter = 0;
  const auto counts = [&](const auto& gpu) { return gpu.second.by[counter] >= 0; };
  while (counter + 1 < std::size(kCounters) && std::ranges::none_of(numbers_, counts)) ++counter;
  std::map<int, std::string> owners;
  for (const auto& [bus_id, numbers] : numbers_) {
    const int number = numbers.by[counter];
    if (number < 0) continue;
    const auto [other, is_new] = owners.emplace(number, bus_id);
    if (!is_new)
      return document_.error_at(document_.root(), "{}{} is both {} and {}: expected one GPU of each number",
                                kCounters[counter], number, other->second, bus_id);
  }
  int next = 0;
  visit_gpus(machine_, [&](PciDevice& device) {
    device.gpu->dev = numbers_.at(device.bus_id).by[counter];
    if (device.gpu->dev >= 0) return;
    while (owners.contains(next)) ++next;
    device.gpu->dev = next++;
    add_repair(machine_, device.line, "{} has no number of CUDA, NVML or ROCm: taken to be GPU {}",
               device.bus_id, device.gpu->dev);
  });
  return {};
}

}  // namespace rondo
