#include "gpu/launch.h"

#include "driver.h"
#include "gpu/device.h"

namespace rondo::gpu {

Result<Image> Image::load(std::span<const std::byte> code) {
  RONDO_TRY_ASSIGN(const Driver* cuda, driver());
  Image image;
  RONDO_TRY(
      outcome(cuda->cuLibraryLoadData(&image.library_, code.data(), nullptr, nullptr, 0, nullptr, nullptr, 0),
              "loading the kernels"));
  return image;
}

Result<Kernel> Image::find(const char* name, int device) const {
  const Driver& cuda = *driver().value();
  const Current current(device);
  RONDO_TRY(current.status());
  CUkernel kernel = nullptr;
  if (cuda.cuLibraryGetKernel(&kernel, library_, name) != CUDA_SUCCESS)
    return error(Code::InternalError, "there is no kernel {}", name);
  Kernel found{.device = device};
  RONDO_TRY(outcome(cuda.cuKernelGetFunction(&found.function, kernel), "bringing a kernel onto a GPU"));
  return found;
}

Result<uint32_t> resident_blocks(const Kernel& kernel, uint32_t threads) {
  const Current current(kernel.device);
  RONDO_TRY(current.status());
  int each = 0;
  RONDO_TRY(outcome(driver().value()->cuOccupancyMaxActiveBlocksPerMultiprocessor(
                        &each, kernel.function, static_cast<int>(threads), 0),
                    "asking how many blocks a GPU runs at once"));
  RONDO_TRY_ASSIGN(const DeviceInfo info, device_info(kernel.device));
  return static_cast<uint32_t>(each * info.processors);
}

Status launch(const Kernel& kernel, const Grid& grid, Stream stream, const void* argument) {
  CUlaunchAttribute cooperative{};
  cooperative.id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE;
  cooperative.value.cooperative = 1;
  CUlaunchConfig config{};
  config.gridDimX = grid.blocks;
  config.gridDimY = config.gridDimZ = 1;
  config.blockDimX = grid.threads;
  config.blockDimY = config.blockDimZ = 1;
  config.hStream = stream;
  config.attrs = &cooperative;
  config.numAttrs = grid.cooperative ? 1 : 0;
  void* arguments[] = {const_cast<void*>(argument)};  // read only
  return outcome(driver().value()->cuLaunchKernelEx(&config, kernel.function, arguments, nullptr),
                 "launching a kernel");
}

}  // namespace rondo::gpu
