#include "gpu/launch.h"

#include "driver.h"
#include "gpu/device.h"

namespace rondo::gpu {
namespace {

CUresult load(const void* code, CUlibrary& library) {
  return driver().value()->cuLibraryLoadData(&library, code, nullptr, nullptr, 0, nullptr, nullptr, 0);
}

/// Brings the kernel onto the current device.
CUresult look_up(CUlibrary library, const char* name, CUfunction& function) {
  const Driver& cuda = *driver().value();
  CUkernel kernel = nullptr;
  const CUresult result = cuda.cuLibraryGetKernel(&kernel, library, name);
  return result == CUDA_SUCCESS ? cuda.cuKernelGetFunction(&function, kernel) : result;
}

/// Compiles the parts for the current device.
class Linker {
 public:
  ~Linker() {
    if (state_ != nullptr) driver().value()->cuLinkDestroy(state_);
  }
  Result<CUlibrary> link(std::span<const Image::Code> parts) {
    const Driver& cuda = *driver().value();
    constexpr const char* kWhat = "compiling the kernels for this GPU";
    RONDO_TRY(outcome(cuda.cuLinkCreate(0, nullptr, nullptr, &state_), kWhat));
    for (const Image::Code part : parts)
      RONDO_TRY(
          outcome(cuda.cuLinkAddData(state_, CU_JIT_INPUT_FATBINARY, const_cast<std::byte*>(part.data()),
                                     part.size(), "rondo", 0, nullptr, nullptr),
                  kWhat));
    void* code = nullptr;
    size_t bytes = 0;
    RONDO_TRY(outcome(cuda.cuLinkComplete(state_, &code, &bytes), kWhat));
    CUlibrary library = nullptr;
    RONDO_TRY(outcome(load(code, library), kWhat));
    return library;
  }

 private:
  CUlinkState state_ = nullptr;
};

}  // namespace

Result<Kernel> Image::find(const char* name, int device) {
  RONDO_TRY(driver().status());
  const Current current(device);
  RONDO_TRY(current.status());
  const std::lock_guard lock(mutex_);
  CUlibrary& library = libraries_[device];
  Kernel found{.device = device};
  CUresult result = library != nullptr ? CUDA_SUCCESS : load(linked_.data(), library);
  if (result == CUDA_SUCCESS) result = look_up(library, name, found.function);
  if (result == CUDA_ERROR_NO_BINARY_FOR_GPU) {
    RONDO_TRY_ASSIGN(library, Linker().link(parts_));
    result = look_up(library, name, found.function);
  }
  RONDO_TRY(outcome(result, fmt::format("loading the kernel {}", name).c_str()));
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
