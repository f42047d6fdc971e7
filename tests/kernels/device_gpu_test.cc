// device_reduce() on a GPU gives the bits of reduce_reference(). Skipped where there is no GPU.
#include <cuda_runtime_api.h>

#include <cstring>
#include <memory>

#include "catch.h"
#include "kernels/device_reduce.h"
#include "trial.h"

namespace rondo {
namespace {

constexpr uint64_t kSeed = 20261121;

void check(cudaError_t outcome) {
  if (outcome != cudaSuccess) FAIL(cudaGetErrorString(outcome));
}

/// Memory of the device that lies to its alignment as some memory of the host does.
class Mirror {
 public:
  Mirror(const void* host, size_t bytes) : bytes_(bytes) {
    check(cudaMalloc(&memory_, bytes + 64));
    data_ = static_cast<std::byte*>(memory_) + reinterpret_cast<uintptr_t>(host) % 64;
    check(cudaMemcpy(data_, host, bytes, cudaMemcpyHostToDevice));
  }
  Mirror(const Mirror&) = delete;
  Mirror& operator=(const Mirror&) = delete;
  ~Mirror() { cudaFree(memory_); }

  void* data() const { return data_; }
  void read_to(void* host) const { check(cudaMemcpy(host, data_, bytes_, cudaMemcpyDeviceToHost)); }

 private:
  size_t bytes_;
  void* memory_ = nullptr;
  std::byte* data_ = nullptr;
};

void reduce_on_gpu(const ReduceArgs& args) {
  const size_t bytes = args.count * element_info(args.type).bytes;
  std::vector<std::unique_ptr<Mirror>> mirrors;
  std::vector<const void*> sources;
  const Mirror* out = nullptr;
  for (const void* source : args.sources) {
    mirrors.push_back(std::make_unique<Mirror>(source, bytes));
    sources.push_back(mirrors.back()->data());
    if (source == args.out) out = mirrors.back().get();
  }
  if (out == nullptr) out = mirrors.emplace_back(std::make_unique<Mirror>(args.out, bytes)).get();
  ReduceArgs there = args;
  there.sources = sources;
  there.out = out->data();
  const Status status = device_reduce(there, nullptr);
  if (!status.ok()) FAIL(status.message());
  check(cudaDeviceSynchronize());
  out->read_to(args.out);
}

void require_trial(TrialCall call, std::mt19937_64& random) {
  call.alignment = random() % 3 == 0 ? 64 : device_alignment(call.type);
  call.aliased = static_cast<int>(random() % static_cast<uint64_t>(call.sources + 1)) - 1;
  if (const auto fault = run_trial(call, random, reduce_on_gpu)) FAIL(*fault);
}

bool no_gpu() {
  int devices = 0;
  const cudaError_t outcome = cudaGetDeviceCount(&devices);
  if (outcome == cudaSuccess && devices > 0) return false;
  WARN("skipped: no CUDA device (" << cudaGetErrorString(outcome) << ")");
  return true;
}

}  // namespace

TEST_CASE("every type and operation on the GPU equals the reference at every size and alignment") {
  if (no_gpu()) return;
  std::mt19937_64 random(kSeed);
  CAPTURE(kSeed);
  for (const ElementType type : all_types())
    for (const Reduction op : reductions_of(type))
      for (const size_t count : {0u, 1u, 17u, 64u, 1009u, 70'001u})
        for (const int sources : {1, 2, 3, 5})
          require_trial({.type = type, .op = op, .count = count, .sources = sources}, random);
}

TEST_CASE("the GPU scales and divides like the reference") {
  if (no_gpu()) return;
  std::mt19937_64 random(kSeed + 1);
  CAPTURE(kSeed);
  for (const ElementType type : all_types())
    for (const Reduction op : {Reduction::Sum, Reduction::Avg, Reduction::Prod}) {
      if (!reduction_takes(op, type)) continue;
      for (const int divisor : {1, 3, 8, 127, 65536, 0x7FFFFFFF})
        for (int scaled = -1; scaled < 2; ++scaled)
          require_trial({.type = type,
                         .op = op,
                         .count = random() % 3000,
                         .sources = 2,
                         .divisor = divisor,
                         .scaled = scaled},
                        random);
    }
}

TEST_CASE("what a GPU cannot do is refused in words") {
  const std::vector<const void*> many(65);
  CHECK(device_reduce({.sources = many}, nullptr).message() ==
        "a reduction on a device takes 1 to 64 sources, not 65");
}

}  // namespace rondo
