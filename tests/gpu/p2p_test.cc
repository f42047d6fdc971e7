// SPDX-License-Identifier: Apache-2.0
// GPU collectives by the device's executor over memory shared between the GPUs: ranks of one process.
#include <array>

#include "calls.h"
#include "exchange.h"
#include "gpu.h"
#include "worlds.h"

namespace rondo::test {
namespace {

constexpr std::array kProtocols{"simple", "ll", "ll128"};

void go_by(Rank rank, const Trial& trial, int device, const std::string& algorithm) {
  run_here(rank, device, gpu::MemoryKind::Device, trial);
  require(last_algorithm(rank) == algorithm, last_algorithm(rank));
}

TEST_CASE("every algorithm runs over every protocol, in several channels") {
  if (lacks_gpus()) return;
  const Environment slots("RONDO_SLOT_BYTES", "512");
  const Environment groups = in_groups(4);
  const Environment few("RONDO_SLOTS", "2");
  const Environment channels("RONDO_CHANNELS", "3");
  for (const char* protocol : kProtocols) {
    const Environment chosen("RONDO_PROTOCOL", protocol);
    for (const Kind kind : kAllCollectives)
      for (const std::string& name : algorithms_of(collective_name(kind), 4)) {
        const std::string algorithm = std::string(collective_name(kind)) + "=" + name;
        INFO(algorithm << " by " << protocol);
        expect_success(run_world(
            {.nranks = 4, .algorithm = algorithm, .devices = {"cuda:0"}, .threads = true}, [&](Rank& rank) {
              for (const size_t count : {0u, 301u, 5003u})
                go_by(rank, {.kind = kind, .count = count, .root = 1}, 0, name);
            }));
      }
  }
}

TEST_CASE("calls of all sizes use the protocols that suit them, with one GPU per rank") {
  if (lacks_gpus(2)) return;
  expect_success(run_world(
      {.nranks = 2, .algorithm = "all_reduce=ring", .devices = {"cuda:0", "cuda:1"}, .threads = true},
      [](Rank& rank) {
        for (const size_t count : {1u, 1000u, 30'000u, 100'003u, 2'000'003u, 7u})
          for (const rondo_type_t type : {RONDO_FLOAT32, RONDO_INT8})
            go_by(rank, {.kind = Kind::AllReduce, .count = count, .type = type}, rank.rank, "ring");
      }));
}

TEST_CASE("a protocol that needs shared memory is refused if a transport was requested") {
  if (lacks_gpus()) return;
  const Environment chosen("RONDO_PROTOCOL", "ll");
  expect_success(
      run_world({.nranks = 2, .transport = "shm", .devices = {"cuda:0"}, .threads = true}, [](Rank& rank) {
        const auto memory = foreign_memory(gpu::MemoryKind::Device, 0).allocate(64);
        check_fails(
            rondo_all_reduce(memory.get(), memory.get(), 10, RONDO_INT32, RONDO_SUM, rank.comm, nullptr),
            RONDO_UNSUPPORTED, {"RONDO_PROTOCOL is ll", "one host"}, rank.comm);
      }));
}

TEST_CASE("invalid settings are named") {
  const auto refused = [](const char* name, const char* value, const char* allowed) {
    const Environment set(name, value);
    rondo_comm_t comm = nullptr;
    check_fails(rondo_init_all(&comm, 1, nullptr), RONDO_INVALID_ARGUMENT, {name, value, allowed}, nullptr);
  };
  refused("RONDO_PROTOCOL", "LL256", "simple, ll or ll128");
  refused("RONDO_CHANNELS", "0", "1 to 64");
}

}  // namespace
}  // namespace rondo::test
