// SPDX-License-Identifier: Apache-2.0
// What a call on GPU memory refuses, with errors that name the cause; the communicator stays usable.
#include <array>
#include <chrono>
#include <thread>

#include "gpu.h"
#include "gpu/shared_memory.h"
#include "worlds.h"

namespace rondo::test {
namespace {

constexpr size_t kCount = 100;
constexpr size_t kBytes = kCount * sizeof(float);

rondo_status_t sum(const Party& party, const void* send, void* recv, rondo_stream_t stream) {
  return rondo_all_reduce(send, recv, kCount, RONDO_FLOAT32, RONDO_SUM, party.comm(0), stream);
}

TEST_CASE("memory and streams that a rank's GPU cannot use are refused by name") {
  if (lacks_gpus()) return;
  const Party party(1, "cuda:0");
  const auto good = party.memory(0).allocate(kBytes + 16);
  std::array<float, kCount> host{};

  check_fails(sum(party, good.get(), host.data(), party.handle(0)), RONDO_INVALID_ARGUMENT,
              {"recvbuf", "host memory"});
  check_fails(sum(party, host.data(), good.get(), nullptr), RONDO_INVALID_ARGUMENT,
              {"sendbuf", "host memory"});
  check_fails(sum(party, good.get() + 1, good.get() + 1, party.handle(0)), RONDO_INVALID_ARGUMENT,
              {"sendbuf", "aligned", "elements"});
  void* freed = party.memory(0).allocate(kBytes).get();
  check_fails(sum(party, good.get(), freed, party.handle(0)), RONDO_INVALID_ARGUMENT, {"recvbuf", "freed"});
  check_fails(sum(party, good.get(), good.get() + 4, party.handle(0)), RONDO_INVALID_ARGUMENT, {"overlap"});
  check_fails(rondo_queue_synchronize(party.handle(0)), RONDO_INVALID_ARGUMENT, {"CUDA stream"});

  rondo_op_t op = 0;
  check(rondo_op_create([](void*, const void*, size_t, rondo_type_t, void*) {}, 1, nullptr, &op));
  check_fails(
      rondo_all_reduce(good.get(), good.get(), kCount, RONDO_FLOAT32, op, party.comm(0), party.handle(0)),
      RONDO_UNSUPPORTED, {"user-defined op"});

  check(sum(party, good.get(), good.get(), party.handle(0)));
  party.synchronize();
}

TEST_CASE("memory and streams of another GPU are refused by number") {
  if (lacks_gpus(2)) return;
  const Party party(1, "cuda:0");
  const Party other(1, "cuda:1");
  const auto here = party.memory(0).allocate(kBytes);
  const ForeignMemory there = foreign_memory(gpu::MemoryKind::Device, 1);
  const auto memory = there.allocate(kBytes);
  check_fails(sum(party, here.get(), memory.get(), party.handle(0)), RONDO_INVALID_ARGUMENT,
              {"recvbuf", "memory of GPU 1", "uses GPU 0"});
  auto stream = gpu::OwnedStream::create(1);
  require_ok(stream.status());
  check_fails(sum(party, here.get(), here.get(), rondo_cuda_stream(stream.value().get())),
              RONDO_INVALID_ARGUMENT, {"stream", "another GPU"});
}

TEST_CASE("memory that other GPUs cannot access is refused if they would use it") {
  if (lacks_gpus(2)) return;
  constexpr size_t kMapped = size_t{2} << 20;
  auto mapped = gpu::SharedMemory::create(0, kMapped);
  require_ok(mapped.status());
  void* const data = mapped.value().data();
  const Party alone(1, "cuda:0");
  check(sum(alone, data, data, alone.handle(0)));
  alone.synchronize();
  const Party two(2, "cuda:0,1");
  check_fails(sum(two, data, data, two.handle(0)), RONDO_INVALID_ARGUMENT,
              {"sendbuf", "other GPUs", "cudaMalloc"});
}

TEST_CASE("a missing or invalid device is refused by its text") {
  rondo_comm_t comm = nullptr;
  rondo_config_t config = RONDO_CONFIG_INITIALIZER;
  for (const char* text : {"gpu", "cuda:", "cuda:x", "cuda:0,", "cuda:-1", "CUDA"}) {
    config.device = text;
    const rondo_status_t status = rondo_init_all(&comm, 1, &config);
    if (gpu::device_count().ok())
      check_fails(status, RONDO_INVALID_ARGUMENT, {text, "host, cuda"});
    else
      require(status != RONDO_OK, text);
  }
  if (lacks_gpus()) return;
  config.device = "cuda:99";
  check_fails(rondo_init_all(&comm, 1, &config), RONDO_INVALID_ARGUMENT, {"cuda:99", "GPU"});
}

TEST_CASE("GPU memory on a rank without a GPU is refused, with a hint on how to get one") {
  if (lacks_gpus()) return;
  const Party party(1, "cuda:0");  // so that the process uses CUDA
  rondo_config_t config = RONDO_CONFIG_INITIALIZER;
  config.device = "host";
  Owned comm;
  check(rondo_init_all(comm.out(), 1, &config));
  const auto memory = party.memory(0).allocate(kBytes);
  check_fails(
      rondo_all_reduce(memory.get(), memory.get(), kCount, RONDO_FLOAT32, RONDO_SUM, comm.get(), nullptr),
      RONDO_INVALID_ARGUMENT, {"GPU memory", "uses no GPU", "RONDO_DEVICE"});
}

TEST_CASE("ranks with and without a GPU cannot exchange GPU memory, but still can exchange host memory") {
  if (lacks_gpus()) return;
  WorldOptions options{.nranks = 2, .devices = {"cuda:0", "host"}, .threads = true};
  expect_success(run_world(options, [](Rank& rank) {
    const auto memory = foreign_memory(gpu::MemoryKind::Device, 0).allocate(kBytes);
    if (rank.rank == 0)
      check_fails(
          rondo_all_reduce(memory.get(), memory.get(), kCount, RONDO_FLOAT32, RONDO_SUM, rank.comm, nullptr),
          RONDO_UNSUPPORTED, {"rank 1", "no GPU"}, rank.comm);
    std::array<float, kCount> host{};
    check(rondo_all_reduce(host.data(), host.data(), kCount, RONDO_FLOAT32, RONDO_SUM, rank.comm, nullptr),
          rank.comm);
  }));
}

TEST_CASE("ranks that make different calls on GPU memory are told about both") {
  if (lacks_gpus()) return;
  WorldOptions options{.nranks = 3, .devices = {"cuda:0"}, .threads = true};
  expect_success(run_world(options, [](Rank& rank) {
    const auto memory = foreign_memory(gpu::MemoryKind::Device, 0).allocate(kBytes);
    const size_t count = rank.rank == 2 ? kCount - 1 : kCount;
    check_fails(
        rondo_all_reduce(memory.get(), memory.get(), count, RONDO_FLOAT32, RONDO_SUM, rank.comm, nullptr),
        RONDO_MISMATCH, {"rank 2", "count=100", "count=99", "on GPUs"}, rank.comm);
  }));
}

TEST_CASE("a rank that passes host memory while others pass GPU memory is found") {
  if (lacks_gpus()) return;
  WorldOptions options{.nranks = 2, .devices = {"cuda:0"}, .threads = true};
  expect_success(run_world(options, [](Rank& rank) {
    const auto memory = foreign_memory(gpu::MemoryKind::Device, 0).allocate(kBytes);
    std::array<float, kCount> host{};
    void* data = rank.rank == 0 ? static_cast<void*>(memory.get()) : host.data();
    check_fails(rondo_all_reduce(data, data, kCount, RONDO_FLOAT32, RONDO_SUM, rank.comm, nullptr),
                RONDO_MISMATCH, {"rank 0", "rank 1", "on GPUs"}, rank.comm);
  }));
}

TEST_CASE("a rank that does not arrive is named at the deadline") {
  if (lacks_gpus()) return;
  WorldOptions options{.nranks = 2, .devices = {"cuda:0"}, .threads = true, .call_timeout_ms = 300};
  expect_success(run_world(options, [](Rank& rank) {
    const auto memory = foreign_memory(gpu::MemoryKind::Device, 0).allocate(kBytes);
    if (rank.rank == 1) {
      std::this_thread::sleep_for(std::chrono::milliseconds(600));
      return;
    }
    check_fails(
        rondo_all_reduce(memory.get(), memory.get(), kCount, RONDO_FLOAT32, RONDO_SUM, rank.comm, nullptr),
        RONDO_TIMEOUT, {"all_reduce", "rank 1"}, rank.comm);
  }));
}

}  // namespace
}  // namespace rondo::test
