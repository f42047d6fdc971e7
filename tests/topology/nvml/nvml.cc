// SPDX-License-Identifier: Apache-2.0
// The stand-in for NVIDIA's management library: serves the GPUs of the topology file that
// RONDO_STANDIN_TOPOLOGY names, in the order of their bus ids, as NVML does. RONDO_STANDIN_NVML_FAULT is what
// goes wrong: "driver" (not loaded), "lost" (GPU 0 has fallen off the bus), "mig" (GPU 0 is divided in two),
// "p2p" (refused between all GPUs), "old" (what is at the other ends of NVLinks is not known).
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>

#include "formats/nccl_xml.h"

namespace {

using namespace rondo;

constexpr int kSuccess = 0, kUninitialized = 1, kInvalidArgument = 2, kNotSupported = 3, kNotFound = 6,
              kDriverNotLoaded = 9, kGpuIsLost = 15;
constexpr int kP2pOk = 0, kP2pNotSupported = 5;
constexpr int kNvLinkIndex = 2;  // of what P2P may use
constexpr unsigned kGpuFault = 0;

struct Link {
  std::string bus_id;
  int type = 0;  // GPU 0, NPU 1, switch 2
  bool is_up = true;
  bool carries = true;  // what GPUs exchange
};

}  // namespace

struct nvmlDevice {
  std::string bus_id, uuid;
  int sm = 0;
  std::vector<Link> links;
  std::vector<std::unique_ptr<nvmlDevice>> instances;
};

namespace {

struct PciInfo {
  char legacy_bus_id[16];
  unsigned domain, bus, device, pci_device, pci_subsystem;
  char bus_id[32];
};

struct Host {
  std::vector<nvmlDevice> gpus;
  bool has_p2p = true;
  std::string fault;
};

std::unique_ptr<Host>& host() {
  static auto& only = *new std::unique_ptr<Host>;
  return only;
}

/// "0000:06:00.0" as NVML prints it: "00000000:06:00.0".
std::string long_bus_id(const std::string& bus_id) {
  if (bus_id.starts_with("fffffff:")) return "FFFFFFFF:FF:FF.0";
  std::string result = std::string(16 - std::min<size_t>(bus_id.size(), 16), '0') + bus_id;
  std::ranges::transform(result, result.begin(),
                         [](char c) { return c >= 'a' && c <= 'f' ? c - 'a' + 'A' : c; });
  return result;
}

/// And one link that is down, and one that carries nothing, which hosts have too.
std::vector<Link> links_of(const GpuInfo& gpu) {
  std::vector<Link> links;
  for (const FabricLinks& parallel : gpu.links) {
    const int type = parallel.target == FabricTarget::Gpu ? 0 : parallel.target == FabricTarget::Cpu ? 1 : 2;
    links.insert(links.end(), static_cast<size_t>(parallel.count), Link{parallel.target_bus_id, type});
  }
  if (links.empty()) return links;
  links.push_back({.bus_id = links.front().bus_id, .type = links.front().type, .is_up = false});
  links.push_back({.bus_id = links.front().bus_id, .type = links.front().type, .carries = false});
  return links;
}

void collect(const std::vector<PciDevice>& devices, std::map<std::string, nvmlDevice>& gpus) {
  for (const PciDevice& device : devices) {
    collect(device.below, gpus);
    if (!device.gpu) continue;
    nvmlDevice& gpu = gpus[device.bus_id];
    gpu.bus_id = device.bus_id;
    gpu.sm = device.gpu->sm;
    gpu.links = links_of(*device.gpu);
  }
}

bool has_links_to(const nvmlDevice& from, const nvmlDevice& to) {
  const auto is_switch = [](const Link& link) { return link.type == 2; };
  if (std::ranges::find(from.links, to.bus_id, &Link::bus_id) != from.links.end()) return true;
  return std::ranges::any_of(from.links, is_switch) && std::ranges::any_of(to.links, is_switch);
}

int fill(PciInfo* pci, const std::string& bus_id) {
  std::memset(pci, 0, sizeof(*pci));
  const std::string text = long_bus_id(bus_id);
  std::memcpy(pci->bus_id, text.data(), std::min(text.size(), sizeof(pci->bus_id) - 1));
  return kSuccess;
}

const Link* link_of(const nvmlDevice* device, unsigned link) {
  return link < device->links.size() ? &device->links[link] : nullptr;
}

void divide(nvmlDevice& gpu) {
  for (const char* const uuid :
       {"MIG-10000000-0000-0000-0000-000000000000", "MIG-20000000-0000-0000-0000-000000000000"}) {
    gpu.instances.push_back(std::make_unique<nvmlDevice>());
    gpu.instances.back()->uuid = uuid;
  }
}

}  // namespace

#define EXPORTED extern "C" __attribute__((visibility("default")))

EXPORTED int nvmlInit_v2() {
  const char* const path = std::getenv("RONDO_STANDIN_TOPOLOGY");
  const char* const fault = std::getenv("RONDO_STANDIN_NVML_FAULT");
  auto made = std::make_unique<Host>();
  if (fault != nullptr) made->fault = fault;
  if (path == nullptr || made->fault == "driver") return kDriverNotLoaded;
  const auto machine = machine_from_nccl_xml_file(path);
  if (!machine.ok()) return kDriverNotLoaded;
  std::map<std::string, nvmlDevice> gpus;
  for (const NumaNode& numa : machine.value().numa) collect(numa.devices, gpus);
  for (auto& [bus_id, gpu] : gpus) {
    gpu.uuid = fmt::format("GPU-{:08x}-0000-0000-0000-000000000000", made->gpus.size() + 1);
    made->gpus.push_back(std::move(gpu));
  }
  made->has_p2p = machine.value().p2p_below_switches.value_or(true) && made->fault != "p2p";
  if (made->fault == "mig" && !made->gpus.empty()) divide(made->gpus.front());
  host() = std::move(made);
  return kSuccess;
}

EXPORTED int nvmlShutdown() {
  if (host() == nullptr) return kUninitialized;
  host() = nullptr;
  return kSuccess;
}

EXPORTED int nvmlDeviceGetCount_v2(unsigned* count) {
  if (host() == nullptr) return kUninitialized;
  *count = static_cast<unsigned>(host()->gpus.size());
  return kSuccess;
}

EXPORTED int nvmlDeviceGetHandleByIndex_v2(unsigned index, nvmlDevice** device) {
  if (host() == nullptr) return kUninitialized;
  if (index >= host()->gpus.size()) return kInvalidArgument;
  if (index == kGpuFault && host()->fault == "lost") return kGpuIsLost;
  *device = &host()->gpus[index];
  return kSuccess;
}

EXPORTED int nvmlDeviceGetPciInfo_v3(nvmlDevice* device, PciInfo* pci) { return fill(pci, device->bus_id); }

EXPORTED int nvmlDeviceGetUUID(nvmlDevice* device, char* uuid, unsigned length) {
  if (device->uuid.size() >= length) return kInvalidArgument;
  std::memcpy(uuid, device->uuid.c_str(), device->uuid.size() + 1);
  return kSuccess;
}

EXPORTED int nvmlDeviceGetCudaComputeCapability(nvmlDevice* device, int* major, int* minor) {
  *major = device->sm / 10;
  *minor = device->sm % 10;
  return kSuccess;
}

EXPORTED int nvmlDeviceGetNvLinkState(nvmlDevice* device, unsigned link, int* is_up) {
  if (device->links.empty()) return kNotSupported;
  const Link* const found = link_of(device, link);
  if (found == nullptr) return kInvalidArgument;
  *is_up = found->is_up ? 1 : 0;
  return kSuccess;
}

EXPORTED int nvmlDeviceGetNvLinkCapability(nvmlDevice* device, unsigned link, unsigned capability,
                                           unsigned* result) {
  const Link* const found = link_of(device, link);
  if (device->links.empty()) return kNotSupported;
  if (found == nullptr || capability > 5) return kInvalidArgument;
  *result = found->carries ? 1 : 0;
  return kSuccess;
}

EXPORTED int nvmlDeviceGetNvLinkRemotePciInfo_v2(nvmlDevice* device, unsigned link, PciInfo* pci) {
  const Link* const found = link_of(device, link);
  return found == nullptr ? kInvalidArgument : fill(pci, found->bus_id);
}

EXPORTED int nvmlDeviceGetNvLinkRemoteDeviceType(nvmlDevice* device, unsigned link, int* type) {
  if (host()->fault == "old") return kNotSupported;
  const Link* const found = link_of(device, link);
  if (found == nullptr) return kInvalidArgument;
  *type = found->type;
  return kSuccess;
}

EXPORTED int nvmlDeviceGetP2PStatus(nvmlDevice* from, nvmlDevice* to, int what, int* status) {
  if (from == to) return kInvalidArgument;
  const bool has_links = has_links_to(*from, *to) && host()->fault != "p2p";
  const bool may = what == kNvLinkIndex ? has_links : has_links || host()->has_p2p;
  *status = may ? kP2pOk : kP2pNotSupported;
  return kSuccess;
}

EXPORTED int nvmlDeviceGetMigMode(nvmlDevice* device, unsigned* now, unsigned* pending) {
  if (device->sm != 80 && device->sm < 90) return kNotSupported;
  *now = *pending = device->instances.empty() ? 0 : 1;
  return kSuccess;
}

EXPORTED int nvmlDeviceGetMaxMigDeviceCount(nvmlDevice*, unsigned* count) {
  *count = 7;
  return kSuccess;
}

EXPORTED int nvmlDeviceGetMigDeviceHandleByIndex(nvmlDevice* device, unsigned index, nvmlDevice** instance) {
  if (index >= device->instances.size()) return kNotFound;
  *instance = device->instances[index].get();
  return kSuccess;
}

EXPORTED const char* nvmlErrorString(int result) {
  switch (result) {
    case kSuccess: return "Success";
    case kDriverNotLoaded: return "Driver Not Loaded";
    case kGpuIsLost: return "GPU is lost";
    default: return "Unknown Error";
  }
}
