// SPDX-License-Identifier: Apache-2.0
// Kernel launches.
#include <cstring>

#include "graph.h"
#include "guard.h"
#include "kernels.h"
#include "library.h"
#include "occupancy.h"

namespace rondo::standin {
namespace {

struct Launch {
  uint64_t blocks;
  uint64_t threads;
  size_t shared_bytes;
  bool cooperative = false;
};

uint64_t product(unsigned x, unsigned y, unsigned z) { return uint64_t{x} * y * z; }

CUresult check_size(const CUfunc_st& function, const Launch& launch) {
  STANDIN_REQUIRE(launch.blocks != 0 && launch.threads != 0, CUDA_ERROR_INVALID_VALUE);
  STANDIN_REQUIRE(launch.blocks <= 0x7FFFFFFF, CUDA_ERROR_INVALID_VALUE);
  STANDIN_REQUIRE(launch.threads <= kMaxBlockThreads, CUDA_ERROR_INVALID_VALUE);
  STANDIN_REQUIRE(launch.threads <= device::kMaxThreads, CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES);
  const auto max_shared = static_cast<size_t>(std::max(function.shared_bytes, kSharedBytes));
  STANDIN_REQUIRE(launch.shared_bytes <= max_shared, CUDA_ERROR_INVALID_VALUE);
  if (!launch.cooperative) return CUDA_SUCCESS;
  const int fits = blocks_on_processor(static_cast<int>(launch.threads), launch.shared_bytes) *
                   driver().settings.processors;
  STANDIN_REQUIRE(launch.blocks <= static_cast<uint64_t>(fits), CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE);
  return CUDA_SUCCESS;
}

void run_kernel(Context& context, const device::HostKernel& kernel, const void* argument, uint32_t blocks,
                uint32_t threads) {
  if (context.failed()) return;
  const std::lock_guard alone(context.device->turn);
  const DeviceAccess access;
  if (const CUresult fault = asked_fault(kernel.name); fault != CUDA_SUCCESS)
    context.error = static_cast<int>(fault);
  else
    kernel.run(argument, blocks, threads);
}

/// Copies the argument before the call returns.
Operation operation_of(Context& context, const device::HostKernel& kernel, const void* argument,
                       const Launch& launch) {
  struct alignas(16) Unit {
    unsigned char bytes[16];
  };
  auto copy =
      std::make_shared<std::vector<Unit>>(round_up(kernel.argument_bytes, sizeof(Unit)) / sizeof(Unit));
  std::memcpy(copy->data(), argument, kernel.argument_bytes);
  return [&context, &kernel, copy, blocks = static_cast<uint32_t>(launch.blocks),
          threads = static_cast<uint32_t>(launch.threads)] {
    run_kernel(context, kernel, copy->data(), blocks, threads);
  };
}

CUresult launch_kernel(CUfunction handle, CUstream stream_handle, void** arguments, const Launch& launch) {
  Context* context = nullptr;
  StreamPtr stream;
  STANDIN_TRY(use_context(context));
  const auto function = driver().functions.find(handle);
  STANDIN_REQUIRE(function != nullptr, CUDA_ERROR_INVALID_HANDLE);
  STANDIN_TRY(find_stream(stream_handle, stream));
  STANDIN_REQUIRE(stream->context == context && function->context == context, CUDA_ERROR_INVALID_HANDLE);
  STANDIN_REQUIRE(arguments != nullptr && arguments[0] != nullptr, CUDA_ERROR_INVALID_VALUE);
  STANDIN_TRY(check_size(*function, launch));
  return submit(*stream, CU_GRAPH_NODE_TYPE_KERNEL,
                operation_of(*context, *function->kernel, arguments[0], launch));
}

bool is_cooperative(const CUlaunchConfig& config) {
  for (unsigned i = 0; i < config.numAttrs; ++i)
    if (config.attrs[i].id == CU_LAUNCH_ATTRIBUTE_COOPERATIVE) return config.attrs[i].value.cooperative != 0;
  return false;
}

}  // namespace
}  // namespace rondo::standin

using namespace rondo::standin;

CUresult cuLaunchKernel(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                        unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
                        CUstream stream, void** arguments, void** extra) {
  return call(__func__, [&](Lock&) {
    STANDIN_REQUIRE(extra == nullptr, CUDA_ERROR_INVALID_VALUE);
    return launch_kernel(
        function, stream, arguments,
        {product(grid_x, grid_y, grid_z), product(block_x, block_y, block_z), shared_bytes, false});
  });
}

CUresult cuLaunchCooperativeKernel(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                                   unsigned block_x, unsigned block_y, unsigned block_z,
                                   unsigned shared_bytes, CUstream stream, void** arguments) {
  return call(__func__, [&](Lock&) {
    return launch_kernel(
        function, stream, arguments,
        {product(grid_x, grid_y, grid_z), product(block_x, block_y, block_z), shared_bytes, true});
  });
}

CUresult cuLaunchKernelEx(const CUlaunchConfig* config, CUfunction function, void** arguments, void** extra) {
  return call(__func__, [&](Lock&) {
    STANDIN_REQUIRE(config != nullptr && extra == nullptr, CUDA_ERROR_INVALID_VALUE);
    return launch_kernel(function, config->hStream, arguments,
                         {product(config->gridDimX, config->gridDimY, config->gridDimZ),
                          product(config->blockDimX, config->blockDimY, config->blockDimZ),
                          config->sharedMemBytes, is_cooperative(*config)});
  });
}
