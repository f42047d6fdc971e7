// The device executor on a GPU: all ranks of a communicator share it, in one launch. Skipped where there is
// no GPU.
#include <cuda_runtime_api.h>

#include <cstdlib>
#include <new>
#include <random>

#include "catch.h"
#include "device_exchange.h"

namespace {

bool has_gpu() {
  static const bool found = [] {
    int devices = 0;
    return cudaGetDeviceCount(&devices) == cudaSuccess && devices > 0;
  }();
  return found;
}

}  // namespace

// All that this program allocates is memory which the device can reach.
void* operator new(size_t bytes) {
  void* memory = nullptr;
  if (!has_gpu()) memory = std::malloc(bytes);
  if (has_gpu() && cudaMallocManaged(&memory, bytes == 0 ? 1 : bytes) != cudaSuccess) memory = nullptr;
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
void operator delete(void* memory) noexcept {
  if (has_gpu())
    cudaFree(memory);
  else
    std::free(memory);
}
void operator delete(void* memory, size_t) noexcept { ::operator delete(memory); }

namespace rondo {
namespace {

constexpr uint64_t kSeed = 1;

template <class T>
void try_call(const Algorithm& algorithm, const Shape& shape, ElementType type, std::mt19937_64& random) {
  const DeviceWorld::Options options{.threads = static_cast<uint32_t>(32 << random() % 4),
                                     .slot_bytes = sizeof(T) * 1024,
                                     .slots = 1 + random() % 3};
  const auto schedules = build_all(algorithm, shape);
  DeviceWorld world(schedules, options);
  for (uint32_t sequence = 1; sequence <= 3; ++sequence) {
    const size_t count = shape.kind == CollectiveKind::Barrier ? 0 : random() % 20'000;
    Exchange<T> exchange(algorithm, shape, count, type, options);
    for (device::Call& call : exchange.calls()) call.signature.sequence = sequence;
    device::Blocks blocks;
    world.run(exchange.calls(), blocks);
    INFO(name_of(algorithm) << ", " << to_string(shape) << ", " << element_info(type).name << ", count "
                            << count << ", " << options.threads << " threads, " << options.slots << " slots");
    REQUIRE(exchange.fault() == "");
  }
}

}  // namespace

TEST_CASE("a GPU carries out every algorithm over any number of ranks that share it") {
  if (!has_gpu()) {
    WARN("skipped: no CUDA device");
    return;
  }
  std::mt19937_64 random(kSeed);
  CAPTURE(kSeed);
  for (const Algorithm& algorithm : algorithms())
    for (int n = 1; n <= 8; ++n)
      for (const Shape& shape : supported_shapes(algorithm, n)) {
        if (shape.varying || (shape.root != 0 && shape.root != n - 1)) continue;
        switch (random() % 3) {
          case 0: try_call<int32_t>(algorithm, shape, ElementType::Int32, random); break;
          case 1: try_call<double>(algorithm, shape, ElementType::Float64, random); break;
          default: try_call<uint8_t>(algorithm, shape, ElementType::UInt8, random); break;
        }
      }
}

}  // namespace rondo
