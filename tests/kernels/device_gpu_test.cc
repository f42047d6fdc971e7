// SPDX-License-Identifier: Apache-2.0
// Folds on a GPU give the bits of reduce_reference(). Skipped without a GPU.
#include <algorithm>
#include <cstring>
#include <memory>
#include <numeric>

#include "catch.h"
#include "comparison.h"
#include "gpu/device.h"
#include "gpu/memory.h"
#include "kernels/device_folds.h"
#include "seed.h"

namespace rondo {
namespace {

constexpr uint64_t kSeed = 20261121;
constexpr int kDevice = 0;

void check(const Status& status) {
  if (!status.ok()) FAIL(status.message());
}

/// Device memory with the same offset from alignment as the given host memory.
class Mirror {
 public:
  Mirror(const void* host, size_t bytes) : bytes_(bytes) {
    auto memory = gpu::Memory::allocate(gpu::MemoryKind::Device, kDevice, bytes + 64);
    check(memory.status());
    memory_ = memory.take();
    data_ = memory_.data() + reinterpret_cast<uintptr_t>(host) % 64;
    check(gpu::copy(data_, host, bytes));
  }

  void* data() const { return data_; }
  void read_to(void* host) const { check(gpu::copy(host, data_, bytes_)); }

 private:
  size_t bytes_;
  gpu::Memory memory_;
  std::byte* data_ = nullptr;
};

void reduce_on_gpu(const ReduceArgs& args) {
  const gpu::Current current(kDevice);
  check(current.status());
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
  DeviceFolds folds(args.type, args.op, args.divisor);
  if (args.scaled_source >= 0) {
    std::vector<DeviceFolds::Scalar> scalars(sources.size());
    std::memcpy(&scalars[static_cast<size_t>(args.scaled_source)], args.scalar,
                element_info(args.type).bytes);
    folds.scale(uint64_t{1} << args.scaled_source, scalars);
  }
  void* const outs[] = {out->data()};
  folds.add(sources, outs, args.count);
  check(folds.launch(kDevice, gpu::kLegacyStream));
  check(gpu::synchronize(gpu::kLegacyStream));
  out->read_to(args.out);
}

void require_equal(ComparedCall call, std::mt19937_64& random) {
  call.alignment = random() % 3 == 0 ? 64 : device_alignment(call.type);
  call.aliased = static_cast<int>(random() % static_cast<uint64_t>(call.sources + 1)) - 1;
  if (const auto fault = compare(call, random, reduce_on_gpu)) FAIL(*fault);
}

bool no_gpu() {
  const Status status = gpu::device_count().status();
  if (status.ok()) return false;
  WARN("skipped: " << status.message());
  return true;
}

}  // namespace

TEST_CASE("every type and operation on the GPU equals the reference at every size and alignment") {
  if (no_gpu()) return;
  std::mt19937_64 random(test::test_seed(kSeed));
  CAPTURE(kSeed);
  for (const ElementType type : all_types())
    for (const Reduction op : reductions_of(type))
      for (const size_t count : {0u, 1u, 17u, 64u, 1009u, 70'001u})
        for (const int sources : {1, 2, 3, 5})
          require_equal({.type = type, .op = op, .count = count, .sources = sources}, random);
}

TEST_CASE("the GPU scales and divides like the reference") {
  if (no_gpu()) return;
  std::mt19937_64 random(test::test_seed(kSeed + 1));
  CAPTURE(kSeed);
  for (const ElementType type : all_types())
    for (const Reduction op : {Reduction::Sum, Reduction::Avg}) {
      if (!reduction_takes(op, type)) continue;
      for (const int divisor : {1, 3, 8, 127, 65536, 0x7FFFFFFF})
        for (int scaled = -1; scaled < 2; ++scaled)
          require_equal({.type = type,
                         .op = op,
                         .count = random() % 3000,
                         .sources = 2,
                         .divisor = divisor,
                         .scaled = scaled},
                        random);
    }
}

TEST_CASE("many folds are done by the minimum number of launches") {
  if (no_gpu()) return;
  const gpu::Current current(kDevice);
  check(current.status());
  constexpr size_t kBlocks = 200;
  constexpr size_t kCount = 37;
  std::vector<int32_t> values(kBlocks * kCount);
  std::iota(values.begin(), values.end(), 0);
  const Mirror in(values.data(), values.size() * sizeof(int32_t));
  const Mirror out(std::vector<int32_t>(values.size(), -1).data(), values.size() * sizeof(int32_t));
  DeviceFolds folds(ElementType::Int32, Reduction::Sum);
  for (size_t block = 0; block < kBlocks; ++block) {  // each block goes to the position of its mirror image
    const void* const from[] = {static_cast<int32_t*>(in.data()) + block * kCount};
    void* const to[] = {static_cast<int32_t*>(out.data()) + (kBlocks - 1 - block) * kCount};
    folds.add(from, to, kCount);
  }
  check(folds.launch(kDevice, gpu::kLegacyStream));
  check(gpu::synchronize(gpu::kLegacyStream));
  std::vector<int32_t> got(values.size());
  out.read_to(got.data());
  for (size_t i = 0; i < got.size(); ++i)
    REQUIRE(got[i] == static_cast<int32_t>((kBlocks - 1 - i / kCount) * kCount + i % kCount));
}

}  // namespace rondo
