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

SpinningKernel::SpinningKernel(uint32_t blocks) {
  // Block 0 carries out lane 0, the others lane 1, which waits for lane 2, which nobody carries out.
  waits_.wait_lane = 2;
  lanes_ = {{.steps = &passes_, .nsteps = 1, .progress = &progress_[0]},
            {.steps = &waits_, .nsteps = 1, .progress = &progress_[1]},
            {.nsteps = 1, .progress = &progress_[2]}};
  program_.lanes = lanes_.data();
  program_.nlanes = 3;
  call_.health = &health_;
  jobs_.assign(blocks, {.program = &program_, .call = &call_, .lane = 1});
  jobs_[0].lane = 0;
}

CUresult SpinningKernel::launch(CUfunction execute, CUstream stream) {
  device::JobList list{jobs_.data()};
  void* arguments[] = {&list};
  const auto blocks = static_cast<unsigned>(jobs_.size());
  return CU(cuLaunchCooperativeKernel)(execute, blocks, 1, 1, 512, 1, 1, 0, stream, arguments);
}

void SpinningKernel::wait_until_it_runs() const {
  while (std::atomic_ref(const_cast<uint64_t&>(progress_[0])).load(std::memory_order_acquire) == 0)
    sleep_ms(1);
}

void SpinningKernel::stop() { std::atomic_ref(health_.stop).store(1, std::memory_order_release); }

}  // namespace rondo
