// SPDX-License-Identifier: Apache-2.0
#include "gpu/launch.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstring>
#include <string>

#include "driver.h"
#include "gpu/device.h"

namespace rondo::gpu {
namespace {

CUresult load(const void* code, CUlibrary& library) {
  return driver().value()->cuLibraryLoadData(&library, code, nullptr, nullptr, 0, nullptr, nullptr, 0);
}

/// Loads the kernel onto the current device.
CUresult look_up(CUlibrary library, const char* name, CUfunction& function) {
  const Driver& cuda = *driver().value();
  CUkernel kernel = nullptr;
  const CUresult result = cuda.cuLibraryGetKernel(&kernel, library, name);
  return result == CUDA_SUCCESS ? cuda.cuKernelGetFunction(&function, kernel) : result;
}

/// The compiler's log in one line; its beginning is what matters.
std::string in_a_line(std::string log) {
  log.resize(std::strlen(log.c_str()));
  while (!log.empty() && std::isspace(static_cast<unsigned char>(log.back()))) log.pop_back();
  std::replace(log.begin(), log.end(), '\n', ' ');
  return log;
}

/// Compiles the parts for the current device.
class Linker {
 public:
  explicit Linker(uint32_t max_registers) {
    // The kernels' PTX specifies the threads per block, which limits their registers. The functions they call
    // are compiled without that limit, and could then need more registers than a kernel can have.
    set(0, CU_JIT_MAX_REGISTERS, max_registers);
    set(1, CU_JIT_ERROR_LOG_BUFFER, reinterpret_cast<uintptr_t>(log_.data()));
    set(2, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES, log_.size());
  }
  Linker(const Linker&) = delete;
  Linker& operator=(const Linker&) = delete;
  ~Linker() {
    if (state_ != nullptr) driver().value()->cuLinkDestroy(state_);
  }

  Result<CUlibrary> link(std::span<const DeviceCode::Bytes> parts) {
    const Driver& cuda = *driver().value();
    RONDO_TRY(said(cuda.cuLinkCreate(kOptions, options_.data(), values_.data(), &state_)));
    for (const DeviceCode::Bytes part : parts)
      RONDO_TRY(said(cuda.cuLinkAddData(state_, CU_JIT_INPUT_FATBINARY, const_cast<std::byte*>(part.data()),
                                        part.size(), "rondo", 0, nullptr, nullptr)));
    void* code = nullptr;
    size_t bytes = 0;
    RONDO_TRY(said(cuda.cuLinkComplete(state_, &code, &bytes)));
    CUlibrary library = nullptr;
    RONDO_TRY(said(load(code, library)));
    return library;
  }

 private:
  static constexpr unsigned kOptions = 3;

  void set(size_t which, CUjit_option option, uintptr_t value) {
    options_[which] = option;
    values_[which] = reinterpret_cast<void*>(value);  // NOLINT(performance-no-int-to-ptr)
  }
  Status said(CUresult result) const {
    const Status status = outcome(result, "compiling the kernels for this GPU");
    const std::string log = in_a_line(log_);
    return status.ok() || log.empty()
               ? status
               : Status(status.code(), status.message() + ": " + log).because(status.kind());
  }

  std::string log_ = std::string(4096, '\0');
  std::array<CUjit_option, kOptions> options_;
  std::array<void*, kOptions> values_;
  CUlinkState state_ = nullptr;  // keeps pointers to the options
};

/// The library's architectures and the machine's, for the error of a kernel that could not be loaded.
std::string code_and_device(const char* description, int device) {
  const Driver& cuda = *driver().value();
  int major = 0;
  int minor = 0;
  int version = 0;
  cuda.cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device);
  cuda.cuDeviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device);
  cuda.cuDriverGetVersion(&version);
  return fmt::format(
      "this librondo has {}, GPU {} has compute capability {}.{}, and its driver is CUDA {}.{}'s",
      description, device, major, minor, version / 1000, version % 1000 / 10);
}

}  // namespace

Result<Kernel> Image::find(const char* name, int device) {
  RONDO_TRY(driver().status());
  const Current current(device);
  RONDO_TRY(current.status());
  auto found = find_on_current(name, device);
  if (found.ok()) return found;
  return Status(found.status().code(),
                found.status().message() + "; " + code_and_device(code_.description, device))
      .because(found.status().kind());
}

Result<Kernel> Image::find_on_current(const char* name, int device) {
  const std::lock_guard lock(mutex_);
  CUlibrary& library = libraries_[device];
  Kernel found{.device = device};
  CUresult result = library != nullptr ? CUDA_SUCCESS : load(code_.linked.data(), library);
  if (result == CUDA_SUCCESS) result = look_up(library, name, found.function);
  if (result == CUDA_ERROR_NO_BINARY_FOR_GPU && !code_.parts.empty()) {
    RONDO_TRY_ASSIGN(library, Linker(code_.max_registers).link(code_.parts));
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
                    "querying how many blocks a GPU runs at once"));
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
