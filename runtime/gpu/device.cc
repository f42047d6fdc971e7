#include "gpu/device.h"

#include <cstring>
#include <mutex>
#include <vector>

#include "driver.h"

namespace rondo::gpu {
namespace {

/// The primary context of a device, which the process keeps from its first use on.
Result<CUcontext> context_of(int device) {
  RONDO_TRY_ASSIGN(const Driver* cuda, driver());
  static auto& mutex = *new std::mutex;
  static auto& contexts = *new std::vector<CUcontext>;
  const std::lock_guard lock(mutex);
  const auto index = static_cast<size_t>(device);
  if (contexts.size() <= index) contexts.resize(index + 1);
  if (contexts[index] == nullptr)
    RONDO_TRY(outcome(cuda->cuDevicePrimaryCtxRetain(&contexts[index], device), "taking a GPU into use"));
  return contexts[index];
}

}  // namespace

Result<int> device_count() {
  RONDO_TRY_ASSIGN(const Driver* cuda, driver());
  int count = 0;
  RONDO_TRY(outcome(cuda->cuDeviceGetCount(&count), "counting GPUs"));
  if (count == 0) return error(Code::Unsupported, "CUDA shows this process no GPU");
  return count;
}

Result<int> driver_version() {
  RONDO_TRY_ASSIGN(const Driver* cuda, driver());
  int version = 0;
  RONDO_TRY(outcome(cuda->cuDriverGetVersion(&version), "asking for the driver's version"));
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
  constexpr const char* kWhat = "asking about a GPU";
  RONDO_TRY(outcome(cuda->cuDeviceGetName(name, sizeof name, device), kWhat));
  RONDO_TRY(outcome(cuda->cuDeviceGetUuid(&uuid, device), kWhat));
  RONDO_TRY(outcome(
      cuda->cuDeviceGetAttribute(&info.processors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device), kWhat));
  info.name = name;
  static_assert(sizeof uuid == sizeof info.uuid);
  std::memcpy(info.uuid.data(), &uuid, sizeof uuid);
  return info;
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
  return outcome(result, "reaching another GPU's memory");
}

Current::Current(int device) {
  auto context = context_of(device);
  status_ = context.status();
  if (status_.ok())
    status_ = outcome(driver().value()->cuCtxPushCurrent(context.value()), "making a GPU's context current");
}

Current::~Current() {
  CUcontext context = nullptr;
  if (status_.ok()) driver().value()->cuCtxPopCurrent(&context);
}

}  // namespace rondo::gpu
