// SPDX-License-Identifier: Apache-2.0
#include "gpu/device.h"

#include <array>
#include <cstring>
#include <mutex>
#include <utility>
#include <vector>

#include "base/error_kinds.h"
#include "driver.h"

namespace rondo::gpu {
namespace {

/// A primary context and its id, which is unique and changes with a reset.
struct Taken {
  CUcontext context = nullptr;
  unsigned long long id = 0;
};

/// After a reset, everything that Rondo had on the device is gone, or its handles may have new owners.
Result<CUcontext> unless_reset(const Driver& cuda, const Taken& taken, int device) {
  unsigned long long id = 0;
  const CUresult result = cuda.cuCtxGetId(taken.context, &id);
  const bool gone = result == CUDA_ERROR_CONTEXT_IS_DESTROYED || result == CUDA_ERROR_INVALID_CONTEXT;
  if (!gone) RONDO_TRY(outcome(result, fmt::format("using GPU {}", device).c_str()));
  if (!gone && id == taken.id) return taken.context;
  return error(ErrorKind::GpuWasReset,
               "GPU {} was reset (cudaDeviceReset(), cuDevicePrimaryCtxReset()) while Rondo used it: its "
               "process cannot use it with Rondo any more",
               device);
}

/// The primary context of a device, which the process retains from its first use on.
Result<CUcontext> context_of(int device) {
  RONDO_TRY_ASSIGN(const Driver* cuda, driver());
  static auto& mutex = *new std::mutex;
  static auto& contexts = *new std::vector<Taken>;
  const std::lock_guard lock(mutex);
  const auto index = static_cast<size_t>(device);
  if (contexts.size() <= index) contexts.resize(index + 1);
  Taken& taken = contexts[index];
  if (taken.context != nullptr) return unless_reset(*cuda, taken, device);
  const std::string what = fmt::format("initializing GPU {}", device);
  Taken made;
  RONDO_TRY(outcome(cuda->cuDevicePrimaryCtxRetain(&made.context, device), what.c_str()));
  RONDO_TRY(outcome(cuda->cuCtxGetId(made.context, &made.id), what.c_str()));
  taken = made;
  return taken.context;
}

int& device_of_thread() {
  thread_local int device = -1;
  return device;
}

}  // namespace

Result<int> device_count() {
  RONDO_TRY_ASSIGN(const Driver* cuda, driver());
  int count = 0;
  RONDO_TRY(outcome(cuda->cuDeviceGetCount(&count), "counting GPUs"));
  if (count == 0) return error(ErrorKind::NoCudaDriver, "CUDA reports no GPU to this process");
  return count;
}

Result<int> driver_version() {
  RONDO_TRY_ASSIGN(const Driver* cuda, driver());
  int version = 0;
  RONDO_TRY(outcome(cuda->cuDriverGetVersion(&version), "querying the driver's version"));
  return version;
}

std::optional<int> current_device() {
  if (!in_use() || !driver().ok()) return std::nullopt;
  const Driver& cuda = *driver().value();
  CUcontext context = nullptr;
  CUdevice device = 0;
  if (cuda.cuCtxGetCurrent(&context) != CUDA_SUCCESS || context == nullptr) return std::nullopt;
  if (cuda.cuCtxGetDevice(&device) != CUDA_SUCCESS) return std::nullopt;
  return device;
}

Result<DeviceInfo> device_info(int device) {
  RONDO_TRY_ASSIGN(const Driver* cuda, driver());
  DeviceInfo info;
  char name[256] = "";
  CUuuid uuid;
  constexpr const char* kWhat = "querying a GPU";
  RONDO_TRY(outcome(cuda->cuDeviceGetName(name, sizeof name, device), kWhat));
  RONDO_TRY(outcome(cuda->cuDeviceGetUuid(&uuid, device), kWhat));
  RONDO_TRY(outcome(
      cuda->cuDeviceGetAttribute(&info.processors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device), kWhat));
  info.name = name;
  static_assert(sizeof uuid == sizeof info.uuid);
  std::memcpy(info.uuid.data(), &uuid, sizeof uuid);
  return info;
}

Result<std::string> bus_id(int device) {
  RONDO_TRY_ASSIGN(const Driver* cuda, driver());
  std::array<int, 3> numbers{};  // domain, bus, device
  constexpr std::array kAttributes{CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID, CU_DEVICE_ATTRIBUTE_PCI_BUS_ID,
                                   CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID};
  for (size_t i = 0; i < numbers.size(); ++i)
    RONDO_TRY(outcome(cuda->cuDeviceGetAttribute(&numbers[i], kAttributes[i], device), "querying a GPU"));
  return fmt::format("{:04x}:{:02x}:{:02x}.0", numbers[0], numbers[1], numbers[2]);
}

bool can_reach(int device, int peer) {
  if (device == peer) return true;
  int can = 0;
  return driver().ok() && driver().value()->cuDeviceCanAccessPeer(&can, device, peer) == CUDA_SUCCESS &&
         can != 0;
}

bool linked(int device, int peer) {
  if (device == peer) return true;
  int native = 0;
  return driver().ok() &&
         driver().value()->cuDeviceGetP2PAttribute(&native, CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED,
                                                   device, peer) == CUDA_SUCCESS &&
         native != 0;
}

Status reach(int device, int peer) {
  if (device == peer) return {};
  RONDO_TRY_ASSIGN(const CUcontext context, context_of(peer));
  const Current current(device);
  RONDO_TRY(current.status());
  const CUresult result = driver().value()->cuCtxEnablePeerAccess(context, 0);
  if (result == CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED) return {};
  return outcome(result, "enabling access to another GPU's memory");
}

Current::Current(int device) : before_(std::exchange(device_of_thread(), device)) {
  auto context = context_of(device);
  status_ = context.status();
  if (status_.ok())
    status_ = outcome(driver().value()->cuCtxPushCurrent(context.value()), "making a context current");
}

Current::~Current() {
  CUcontext context = nullptr;
  if (status_.ok()) driver().value()->cuCtxPopCurrent(&context);
  device_of_thread() = before_;
}

std::optional<int> Current::device() {
  const int device = device_of_thread();
  return device < 0 ? std::nullopt : std::optional(device);
}

}  // namespace rondo::gpu
