// SPDX-License-Identifier: Apache-2.0
// Calls on CUDA streams: their order, groups of ranks driven by one thread, and graphs.
#include <algorithm>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include "exchange.h"
#include "gpu.h"
#include "gpu/graph.h"
#include "gpu/memory.h"
#include "gpu/stream.h"
#include "oracle.h"
#include "scoped_environment.h"

namespace rondo::test {
namespace {

/// One call of all ranks of the party, in a group, on their streams.
class PartyCall {
 public:
  PartyCall(const Party& party, const Trial& trial) : party_(party) {
    for (int rank = 0; rank < party.size(); ++rank)
      exchanges_.push_back(std::make_unique<Exchange>(party.rank(rank), trial));
  }
  void start() const {
    check(rondo_group_start());
    for (int rank = 0; rank < party_.size(); ++rank)
      check(exchanges_[static_cast<size_t>(rank)]->start(party_.handle(rank)));
    check(rondo_group_end());
  }
  void verify() const {
    for (const auto& one : exchanges_) one->verify();
  }

 private:
  const Party& party_;
  std::vector<std::unique_ptr<Exchange>> exchanges_;
};

void random_groups(const std::string& devices, int nranks) {
  INFO(nranks << " ranks on " << devices);
  const Party party(nranks, devices);
  constexpr uint64_t kFirstSeed = 900;
  for (uint64_t seed = kFirstSeed; seed < kFirstSeed + 40; ++seed) {
    Trial trial = random_trial(seed, nranks, 3000);
    trial.shift = 0;
    const PartyCall call(party, trial);
    call.start();
    party.synchronize();
    call.verify();
  }
}

TEST_CASE("one thread drives ranks on their streams") {
  if (lacks_gpus()) return;
  for (const int nranks : {1, 2, 5}) random_groups("cuda:0", nranks);
  if (!lacks_gpus(2)) random_groups("cuda:0,1", 4);
}

/// `count` numbers in device memory.
struct Numbers {
  Numbers(const ForeignMemory& memory, size_t count, int32_t value) : memory_(memory), count_(count) {
    data = memory.allocate(count * sizeof(int32_t));
    set(value);
  }
  void set(int32_t value) const {
    const std::vector<int32_t> values(count_, value);
    memory_.copy(data.get(), values.data(), count_ * sizeof(int32_t));
  }
  /// The value that all of them have.
  int32_t get() const {
    std::vector<int32_t> values(count_);
    memory_.copy(values.data(), data.get(), count_ * sizeof(int32_t));
    for (const int32_t value : values) REQUIRE(value == values.front());
    return values.front();
  }
  std::shared_ptr<std::byte> data;

 private:
  const ForeignMemory& memory_;
  size_t count_;
};

/// Sums all ranks' numbers in place, once the group ends.
void start_sums(const Party& party, const std::vector<Numbers>& numbers, size_t count) {
  for (int rank = 0; rank < party.size(); ++rank) {
    void* data = numbers[static_cast<size_t>(rank)].data.get();
    check(rondo_all_reduce(data, data, count, RONDO_INT32, RONDO_SUM, party.comm(rank), party.handle(rank)));
  }
}

/// Sums all ranks' numbers in place, by `sums` successive all-reduces.
void add_up(const Party& party, const std::vector<Numbers>& numbers, size_t count, int sums) {
  for (int i = 0; i < sums; ++i) {
    check(rondo_group_start());
    start_sums(party, numbers, count);
    check(rondo_group_end());
  }
}

std::vector<Numbers> numbers_of(const Party& party, size_t count) {
  std::vector<Numbers> numbers;
  for (int rank = 0; rank < party.size(); ++rank) numbers.emplace_back(party.memory(rank), count, 1);
  return numbers;
}

TEST_CASE("calls on a stream run in order") {
  if (lacks_gpus()) return;
  constexpr size_t kCount = 5000;
  const Party party(3, "cuda:0");
  const auto numbers = numbers_of(party, kCount);
  add_up(party, numbers, kCount, 10);
  party.synchronize();
  for (const Numbers& one : numbers) CHECK(one.get() == 59049);  // 3 to the 10th
}

TEST_CASE("a stream takes any number of word operations at once") {
  if (lacks_gpus()) return;
  constexpr uint32_t kWords = 600;  // more than two of CUDA's batches
  const Party party(1, "cuda:0");
  auto memory = gpu::Memory::allocate(gpu::MemoryKind::Pinned, 0, kWords * sizeof(uint32_t));
  require_ok(memory.status());
  auto* const words = reinterpret_cast<uint32_t*>(memory.value().data());
  std::vector<gpu::WordOperation> operations;
  for (uint32_t i = 0; i < kWords; ++i)
    operations.push_back({gpu::WordOperation::Type::Write, words + i, i + 1});
  const gpu::Current current(party.device(0));
  for (const size_t count : {size_t{254}, size_t{255}, size_t{256}, size_t{kWords}}) {
    INFO(count << " operations");
    std::fill_n(words, kWords, 0);
    require_ok(gpu::operate(party.stream(0), std::span(operations).first(count)));
    require_ok(gpu::synchronize(party.stream(0)));
    CHECK(words[count - 1] == count);
    CHECK(std::count(words, words + kWords, 0) == static_cast<ptrdiff_t>(kWords - count));
  }
}

/// Orders later work on one stream behind what is on another.
void order(const Party& party, int earlier, int later) {
  auto event = gpu::Event::create(party.device(earlier));
  require_ok(event.status());
  {
    const gpu::Current current(party.device(earlier));
    require_ok(event.value().record(party.stream(earlier)));
  }
  const gpu::Current current(party.device(later));
  require_ok(event.value().hold(party.stream(later)));
}

using Ranks = std::vector<int>;

Ranks all_ranks(const Party& party) {
  Ranks all(static_cast<size_t>(party.size()));
  std::iota(all.begin(), all.end(), 0);
  return all;
}

std::vector<Ranks> ranks_by_device(const Party& party) {
  std::map<int, Ranks> found;
  for (const int rank : all_ranks(party)) found[party.device(rank)].push_back(rank);
  std::vector<Ranks> sets;
  for (const auto& [device, ranks] : found) sets.push_back(ranks);
  return sets;
}

/// Captures what `body` enqueues, into a graph for each set of ranks.
std::vector<gpu::Graph> capture(const Party& party, const std::vector<Ranks>& sets,
                                const std::function<void()>& body) {
  for (const Ranks& ranks : sets) {
    const gpu::Current current(party.device(ranks[0]));
    require_ok(gpu::begin_capture(party.stream(ranks[0])));
    for (size_t i = 1; i < ranks.size(); ++i) order(party, ranks[0], ranks[i]);
  }
  body();
  std::vector<gpu::Graph> graphs;
  for (const Ranks& ranks : sets) {
    for (size_t i = 1; i < ranks.size(); ++i) order(party, ranks[i], ranks[0]);
    const gpu::Current current(party.device(ranks[0]));
    auto graph = gpu::Graph::end_capture(party.stream(ranks[0]));
    require_ok(graph.status());
    graphs.push_back(graph.take());
  }
  return graphs;
}

/// Launches each graph by a thread of its own, because a launch may wait for room on its device.
void launch(const Party& party, const std::vector<gpu::Graph>& graphs, const std::vector<Ranks>& sets,
            int times) {
  std::vector<std::future<void>> launches;
  for (size_t i = 0; i < sets.size(); ++i)
    launches.push_back(std::async(std::launch::async, [&, i] {
      const int leader = sets[i][0];
      const gpu::Current current(party.device(leader));
      for (int done = 0; done < times; ++done) require_ok(graphs[i].launch(party.stream(leader)));
    }));
  for (auto& one : launches) one.get();
}

int32_t power(int base, int exponent) {
  int32_t value = 1;
  for (int i = 0; i < exponent; ++i) value *= base;
  return value;
}

enum class Graphs { One, ByDevice };

void replay(const std::string& devices, int nranks, const char* transport = nullptr,
            Graphs graphs_are = Graphs::One) {
  INFO(nranks << " ranks on " << devices << ", " << (transport ? transport : "no transport requested"));
  constexpr size_t kCount = 300;
  const int replays = graphs_are == Graphs::One ? 1000 : 200;  // GPUs that wait for one another take turns
  constexpr int kRun = 4;                                      // replays before the numbers are reset
  const Party party(nranks, devices, transport);
  const auto numbers = numbers_of(party, kCount);
  const auto sets = graphs_are == Graphs::One ? std::vector<Ranks>{all_ranks(party)} : ranks_by_device(party);
  const auto graphs = capture(party, sets, [&] { add_up(party, numbers, kCount, 2); });
  for (int done = 0; done < replays; done += kRun) {
    for (const Numbers& one : numbers) one.set(1);
    add_up(party, numbers, kCount, 1);  // a call outside the graph
    party.synchronize();
    launch(party, graphs, sets, kRun);
    party.synchronize();
    for (const Numbers& one : numbers) REQUIRE(one.get() == power(nranks, 1 + 2 * kRun));
  }
}

TEST_CASE("a captured graph is replayed, also between other calls of its communicator") {
  if (lacks_gpus()) return;
  replay("cuda:0", 1);
  replay("cuda:0", 3);
  if (!lacks_gpus(2)) replay("cuda:0,1", 2);
  replay("cuda:0", 2, "shm");
}

/// Ways of making a party's calls over connections: relayed, and over memory that GPUs share.
struct OverConnections {
  const char* transport;
  const char* algorithm;
};
constexpr OverConnections kOverConnections[] = {{"shm", ""}, {nullptr, "all_reduce=ring"}};

TEST_CASE("over connections the ranks of each GPU are captured into a graph of their own") {
  if (lacks_gpus(2)) return;
  for (const auto& [transport, algorithm] : kOverConnections) {
    const Environment requested("RONDO_ALGORITHM", algorithm);
    replay("cuda:0,1", 2, transport, Graphs::ByDevice);
    replay("cuda:0,1", 4, transport, Graphs::ByDevice);
  }
}

TEST_CASE("a graph that spans several GPUs is refused over connections, and the communicator stays usable") {
  if (lacks_gpus(2)) return;
  constexpr size_t kCount = 10;
  for (const auto& [transport, algorithm] : kOverConnections) {
    const Environment requested("RONDO_ALGORITHM", algorithm);
    const Party party(4, "cuda:0,1", transport);
    const auto numbers = numbers_of(party, kCount);
    capture(party, {all_ranks(party)}, [&] {
      check(rondo_group_start());
      start_sums(party, numbers, kCount);
      check_fails(rondo_group_end(), RONDO_INVALID_USAGE, {"GPUs 0 and 1", "ranks 0 and 1", "one graph"});
    });
    add_up(party, numbers, kCount, 1);
    party.synchronize();
    for (const Numbers& one : numbers) CHECK(one.get() == 4);
  }
}

TEST_CASE("streams of which only some are captured are refused, and the communicator stays usable") {
  if (lacks_gpus()) return;
  constexpr size_t kCount = 10;
  for (const char* devices : {"cuda:0", "cuda:0,1"})
    for (const char* transport : {static_cast<const char*>(nullptr), "shm"}) {
      if (std::string(devices) != "cuda:0" && lacks_gpus(2)) continue;
      INFO(devices << ", " << (transport ? transport : "no transport requested"));
      const Party party(2, devices, transport);
      const auto numbers = numbers_of(party, kCount);
      capture(party, {{0}}, [&] {
        check(rondo_group_start());
        start_sums(party, numbers, kCount);
        check_fails(rondo_group_end(), RONDO_INVALID_USAGE, {"captured", "rank"});
      });
      add_up(party, numbers, kCount, 1);
      party.synchronize();
      for (const Numbers& one : numbers) CHECK(one.get() == 2);
    }
}

}  // namespace
}  // namespace rondo::test
