// SPDX-License-Identifier: Apache-2.0
// Registered GPU memory: peers in other processes of the host read it in place, with the same results.
#include "windows.h"
#include "graph.h"

#include <fstream>

namespace rondo::test {
namespace {

constexpr size_t kArena = 1 << 20;

/// Whether peers read this rank's sendbuf in place: not if it also receives the rank's result.
bool is_read_in_place(const Trial& trial, const Rank& rank) {
  const CollectiveTraits& kind = traits(trial.kind);
  const bool overwritten = trial.in_place && !kind.has_root() && kind.sends == kind.receives &&
                           has_result(trial.kind, rank.size, trial.root, rank.rank);
  return gives(trial.kind, rank.size, trial.root, rank.rank) && !overwritten;
}

void every_kind_directly(const Rank& rank, const ForeignMemory& memory) {
  for (const Kind kind : kAllCollectives)
    for (const bool in_place : {false, true}) {
      Trial trial{.kind = kind, .count = 1009, .in_place = in_place && kind != Kind::Barrier, .seed = 3};
      for (trial.root = 0; trial.root < (has_root(kind) ? rank.size : 1); ++trial.root) {
        run_on(rank, memory, trial);
        const char* const expected = is_read_in_place(trial, rank) ? "gpu_windows" : "gpu_staged";
        require(last_algorithm(rank) == expected, trial.text() + " went by " + last_algorithm(rank));
      }
    }
}

void every_call(Rank& rank, int ordinal) {
  Device device(ordinal);
  Arena arena(ordinal, kArena);
  const Registered registered(rank.comm, arena);
  await_direct(rank, arena, device);
  const ForeignMemory memory = arena.memory(ordinal);
  every_kind_directly(rank, memory);
  every_kind(rank, memory);
  for (uint64_t seed = 100; seed < 130; ++seed) run_on(rank, memory, random_trial(seed, rank.size, 5000));
}

TEST_CASE("every collective is right with registered memory, for processes that share a GPU") {
  if (children_lack_gpus()) return;
  const TurnsFolder folder;
  for (const int nranks : {2, 3, 4}) {
    INFO(nranks << " ranks");
    expect_success(run_world(processes(nranks, {"cuda:0"}, folder.with({kTight})),
                             [](Rank& rank) { every_call(rank, 0); }));
  }
}

TEST_CASE("every collective is right with registered memory, for processes with a GPU each") {
  if (children_lack_gpus(2)) return;
  const TurnsFolder folder;
  for (const auto& [nranks, devices] : {std::pair{2, "2"}, {4, "4"}})
    expect_success(run_world(processes(nranks, {"cuda:0", "cuda:1", "cuda:2", "cuda:3"},
                                       folder.with({kTight, {"RONDO_STANDIN_DEVICES", devices}})),
                             [](Rank& rank) { every_call(rank, rank.rank); }));
}

TEST_CASE("ranks of one process read one another's registered memory as well") {
  if (children_lack_gpus()) return;
  const TurnsFolder folder;
  WorldOptions options = processes(4, {"cuda:0"}, folder.with({kTight}));
  options.ranks_each = 2;
  expect_success(run_world(options, [](Rank& rank) { every_call(rank, 0); }));
}

TEST_CASE("a process with two GPUs opens what both can access") {
  if (children_lack_gpus(2)) return;
  const TurnsFolder folder;
  WorldOptions options = processes(4, {"cuda:0", "cuda:1"}, folder.with({kTight}));
  options.ranks_each = 2;
  expect_success(run_world(options, [](Rank& rank) {
    const int ordinal = rank.rank % 2;
    Arena arena(ordinal, kArena);
    const Registered registered(rank.comm, arena);
    for (int i = 0; i < 3; ++i) every_kind(rank, arena.memory(ordinal));
  }));
}

TEST_CASE("both steps of a long sum are read in place, with and without an in-place call") {
  if (children_lack_gpus()) return;
  const TurnsFolder folder;
  for (const char* seed : {"0", "5"})
    expect_success(run_world(
        processes(3, {"cuda:0"}, folder.with({kTight, {"RONDO_STANDIN_SEED", seed}})), [](Rank& rank) {
          Device device(0);
          Arena arena(0, size_t{4} << 20);
          const Registered registered(rank.comm, arena);
          await_direct(rank, arena, device);
          const ForeignMemory memory = arena.memory(0);
          for (const rondo_type_t type : {RONDO_FLOAT32, RONDO_FLOAT16, RONDO_COMPLEX128})
            for (const bool in_place : {false, true}) {
              const size_t count = 65'537 / type_bytes(type) * 2 + 1;
              run_on(rank, memory, {.count = count, .type = type, .in_place = in_place, .shift = 4});
              require(last_algorithm(rank) == "gpu_windows", "went by " + last_algorithm(rank));
            }
        }));
}

TEST_CASE("a pre-multiplied operand is not read in place") {
  if (children_lack_gpus()) return;
  const TurnsFolder folder;
  expect_success(run_world(processes(2, {"cuda:0"}, folder.with({kTight})), [](Rank& rank) {
    Device device(0);
    Arena arena(0, kArena);
    const Registered registered(rank.comm, arena);
    await_direct(rank, arena, device);
    const int64_t scalar = rank.rank + 2;
    rondo_op_t op{};
    check(rondo_op_create_premul_sum(&scalar, RONDO_INT64, &op));
    int64_t* const data = arena.ints(3000, 10);
    int64_t* const sum = arena.ints(3000, -1);
    check(rondo_all_reduce(data, sum, 3000, RONDO_INT64, op, rank.comm, nullptr), rank.comm);
    require(device.all_are(sum, 3000, 10 * (2 + 3)), "all_reduce");
    require(last_algorithm(rank) == "gpu_staged", "went by " + last_algorithm(rank));
    check(rondo_op_destroy(op));
  }));
}

TEST_CASE("some ranks' memory may be registered, and others' not") {
  if (children_lack_gpus()) return;
  const TurnsFolder folder;
  expect_success(run_world(processes(3, {"cuda:0"}, folder.with({kTight})), [](Rank& rank) {
    Device device(0);
    Arena arena(0, kArena);
    const bool registers = rank.rank != 1;
    std::optional<Registered> registered;
    if (registers) registered.emplace(rank.comm, arena);
    const auto input = reinterpret_cast<const std::byte*>(arena.ints(3, 1));
    int64_t* const all = device.ints(9, 0);
    for (int done = 0; done == 0;) {
      check(rondo_all_gather(input, all, 3, RONDO_INT64, rank.comm, nullptr), rank.comm);
      const int ready = (last_algorithm(rank) == "gpu_windows") == registers ? 1 : 0;
      check(rondo_all_reduce(&ready, &done, 1, RONDO_INT32, RONDO_MIN, rank.comm, nullptr), rank.comm);
    }
    every_kind(rank, arena.memory(0));
    for (uint64_t seed = 300; seed < 320; ++seed)
      run_on(rank, arena.memory(0), random_trial(seed, rank.size, 5000));
  }));
}

TEST_CASE("a window is exactly what was registered: parts of allocations, several at once, before any call") {
  if (children_lack_gpus()) return;
  const TurnsFolder folder;
  expect_success(run_world(processes(3, {"cuda:0"}, folder.with({kTight})), [](Rank& rank) {
    Device device(0);
    Arena first(0, kArena);
    Arena second(0, 40'000);
    constexpr size_t kFrom = 1001 * sizeof(int64_t);
    constexpr size_t kBytes = 5003 * sizeof(int64_t);
    const Registered inside(rank.comm, first.begin() + kFrom, kBytes);
    const Registered whole(rank.comm, second);
    const Registered again(rank.comm, second);
    auto* const begin = reinterpret_cast<int64_t*>(first.begin() + kFrom);
    auto* const other = reinterpret_cast<int64_t*>(second.begin());
    await_direct(rank, {begin, other, begin + 5000}, device);
    int64_t* const all = device.ints(5003 * 3, 0);
    const auto gather = [&](const int64_t* from, size_t count) {
      const std::vector<int64_t> values(count, rank.rank + 7);
      require_ok(gpu::copy(const_cast<int64_t*>(from), values.data(), count * sizeof(int64_t)));
      check(rondo_all_gather(from, all, count, RONDO_INT64, rank.comm, nullptr), rank.comm);
      for (int peer = 0; peer < rank.size; ++peer)
        require(device.all_are(all + static_cast<size_t>(peer) * count, count, peer + 7), "all_gather");
      return last_algorithm(rank);
    };
    require(gather(begin, 5003) == "gpu_windows", "all of the piece");
    require(gather(begin + 17, 4986) == "gpu_windows", "its end");
    require(gather(begin - 1, 2) == "gpu_staged", "one element before the piece");
    require(gather(begin + 5002, 2) == "gpu_staged", "one element behind the piece");
    require(gather(other + 3, 4001) == "gpu_windows", "the other allocation");
  }));
}

struct Range {
  uintptr_t begin = 0;
  uintptr_t end = 0;
};

/// Address ranges of the stand-in's device memory in this process.
std::vector<Range> device_memory() {
  std::ifstream maps("/proc/self/maps");
  std::vector<Range> found;
  for (std::string line; std::getline(maps, line);) {
    Range range;
    if (line.find("rondo-standin") != std::string::npos &&
        std::sscanf(line.c_str(), "%lx-%lx", &range.begin, &range.end) == 2)
      found.push_back(range);
  }
  return found;
}

/// How often `number` occurs in this process's device memory outside the arena; -1 if that is not visible.
int appearances(int64_t number, const Arena& arena) {
  std::ifstream memory("/proc/self/mem", std::ios::binary);
  const auto own = reinterpret_cast<uintptr_t>(arena.begin());
  int found = -1;
  for (const Range& range : device_memory()) {
    if (range.begin < own + arena.bytes() && own < range.end) continue;
    std::vector<int64_t> content((range.end - range.begin) / sizeof number);
    memory.clear();  // what a peer has freed is unreadable
    memory.seekg(static_cast<std::streamoff>(range.begin));
    memory.read(reinterpret_cast<char*>(content.data()),
                static_cast<std::streamsize>(range.end - range.begin));
    found = std::max(found, 0) + static_cast<int>(std::count(content.begin(), content.end(), number));
  }
  return found;
}

TEST_CASE("what peers read in place is not copied anywhere on the way") {
  if (children_lack_gpus()) return;
  const TurnsFolder folder;
  expect_success(run_world(processes(2, {"cuda:0", "cuda:0"}, folder.with({kTight})), [](Rank& rank) {
    constexpr size_t kCount = 9001;  // many tiles
    Device device(0);
    Arena arena(0, kArena);
    std::optional<Registered> registered;
    registered.emplace(rank.comm, arena);
    await_direct(rank, arena, device);
    int64_t* const data = arena.ints(kCount, 0);
    int64_t* const sum = arena.ints(kCount, 0);
    const auto copies = [&](int64_t first) {
      const int64_t number = first + rank.rank;
      const std::vector<int64_t> values(kCount, number);
      require_ok(gpu::copy(data, values.data(), kCount * sizeof number));
      check(rondo_all_reduce(data, sum, kCount, RONDO_INT64, RONDO_SUM, rank.comm, nullptr), rank.comm);
      require(device.all_are(sum, kCount, 2 * first + 1), "the sum");
      check(rondo_barrier(rank.comm, nullptr), rank.comm);
      return appearances(number, arena);
    };
    constexpr int64_t kSecret = 0x5EC2E7'0000'0000;
    const int in_place = copies(kSecret);
    if (in_place < 0) return;  // real GPU memory
    require(in_place == 0, "peers' data were staged " + std::to_string(in_place) + " times");
    check(registered->deregister(), rank.comm);
    require(copies(kSecret + 0x1000) > 0, "this test does not find staged data");
  }));
}

TEST_CASE("memory is deregistered, freed, allocated and registered again, many times") {
  if (children_lack_gpus()) return;
  const TurnsFolder folder;
  expect_success(run_world(processes(3, {"cuda:0"}, folder.with({kTight})), [](Rank& rank) {
    Device device(0);
    const size_t n = static_cast<size_t>(rank.size);
    for (int life = 0; life < 12; ++life) {
      Arena arena(0, life % 3 == 0 ? 100'000 : 200'000);
      Registered registered(rank.comm, arena);
      if (life % 2 == 0) await_direct(rank, arena, device);
      int64_t* const data = arena.ints(900, 100 * life + rank.rank);
      int64_t* const all = arena.ints(900 * n, -1);
      for (int i = 0; i < 3; ++i)
        check(rondo_all_gather(data, all, 900, RONDO_INT64, rank.comm, device.handle()), rank.comm);
      device.drain_s();
      for (size_t peer = 0; peer < n; ++peer)
        require(device.all_are(all + 900 * peer, 900, 100 * life + static_cast<int64_t>(peer)), "gathered");
      check(registered.deregister(), rank.comm);
    }
  }));
}

TEST_CASE("one rank registers and deregisters while the others' streams are busy with other calls") {
  if (children_lack_gpus()) return;
  const TurnsFolder folder;
  expect_success(run_world(processes(3, {"cuda:0"}, folder.with({kTight})), [](Rank& rank) {
    Device device(0);
    int64_t* const data = device.ints(700, 1);
    const auto meet = [&] {
      check(rondo_all_reduce(data, data, 1, RONDO_INT64, RONDO_MAX, rank.comm, nullptr), rank.comm);
    };
    rondo_comm_t pair = nullptr;
    check(rondo_split(rank.comm, rank.rank == 0 ? RONDO_NO_COLOR : 1, 0, &pair, nullptr), rank.comm);
    meet();
    if (rank.rank == 0) {
      for (int i = 0; i < 20; ++i) {
        Arena arena(0, 100'000);
        Registered registered(rank.comm, arena);
        std::this_thread::sleep_for(std::chrono::milliseconds(i % 5 * 10));
        check(registered.deregister(), rank.comm);
      }
    } else {
      Arena arena(0, 100'000);
      const Registered registered(pair, arena);
      int64_t* const own = arena.ints(700, 1);
      int64_t* const sum = arena.ints(700, 0);
      for (int i = 0; i < 300; ++i) {
        check(rondo_all_reduce(own, sum, 700, RONDO_INT64, RONDO_SUM, pair, device.handle()), pair);
        if (i % 20 == 0) device.drain_s();
      }
      device.drain_s();
      require(device.all_are(sum, 700, 2), "the pair's sums");
    }
    meet();
    if (pair != nullptr) check(rondo_destroy(pair));
  }));
}

TEST_CASE("a buffer may be overwritten as soon as the stream has reached the end of the call") {
  if (children_lack_gpus(2)) return;
  const TurnsFolder folder;
  for (const char* seed : {"1", "2", "3"})
    expect_success(run_world(
        processes(3, {"cuda:0", "cuda:1"}, folder.with({kTight, {"RONDO_STANDIN_SEED", seed}})),
        [](Rank& rank) {
          constexpr size_t kCount = 2000;
          Device device(rank.rank % 2);
          Arena arena(rank.rank % 2, kArena);
          const Registered registered(rank.comm, arena);
          await_direct(rank, arena, device);
          int64_t* const data = arena.ints(kCount, 0);
          int64_t* const all = arena.ints(kCount * 3, 0);
          for (int i = 1; i < 20; ++i) {
            const auto fill = [&](int value) {
              require_ok(gpu::fill(data, std::byte(value), kCount * sizeof *data, device.stream()));
            };
            fill(i);
            check(rondo_all_gather(data, all, kCount, RONDO_INT64, rank.comm, device.handle()), rank.comm);
            require(last_algorithm(rank) == "gpu_windows", "went by " + last_algorithm(rank));
            fill(0xEE);
            device.drain_s();
            require(device.all_are(all, kCount * 3, i * 0x0101010101010101), "a peer read too late");
          }
        }));
}

TEST_CASE("a graph with registered buffers can be replayed, mixed with other calls") {
  if (children_lack_gpus()) return;
  const TurnsFolder folder;
  expect_success(run_world(processes(3, {"cuda:0"}, folder.with({kTight})), [](Rank& rank) {
    constexpr size_t kCount = 700;
    Device device(0);
    Arena arena(0, kArena);
    const Registered registered(rank.comm, arena);
    await_direct(rank, arena, device);
    int64_t* const data = arena.ints(kCount, rank.rank + 1);
    int64_t* const all = arena.ints(kCount * 3, -1);
    const auto calls = [&] {
      check(rondo_all_gather(data, all, kCount, RONDO_INT64, rank.comm, device.handle()), rank.comm);
      require(last_algorithm(rank) == "gpu_windows", "all_gather went by " + last_algorithm(rank));
      check(rondo_reduce_scatter(all, data, kCount, RONDO_INT64, RONDO_SUM, rank.comm, device.handle()),
            rank.comm);
      require(last_algorithm(rank) == "gpu_windows", "reduce_scatter went by " + last_algorithm(rank));
    };
    const Graph graph(device.stream(), calls);
    int64_t expected = rank.rank + 1;
    for (int i = 0; i < 300; ++i) {
      if (i % 7 == 0)
        calls();
      else
        graph.replay();
      expected = static_cast<int64_t>(static_cast<uint64_t>(expected) * 3);
    }
    device.drain_s();
    require(device.all_are(data, kCount, expected), "replays");
  }));
}

TEST_CASE("more registered pieces than peers track are staged") {
  if (children_lack_gpus()) return;
  const TurnsFolder folder;
  expect_success(run_world(processes(2, {"cuda:0"}, folder.with({kTight})), [](Rank& rank) {
    constexpr size_t kPieces = 70;
    Device device(0);
    Arena arena(0, kArena);
    std::vector<std::unique_ptr<Registered>> pieces;
    for (size_t i = 0; i < kPieces; ++i)
      pieces.push_back(std::make_unique<Registered>(rank.comm, arena.begin() + 1024 * i, 1024));
    await_direct(rank, {arena.begin()}, device);
    int64_t* const all = device.ints(256, 0);
    int direct = 0;
    for (size_t i = 0; i < kPieces; ++i) {
      check(rondo_all_gather(arena.begin() + 1024 * i, all, 128, RONDO_INT64, rank.comm, nullptr), rank.comm);
      direct += last_algorithm(rank) == "gpu_windows" ? 1 : 0;
    }
    require(direct > 0 && direct < static_cast<int>(kPieces), std::to_string(direct) + " in place");
    pieces.clear();
    const Registered again(rank.comm, arena);
    await_direct(rank, {arena.begin()}, device);
  }));
}

}  // namespace
}  // namespace rondo::test
