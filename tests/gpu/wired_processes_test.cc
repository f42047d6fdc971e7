// SPDX-License-Identifier: Apache-2.0
// GPU collectives by the device's executor between processes, over connections and over memory shared between
// GPUs. Nothing here uses CUDA before ranks are forked.
#include <array>
#include <csignal>

#include "calls.h"
#include "failing.h"
#include "processes.h"
#include "worlds.h"

namespace rondo::test {
namespace {

/// Options that make the executor run calls between two GPUs: a transport or algorithms are requested.
WorldOptions over(const std::string& transport) {
  WorldOptions options{.nranks = 2, .transport = transport, .devices = {"cuda:0", "cuda:1"}};
  if (transport.empty()) options.algorithm = an_algorithm_each(options.nranks);
  return options;
}

constexpr std::array kTransports{"shm", "tcp", ""};  // "": memory shared between GPUs

WorldOptions with(WorldOptions options, Variables environment) {
  options.environment = std::move(environment);
  return options;
}

TEST_CASE("random calls are right over every transport, for processes with a GPU each") {
  if (children_lack_gpus(2)) return;
  const Environment slots("RONDO_SLOT_BYTES", "1024");
  for (const char* transport : kTransports) {
    INFO(transport);
    expect_success(run_world(over(transport), [](Rank& rank) { random_calls(rank, rank.rank, 80'000, 40); }));
  }
}

TEST_CASE("every collective is right by every protocol, for processes with a GPU each") {
  if (children_lack_gpus(2)) return;
  for (const char* protocol : {"simple", "ll", "ll128"}) {
    INFO(protocol);
    const Variables tight{{"RONDO_SLOT_BYTES", "512"}, {"RONDO_CHANNELS", "4"}, {"RONDO_PROTOCOL", protocol}};
    expect_success(run_world(with(over(""), tight), [](Rank& rank) {
      every_kind(rank, rank.rank);
      require(last_algorithm(rank) != "gpu_staged", "not by the executor");
    }));
  }
}

TEST_CASE("GPUs that cannot access each other share host memory") {
  if (children_lack_gpus(2)) return;
  for (const Variables& obstacle :
       {Variables{{"RONDO_STANDIN_PEERS", "0"}}, Variables{{"RONDO_STANDIN_FAIL", "cuMemCreate:1:801"}}})
    expect_success(run_world(with(over(""), obstacle), [](Rank& rank) {
      every_kind(rank, rank.rank);
      require(last_algorithm(rank) != "gpu_staged", "not by the executor");
    }));
}

TEST_CASE("protocol ll128 is refused without NVLink") {
  if (children_lack_gpus(2)) return;
  const Variables apart{{"RONDO_STANDIN_PEERS", "0"}, {"RONDO_PROTOCOL", "ll128"}};
  expect_success(run_world(with(over(""), apart), [](Rank& rank) {
    const auto memory = foreign_memory(gpu::MemoryKind::Device, rank.rank).allocate(64);
    const auto status =
        rondo_all_reduce(memory.get(), memory.get(), 10, RONDO_INT32, RONDO_SUM, rank.comm, nullptr);
    if (gpu::linked(0, 1)) return check(status, rank.comm);  // NVLink cannot be disabled on this machine
    check_fails(status, RONDO_UNSUPPORTED, {"RONDO_PROTOCOL", "NVLink", "ranks 0 and 1"}, rank.comm);
  }));
}

TEST_CASE("ranks that make different calls are told about both") {
  if (children_lack_gpus(2)) return;
  for (const char* transport : kTransports)
    expect_success(run_world(over(transport), [](Rank& rank) {
      const auto memory = foreign_memory(gpu::MemoryKind::Device, rank.rank).allocate(4096);
      const auto count = static_cast<size_t>(100 + rank.rank);
      check_fails(
          rondo_all_reduce(memory.get(), memory.get(), count, RONDO_INT32, RONDO_SUM, rank.comm, nullptr),
          RONDO_MISMATCH, {"count=100", "count=101"}, rank.comm);
    }));
}

TEST_CASE("ranks whose connections would differ are told how") {
  if (children_lack_gpus(2)) return;
  expect_success(run_world(over(""), [](Rank& rank) {
    ::setenv("RONDO_SLOTS", rank.rank == 0 ? "2" : "4", 1);
    rondo_comm_t other = nullptr;
    rondo_config_t config = RONDO_CONFIG_INITIALIZER;
    config.algorithm = "all_reduce=ring";
    check(rondo_split(rank.comm, 0, rank.rank, &other, &config), rank.comm);
    const auto memory = foreign_memory(gpu::MemoryKind::Device, rank.rank).allocate(64);
    check_fails(rondo_all_reduce(memory.get(), memory.get(), 10, RONDO_INT32, RONDO_SUM, other, nullptr),
                RONDO_MISMATCH,
                {"the GPU of rank", "that of rank", "RONDO_SLOTS", "1 times 2 ", "1 times 4 "}, other);
    rondo_destroy(other);
  }));
}

TEST_CASE("a rank that never makes its first call over shared memory is named at the deadline") {
  if (children_lack_gpus(2)) return;
  WorldOptions options = over("");
  options.call_timeout_ms = 300;
  expect_success(run_world(options, [](Rank& rank) {
    if (rank.rank == 1) return require(failure_of(rank.comm, 10) == RONDO_TIMEOUT, "no timeout");
    const auto memory = foreign_memory(gpu::MemoryKind::Device, 0).allocate(64);
    check_fails(rondo_all_reduce(memory.get(), memory.get(), 10, RONDO_INT32, RONDO_SUM, rank.comm, nullptr),
                RONDO_TIMEOUT, {"all_reduce", "rank 1"}, rank.comm);
  }));
}

TEST_CASE("processes that share a GPU over connections are refused with the reason") {
  if (children_lack_gpus()) return;
  expect_success(run_world({.nranks = 2, .transport = "tcp", .devices = {"cuda:0"}}, [](Rank& rank) {
    const auto memory = foreign_memory(gpu::MemoryKind::Device, 0).allocate(4096);
    check_fails(rondo_all_reduce(memory.get(), memory.get(), 10, RONDO_INT32, RONDO_SUM, rank.comm, nullptr),
                RONDO_UNSUPPORTED, {"rank 0", "rank 1", "share a GPU"}, rank.comm);
  }));
}

/// A call of rank 0 on a stream that rank 1 never joins; both have made one call before.
class LonelyCall {
 public:
  explicit LonelyCall(const Rank& rank) : device_(rank.rank) {
    int64_t* const data = device_.ints(kCount, 1);
    const auto sum = [&](rondo_stream_t stream) {
      check(rondo_all_reduce(data, data, kCount, RONDO_INT64, RONDO_SUM, rank.comm, stream), rank.comm);
    };
    sum(nullptr);
    if (rank.rank == 0) sum(device_.handle());
  }
  double drain_s() const { return device_.drain_s(); }

 private:
  static constexpr size_t kCount = 100;
  Device device_;
};

TEST_CASE("an abort releases the streams of a waiting GPU") {
  if (children_lack_gpus(2)) return;
  for (const char* transport : kTransports)
    expect_success(run_world(over(transport), [](Rank& rank) {
      const LonelyCall call(rank);
      if (rank.rank == 1) {
        require(failure_of(rank.comm, 10) == RONDO_ABORTED, "not aborted");
        return;
      }
      sleep_ms(500);  // the other rank may still be in the first call
      check(rondo_abort(rank.comm));
      require(call.drain_s() < kSoon_s, "the stream kept waiting");
    }));
}

TEST_CASE("a GPU that waits for an absent rank is released at the deadline, and the rank is named") {
  if (children_lack_gpus(2)) return;
  for (const char* transport : kTransports) {
    WorldOptions options = over(transport);
    options.call_timeout_ms = 500;
    expect_success(run_world(options, [](Rank& rank) {
      const LonelyCall call(rank);
      if (rank.rank == 1) {
        require(failure_of(rank.comm, 10) == RONDO_TIMEOUT, "no timeout");
        return;
      }
      require(call.drain_s() < kSoon_s, "the stream kept waiting");
      check_fails(rondo_barrier(rank.comm, nullptr), RONDO_TIMEOUT, {"all_reduce", "rank 1"}, rank.comm);
    }));
  }
}

TEST_CASE("a GPU that waits for a process that dies is released, and the process is named") {
  if (children_lack_gpus(2)) return;
  for (const char* transport : kTransports) {
    const auto outcomes = run_world(over(transport), [](Rank& rank) {
      const LonelyCall call(rank);
      if (rank.rank == 1) {
        sleep_ms(50);
        ::raise(SIGKILL);
      }
      require(call.drain_s() < kSoon_s, "the stream kept waiting");
      check_fails(rondo_barrier(rank.comm, nullptr), RONDO_REMOTE_ERROR, {"rank 1"}, rank.comm);
    });
    CHECK(outcomes[1].signal == SIGKILL);
    INFO(outcomes[0].error);
    CHECK(outcomes[0].ok);
  }
}

}  // namespace
}  // namespace rondo::test
