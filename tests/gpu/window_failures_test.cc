// SPDX-License-Identifier: Apache-2.0
// Failures with registered GPU memory: what is refused, what falls back to staging, and peers that die, are
// slow to release memory, or have left.
#include <signal.h>

#include "gpu/shared_memory.h"
#include "graph.h"
#include "windows.h"

namespace rondo::test {
namespace {

constexpr size_t kArena = 200'000;
constexpr size_t kCount = 2000;

double seconds_of(const std::function<void()>& body) {
  const double start = seconds_now();
  body();
  return seconds_now() - start;
}

/// Synchronizes on the host.
void meet(const Rank& rank) {
  int met = 0;
  check(rondo_all_reduce(&rank.rank, &met, 1, RONDO_INT32, RONDO_MAX, rank.comm, nullptr), rank.comm);
}

/// Gathers every rank's values and checks them.
void gather(const Rank& rank, const Device& device, int64_t* data, int64_t* all) {
  const std::vector<int64_t> values(kCount, rank.rank + 7);
  require_ok(gpu::copy(data, values.data(), kCount * sizeof *data));
  check(rondo_all_gather(data, all, kCount, RONDO_INT64, rank.comm, nullptr), rank.comm);
  for (int peer = 0; peer < rank.size; ++peer)
    require(device.all_are(all + static_cast<size_t>(peer) * kCount, kCount, peer + 7), "all_gather");
}

/// Gathers for long enough that peers would have opened what they can.
void stays_staged(const Rank& rank, const Device& device, int64_t* data, int64_t* all) {
  for (int i = 0; i < 20; ++i) {
    gather(rank, device, data, all);
    require(last_algorithm(rank) == "gpu_staged", "went by " + last_algorithm(rank));
    sleep_ms(5);
  }
}

TEST_CASE("memory that cannot be registered is refused by name") {
  if (children_lack_gpus(2)) return;
  const TurnsFolder folder;
  expect_success(run_world(processes(2, {"cuda:0"}, folder.with()), [](Rank& rank) {
    Device device(0);
    int64_t* const data = device.ints(100, 1);
    void* handle = nullptr;
    const auto refused = [&](void* memory, size_t bytes, const std::vector<std::string>& words) {
      check_fails(rondo_register(rank.comm, memory, bytes, &handle), RONDO_INVALID_ARGUMENT, words,
                  rank.comm);
      require(handle == nullptr, "a handle of nothing");
    };
    refused(data, 801, {"bytes is 801", "ends after 800"});
    refused(data + 99, 9, {"bytes is 9", "ends after 8"});
    refused(nullptr, 8, {"8 bytes"});
    refused(data, 0, {"0 bytes"});
    void* freed = nullptr;
    check(rondo_cuda_mem_alloc(&freed, 1000, 0));
    check(rondo_mem_free(freed));
    refused(freed, 1000, {"1000 bytes", "freed"});
    void* elsewhere = nullptr;
    check(rondo_cuda_mem_alloc(&elsewhere, 1000, 1));
    refused(elsewhere, 1000, {"memory of GPU 1", "uses GPU 0"});
    check(rondo_mem_free(elsewhere));
    check_fails(rondo_mem_free(data), RONDO_INVALID_ARGUMENT, {"rondo_cuda_mem_alloc()"});
    check_fails(rondo_cuda_mem_alloc(&freed, 8, 99), RONDO_INVALID_ARGUMENT, {"device is 99", "from 0 to"});
    check_fails(rondo_cuda_mem_alloc(&freed, 8, -1), RONDO_INVALID_ARGUMENT, {"device is -1"});
    check_fails(rondo_cuda_mem_alloc(nullptr, 8, 0), RONDO_INVALID_ARGUMENT, {"ptr is NULL"});
    check_fails(rondo_cuda_mem_alloc(&freed, size_t{1} << 50, 0), RONDO_OUT_OF_MEMORY, {"GPU 0"});
    check(rondo_cuda_mem_alloc(&freed, 0, 0));
    require(freed == nullptr, "0 bytes are NULL");
    int on_host = 0;
    Registered of_host(rank.comm, &on_host, sizeof on_host);
    check(of_host.deregister(), rank.comm);
    check_fails(rondo_deregister(rank.comm, &on_host), RONDO_INVALID_ARGUMENT, {"not registered"}, rank.comm);
  }));
}

TEST_CASE("memory that other processes cannot open is staged") {
  if (children_lack_gpus()) return;
  const TurnsFolder folder;
  expect_success(run_world(processes(2, {"cuda:0"}, folder.with({kTight})), [](Rank& rank) {
    Device device(0);
    auto mapped = gpu::SharedMemory::create(0, kArena);
    require_ok(mapped.status());
    const Registered registered(rank.comm, mapped.value().data(), kArena);
    auto* const data = reinterpret_cast<int64_t*>(mapped.value().data());
    stays_staged(rank, device, data, device.ints(2 * kCount, 0));
  }));
}

TEST_CASE("if peers fail to open memory or cannot reach it, calls on it are staged") {
  if (children_lack_gpus(2)) return;
  const TurnsFolder folder;
  for (const auto& fault :
       {std::pair<std::string, std::string>{"RONDO_STANDIN_FAIL", "cuIpcOpenMemHandle_v2:1:201"},
        {"RONDO_STANDIN_FAIL", "cuIpcGetMemHandle:1:801"},
        {"RONDO_STANDIN_PEERS", "0"}})
    expect_success(
        run_world(processes(2, {"cuda:0", "cuda:1"}, folder.with({kTight, fault})), [](Rank& rank) {
          Device device(rank.rank);
          Arena arena(rank.rank, kArena);
          Registered registered(rank.comm, arena);
          stays_staged(rank, device, arena.ints(kCount, 0), device.ints(2 * kCount, 0));
          check(registered.deregister(), rank.comm);
        }));
}

/// A rank deregisters and frees its memory while its peers are already in the next call.
void deregister_late(Rank& rank, Device& device, int64_t* data, Registered& registered,
                     const std::function<void()>& free_memory, rondo_status_t expected) {
  int64_t* const sum = device.ints(kCount, 0);
  int64_t* const other = device.ints(kCount, 1);
  await_direct(rank, {data}, device);
  const auto calls = [&](int number) {
    for (int i = 0; i < number; ++i)
      check(rondo_all_reduce(other, sum, kCount, RONDO_INT64, RONDO_SUM, rank.comm, device.handle()),
            rank.comm);
  };
  if (rank.rank == 0) {
    sleep_ms(100);  // the other ranks' streams are waiting for this rank
    const double took_s = seconds_of([&] { require(registered.deregister() == expected, "the outcome"); });
    require(took_s < 2, "took " + std::to_string(took_s) + " s");
    if (expected == RONDO_OK) free_memory();
    calls(5);
    if (expected != RONDO_OK) {
      check(registered.deregister(), rank.comm);
      free_memory();
    }
  } else {
    calls(5);
  }
  device.drain_s();
  require(device.all_are(sum, kCount, rank.size), "the sums");
}

TEST_CASE("memory from rondo_cuda_mem_alloc() is deregistered and freed while peers' streams wait") {
  if (children_lack_gpus()) return;
  const TurnsFolder folder;
  expect_success(run_world(processes(3, {"cuda:0"}, folder.with({kTight})), [](Rank& rank) {
    Device device(0);
    auto arena = std::make_unique<Arena>(0, kArena);
    Registered registered(rank.comm, *arena);
    deregister_late(
        rank, device, arena->ints(kCount, 1), registered, [&] { arena.reset(); }, RONDO_OK);
  }));
}

TEST_CASE("other memory is deregistered only after peers' streams have advanced, and the caller is told so") {
  if (children_lack_gpus()) return;
  const TurnsFolder folder;
  expect_success(run_world(processes(3, {"cuda:0"}, folder.with({kTight})), [](Rank& rank) {
    Device device(0);
    auto memory = gpu::Memory::allocate(gpu::MemoryKind::Device, 0, kArena);
    require_ok(memory.status());
    Registered registered(rank.comm, memory.value().data(), kArena);
    deregister_late(
        rank, device, reinterpret_cast<int64_t*>(memory.value().data()), registered,
        [&] { memory.value() = {}; }, RONDO_IN_PROGRESS);
  }));
}

TEST_CASE("a rank that does not release memory is named at the deadline") {
  if (children_lack_gpus()) return;
  const TurnsFolder folder;
  WorldOptions options = processes(3, {"cuda:0"}, folder.with({kTight}));
  options.call_timeout_ms = 1500;
  expect_success(run_world(options, [](Rank& rank) {
    Device device(0);
    auto memory = gpu::Memory::allocate(gpu::MemoryKind::Device, 0, kArena);
    require_ok(memory.status());
    Registered registered(rank.comm, memory.value().data(), kArena);
    await_direct(rank, {memory.value().data()}, device);
    std::atomic<bool> is_over{false};
    if (rank.rank == 2) {  // its GPU is busy with other work, so it cannot close anything
      const CUhostFn wait = [](void* over) {
        while (!*static_cast<std::atomic<bool>*>(over)) sleep_ms(1);
      };
      require_cu(CU(cuLaunchHostFunc)(device.stream(), wait, &is_over), "cuLaunchHostFunc");
    }
    meet(rank);
    if (rank.rank == 0)
      check_fails(registered.deregister(), RONDO_TIMEOUT, {"rank 2 (process", "1.5 s"}, rank.comm);
    else
      sleep_ms(1700);
    is_over = true;
    check(registered.deregister(), rank.comm);
  }));
}

TEST_CASE("a killed rank has released everything") {
  if (children_lack_gpus()) return;
  const TurnsFolder folder;
  const Shared<std::atomic<int>> arrived;
  auto outcomes = run_world(processes(3, {"cuda:0"}, folder.with({kTight})), [&](Rank& rank) {
    Device device(0);
    auto memory = gpu::Memory::allocate(gpu::MemoryKind::Device, 0, kArena);
    require_ok(memory.status());
    Registered registered(rank.comm, memory.value().data(), kArena);
    await_direct(rank, {memory.value().data()}, device);
    await_all(rank, *arrived);
    if (rank.rank == 1) ::raise(SIGKILL);
    rondo_status_t status = RONDO_OK;
    for (int i = 0; i < 5000 && status == RONDO_OK; ++i) {
      sleep_ms(1);
      check(rondo_async_error(rank.comm, &status));
    }
    require(status == RONDO_REMOTE_ERROR, "no rank noticed");
    const double took_s = seconds_of([&] { check(registered.deregister()); });
    require(took_s < 2, "took " + std::to_string(took_s) + " s");
    memory.value() = {};
  });
  CHECK(outcomes[1].signal == SIGKILL);
  outcomes.erase(outcomes.begin() + 1);
  expect_success(outcomes);
}

TEST_CASE("streams continue if a rank whose memory they read is killed, and so do graphs launched later") {
  if (children_lack_gpus()) return;
  const TurnsFolder folder;
  for (const char* seed : {"1", "2"}) {
    const Shared<std::atomic<int>> arrived;
    auto outcomes = run_world(
        processes(3, {"cuda:0"}, folder.with({kTight, {"RONDO_STANDIN_SEED", seed}})), [&](Rank& rank) {
          Device device(0);
          Arena arena(0, kArena);
          const Registered registered(rank.comm, arena);
          await_direct(rank, arena, device);
          int64_t* const data = arena.ints(kCount, 1);
          int64_t* const all = device.ints(kCount * 3, 0);
          const auto call = [&] {
            return rondo_all_gather(data, all, kCount, RONDO_INT64, rank.comm, device.handle());
          };
          const Graph graph(device.stream(), [&] { check(call(), rank.comm); });
          await_all(rank, *arrived);
          for (int i = 0; i < 20; ++i) graph.replay();
          if (rank.rank == 2) ::raise(SIGKILL);
          while (call() == RONDO_OK) sleep_ms(1);
          for (int i = 0; i < 5; ++i) graph.replay();
          const double took_s = device.drain_s();
          require(took_s < 3, "the stream took " + std::to_string(took_s) + " s");
        });
    CHECK(outcomes[2].signal == SIGKILL);
    outcomes.pop_back();
    expect_success(outcomes);
  }
}

TEST_CASE("a rank aborts and frees its registered memory, and the other ranks' streams do not touch it") {
  if (children_lack_gpus()) return;
  const TurnsFolder folder;
  const Shared<std::atomic<int>> arrived;
  expect_success(run_world(processes(2, {"cuda:0"}, folder.with({kTight})), [&](Rank& rank) {
    Device device(0);
    auto arena = std::make_unique<Arena>(0, kArena);
    Registered registered(rank.comm, *arena);
    await_direct(rank, *arena, device);
    int64_t* const data = arena->ints(kCount, 1);
    int64_t* const all = device.ints(kCount * 2, 0);
    const auto call = [&] {
      return rondo_all_gather(data, all, kCount, RONDO_INT64, rank.comm, device.handle());
    };
    const Graph graph(device.stream(), [&] { check(call(), rank.comm); });
    graph.replay();
    await_all(rank, *arrived);
    if (rank.rank == 0) {
      device.drain_s();
      check(rondo_abort(rank.comm));
      check(registered.deregister());
      arena.reset();
    } else {
      while (call() == RONDO_OK) sleep_ms(1);
      sleep_ms(300);  // the memory is gone, but stamps of the last call still refer to it
      for (int i = 0; i < 3; ++i) graph.replay();
      require(device.drain_s() < 3, "the stream");
    }
  }));
}

TEST_CASE("communicators end in any order, with registered memory, without waiting for one another's calls") {
  if (children_lack_gpus()) return;
  const TurnsFolder folder;
  expect_success(run_world(processes(2, {"cuda:0"}, folder.with({kTight})), [](Rank& rank) {
    Device device(0);
    Arena arena(0, kArena);
    for (int life = 0; life < 4; ++life) {
      Rank child = rank;
      check(rondo_duplicate(rank.comm, &child.comm), rank.comm);
      void* handle = nullptr;
      check(rondo_register(child.comm, arena.begin(), arena.bytes(), &handle), child.comm);
      await_direct(child, {arena.begin()}, device);
      if (life % 2 == 0) check(rondo_finalize(child.comm), child.comm);
      if (life % 2 == 0) check(rondo_deregister(child.comm, handle), child.comm);
      check(rondo_destroy(child.comm));
    }
  }));
}

}  // namespace
}  // namespace rondo::test
