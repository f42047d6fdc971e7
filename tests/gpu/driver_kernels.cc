// SPDX-License-Identifier: Apache-2.0
#include "driver_kernels.h"

#include <atomic>

#include "catch.h"
#include "driver_calls.h"

namespace rondo {

CUfunction find_function(const char* name) {
  CUlibrary library = nullptr;
  CUkernel kernel = nullptr;
  CUfunction function = nullptr;
  REQUIRE_CU(cuLibraryLoadData, &library, "image", nullptr, nullptr, 0, nullptr, nullptr, 0);
  REQUIRE_CU(cuLibraryGetKernel, &kernel, library, name);
  REQUIRE_CU(cuKernelGetFunction, &function, kernel);
  return function;
}

device::FoldList doubling(CUdeviceptr out, CUdeviceptr in, size_t count) {
  device::FoldList list{};
  list.type = ElementType::Float32;
  list.op = Reduction::Sum;
  list.divisor = 1;
  list.nfolds = 1;
  list.folds[0] = {.count = count, .scaled = 0, .sources = 0, .nsources = 2, .outs = 2, .nouts = 1};
  list.pointers[0] = at<void>(in);
  list.pointers[1] = at<void>(in);
  list.pointers[2] = at<void>(out);
  return list;
}

CUresult launch(CUfunction function, CUstream stream, device::FoldList list) {
  void* arguments[] = {&list};
  return CU(cuLaunchKernel)(function, 2, 1, 1, 64, 1, 1, 0, stream, arguments, nullptr);
}

SpinningKernel::SpinningKernel(uint32_t blocks) : blocks_(blocks) {
  program_.channels = (blocks + 1) / 2;
  progress_.resize(2 * program_.channels);
  for (uint16_t lane = 0; lane < 2; ++lane) {
    steps_[lane].wait_lane = static_cast<uint16_t>(1 - lane);
    lanes_[lane] = {.steps = &steps_[lane], .nsteps = 1};
  }
  program_.lanes = lanes_.data();
  program_.nlanes = 2;
  program_.progress = progress_.data();
}

CUresult SpinningKernel::launch(CUfunction execute, CUstream stream) {
  device::CallList list;
  list.ncalls = 1;
  list.calls[0].program = &program_;
  list.calls[0].call.health = &health_;
  list.calls[0].call.layout.tiles = program_.channels;
  void* arguments[] = {&list};
  return CU(cuLaunchCooperativeKernel)(execute, blocks_, 1, 1, 512, 1, 1, 0, stream, arguments);
}

void SpinningKernel::wait_until_it_runs() const {
  auto& started = const_cast<uint64_t&>(health_.started);
  while (std::atomic_ref(started).load(std::memory_order_acquire) == 0) sleep_ms(1);
}

void SpinningKernel::stop() { std::atomic_ref(health_.stop).store(1, std::memory_order_release); }

}  // namespace rondo
