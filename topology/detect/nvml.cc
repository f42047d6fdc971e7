// SPDX-License-Identifier: Apache-2.0
// Functions, numbers and layouts are those of NVIDIA's NVML API reference. They do not change: a function
// that does gets another suffix.
#include "nvml.h"

#include <dlfcn.h>

#include <algorithm>

namespace rondo {
namespace {

struct nvmlDevice;
using NvmlDevice = nvmlDevice*;
using NvmlReturn = int;

constexpr NvmlReturn kSuccess = 0, kInvalidArgument = 2, kFunctionNotFound = 13;
constexpr unsigned kMaxNvLinks = 64;                              // of a GPU; today's have 18
constexpr unsigned kMaxNvmlGpus = 1024;                           // more than any host has
constexpr unsigned kUuidBytes = 96;                               // NVML_DEVICE_UUID_V2_BUFFER_SIZE
constexpr unsigned kCarriesPeerBytes = 0;                         // NVML_NVLINK_CAP_P2P_SUPPORTED
constexpr int kPeerReads = 0, kPeerWrites = 1, kPeerNvLinks = 2;  // nvmlGpuP2PCapsIndex_t
constexpr int kP2pOk = 0, kP2pUnknown = 6;                        // nvmlGpuP2PStatus_t
constexpr int kRemoteGpu = 0, kRemoteNpu = 1, kRemoteSwitch = 2;  // nvmlIntNvLinkDeviceType_t

struct NvmlPciInfo {  // nvmlPciInfo_t
  char legacy_bus_id[16];
  unsigned domain, bus, device, pci_device, pci_subsystem;
  char bus_id[32];
};
static_assert(sizeof(NvmlPciInfo) == 68);

// X(function, parameters)
#define RONDO_NVML_FUNCTIONS(X)                             \
  X(nvmlInit_v2, (void))                                    \
  X(nvmlShutdown, (void))                                   \
  X(nvmlDeviceGetCount_v2, (unsigned*))                     \
  X(nvmlDeviceGetHandleByIndex_v2, (unsigned, NvmlDevice*)) \
  X(nvmlDeviceGetPciInfo_v3, (NvmlDevice, NvmlPciInfo*))    \
  X(nvmlDeviceGetUUID, (NvmlDevice, char*, unsigned))       \
  X(nvmlDeviceGetCudaComputeCapability, (NvmlDevice, int*, int*))
// What older drivers lack
#define RONDO_OPTIONAL_NVML_FUNCTIONS(X)                                        \
  X(nvmlDeviceGetNvLinkState, (NvmlDevice, unsigned, int*))                     \
  X(nvmlDeviceGetNvLinkCapability, (NvmlDevice, unsigned, unsigned, unsigned*)) \
  X(nvmlDeviceGetNvLinkRemotePciInfo_v2, (NvmlDevice, unsigned, NvmlPciInfo*))  \
  X(nvmlDeviceGetNvLinkRemoteDeviceType, (NvmlDevice, unsigned, int*))          \
  X(nvmlDeviceGetP2PStatus, (NvmlDevice, NvmlDevice, int, int*))                \
  X(nvmlDeviceGetMigMode, (NvmlDevice, unsigned*, unsigned*))                   \
  X(nvmlDeviceGetMaxMigDeviceCount, (NvmlDevice, unsigned*))                    \
  X(nvmlDeviceGetMigDeviceHandleByIndex, (NvmlDevice, unsigned, NvmlDevice*))

struct NvmlLibrary {
#define X(function, parameters) NvmlReturn(*function) parameters = nullptr;
  RONDO_NVML_FUNCTIONS(X)
  RONDO_OPTIONAL_NVML_FUNCTIONS(X)
#undef X
  const char* (*nvmlErrorString)(NvmlReturn) = nullptr;
};

template <typename... Arguments>
NvmlReturn not_there(Arguments...) {
  return kFunctionNotFound;
}

template <typename Function>
bool find_symbol(void* library, const char* name, Function*& function) {
  function = reinterpret_cast<Function*>(::dlsym(library, name));
  return function != nullptr;
}

template <typename... Arguments>
void find_optional(void* library, const char* name, NvmlReturn (*&function)(Arguments...)) {
  if (!find_symbol(library, name, function)) function = not_there<Arguments...>;
}

Result<NvmlLibrary> open_library(const std::string& name) {
  void* const opened = ::dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);  // stays loaded
  if (opened == nullptr) {
    const char* const why = ::dlerror();
    return error(Code::Unsupported, "{}", why != nullptr ? why : name);
  }
  NvmlLibrary library;
#define X(function, parameters)                          \
  if (!find_symbol(opened, #function, library.function)) \
    return error(Code::Unsupported, "{} has no {}: the driver is too old", name, #function);
  RONDO_NVML_FUNCTIONS(X)
  X(nvmlErrorString, )
#undef X
#define X(function, parameters) find_optional(opened, #function, library.function);
  RONDO_OPTIONAL_NVML_FUNCTIONS(X)
#undef X
  return library;
}

class NvmlReader {
 public:
  NvmlReader(const NvmlLibrary& library, const std::string& name) : nvml_(library), name_(name) {}
  NvmlReader(const NvmlReader&) = delete;
  NvmlReader& operator=(const NvmlReader&) = delete;
  ~NvmlReader() {
    if (is_ready_) nvml_.nvmlShutdown();
  }

  Result<NvmlHost> read() {
    RONDO_TRY(check(nvml_.nvmlInit_v2(), "nvmlInit_v2"));
    is_ready_ = true;
    unsigned count = 0;
    RONDO_TRY(check(nvml_.nvmlDeviceGetCount_v2(&count), "nvmlDeviceGetCount_v2"));
    if (count > kMaxNvmlGpus)
      return error(Code::SystemError, "{}: {} GPUs, more than the {} that a host may have", name_, count,
                   kMaxNvmlGpus);
    for (unsigned i = 0; i != count; ++i)
      if (const Status status = read_gpu(i); !status.ok())
        repair(fmt::format("GPU {} of {}: {}: left out", i, count, status.message()));
    for (size_t i = 0; i != devices_.size(); ++i) read_links(devices_[i], host_.gpus[i]);
    for (const NvmlDevice from : devices_) {
      std::vector<NvmlPeer>& peers = host_.peers.emplace_back();
      for (const NvmlDevice to : devices_) peers.push_back(from == to ? NvmlPeer() : read_peer(from, to));
    }
    return std::move(host_);
  }

 private:
  Status check(NvmlReturn result, const char* function) const {
    if (result == kSuccess) return {};
    const char* const words = nvml_.nvmlErrorString(result);
    return error(Code::SystemError, "{}: {}: {}", name_, function,
                 words != nullptr ? words : fmt::format("error {}", result));
  }

  void repair(std::string sentence) { host_.repairs.push_back(std::move(sentence)); }

  Status read_gpu(unsigned index) {
    NvmlDevice device = nullptr;
    RONDO_TRY(check(nvml_.nvmlDeviceGetHandleByIndex_v2(index, &device), "nvmlDeviceGetHandleByIndex_v2"));
    NvmlGpu gpu;
    NvmlPciInfo pci = {};
    RONDO_TRY(check(nvml_.nvmlDeviceGetPciInfo_v3(device, &pci), "nvmlDeviceGetPciInfo_v3"));
    RONDO_TRY_ASSIGN(gpu.bus_id, bus_id_of(pci));
    RONDO_TRY_ASSIGN(gpu.uuid, uuid_of(device));
    int major = 0, minor = 0;
    const Status known = check(nvml_.nvmlDeviceGetCudaComputeCapability(device, &major, &minor),
                               "nvmlDeviceGetCudaComputeCapability");
    if (known.ok())
      gpu.sm = major * 10 + minor;
    else
      repair(fmt::format("{}: its compute capability is not known", known.message()));
    read_instances(device, gpu);
    devices_.push_back(device);
    host_.gpus.push_back(std::move(gpu));
    return {};
  }

  static Result<std::string> bus_id_of(const NvmlPciInfo& pci) {
    const auto end = std::ranges::find(pci.bus_id, '\0');
    return normalized_bus_id({pci.bus_id, static_cast<size_t>(end - pci.bus_id)});
  }

  Result<std::string> uuid_of(NvmlDevice device) const {
    char uuid[kUuidBytes] = {};
    RONDO_TRY(check(nvml_.nvmlDeviceGetUUID(device, uuid, sizeof(uuid)), "nvmlDeviceGetUUID"));
    uuid[sizeof(uuid) - 1] = '\0';
    return std::string(uuid);
  }

  void read_instances(NvmlDevice device, NvmlGpu& gpu) const {
    unsigned now = 0, pending = 0, count = 0;
    gpu.mig_enabled = nvml_.nvmlDeviceGetMigMode(device, &now, &pending) == kSuccess && now == 1;
    if (!gpu.mig_enabled || nvml_.nvmlDeviceGetMaxMigDeviceCount(device, &count) != kSuccess) return;
    for (unsigned i = 0; i < std::min(count, kMaxNvmlGpus); ++i) {
      NvmlDevice instance = nullptr;
      if (nvml_.nvmlDeviceGetMigDeviceHandleByIndex(device, i, &instance) != kSuccess) continue;
      if (auto uuid = uuid_of(instance); uuid.ok()) gpu.instances.push_back(uuid.take());
    }
  }

  /// In this order: drivers train idle links when asked what they carry.
  void read_links(NvmlDevice device, NvmlGpu& gpu) {
    for (unsigned link = 0; link != kMaxNvLinks; ++link) {
      unsigned carries = 0;
      int is_up = 0;
      const NvmlReturn result =
          nvml_.nvmlDeviceGetNvLinkCapability(device, link, kCarriesPeerBytes, &carries);
      if (result == kInvalidArgument || result == kFunctionNotFound) return;
      if (result != kSuccess || carries == 0) continue;
      if (nvml_.nvmlDeviceGetNvLinkState(device, link, &is_up) == kSuccess && is_up == 1)
        read_remote(device, link, gpu);
    }
  }

  /// Drivers that do not tell what is at the other end tell its address.
  void read_remote(NvmlDevice device, unsigned link, NvmlGpu& gpu) {
    int type = -1;
    if (nvml_.nvmlDeviceGetNvLinkRemoteDeviceType(device, link, &type) != kSuccess) type = -1;
    NvmlPciInfo pci = {};
    const Status known = check(nvml_.nvmlDeviceGetNvLinkRemotePciInfo_v2(device, link, &pci),
                               "nvmlDeviceGetNvLinkRemotePciInfo_v2");
    const Result<std::string> bus_id = known.ok() ? bus_id_of(pci) : Result<std::string>(known);
    if (!bus_id.ok() && type != kRemoteSwitch)
      return repair(
          fmt::format("NVLink {} of {}: {}: left out", link, gpu.bus_id, bus_id.status().message()));
    NvmlLink& added = gpu.links.emplace_back();
    added.bus_id =
        bus_id.ok() && !bus_id.value().starts_with("ffffffff:") ? bus_id.value() : kHiddenSwitchBusId;
    const bool is_gpu = std::ranges::find(host_.gpus, added.bus_id, &NvmlGpu::bus_id) != host_.gpus.end();
    if (type == kRemoteNpu)
      added.target = FabricTarget::Cpu;
    else if (type == kRemoteGpu || (type != kRemoteSwitch && is_gpu))
      added.target = FabricTarget::Gpu;
    else
      added.target = FabricTarget::NvSwitch;
  }

  /// If NVML does not know, they may.
  bool may(NvmlDevice from, NvmlDevice to, int what) const {
    int status = kP2pUnknown;
    return nvml_.nvmlDeviceGetP2PStatus(from, to, what, &status) != kSuccess || status == kP2pOk ||
           status == kP2pUnknown;
  }

  NvmlPeer read_peer(NvmlDevice from, NvmlDevice to) const {
    return {may(from, to, kPeerReads) && may(from, to, kPeerWrites), may(from, to, kPeerNvLinks)};
  }

  const NvmlLibrary& nvml_;
  const std::string& name_;
  bool is_ready_ = false;
  NvmlHost host_;
  std::vector<NvmlDevice> devices_;  // of host_.gpus
};

}  // namespace

Result<NvmlHost> read_nvml(const std::string& library) {
  RONDO_TRY_ASSIGN(const NvmlLibrary functions, open_library(library));
  return NvmlReader(functions, library).read();
}

}  // namespace rondo
