// GPU collectives over connections between processes. Nothing here uses CUDA before ranks are forked.
#include "random_calls.h"
#include "worlds.h"

namespace rondo::test {
namespace {

TEST_CASE("processes with a GPU each make random calls over every transport") {
  if (children_lack_gpus(2)) return;
  const Environment slots("RONDO_SLOT_BYTES", "1024");
  for (const char* transport : {"shm", "tcp"}) {
    INFO(transport);
    expect_success(run_world({.nranks = 2, .transport = transport, .devices = {"cuda:0", "cuda:1"}},
                             [](Rank& rank) { random_calls(rank, rank.rank, 80'000, 40); }));
  }
}

TEST_CASE("processes that share a GPU over connections are refused with the reason") {
  if (children_lack_gpus()) return;
  expect_success(run_world({.nranks = 2, .transport = "tcp", .devices = {"cuda:0"}}, [](Rank& rank) {
    const auto memory = foreign_memory(gpu::MemoryKind::Device, 0).allocate(4096);
    check_fails(rondo_all_reduce(memory.get(), memory.get(), 10, RONDO_INT32, RONDO_SUM, rank.comm, nullptr),
                RONDO_UNSUPPORTED, {"rank 0", "rank 1", "share a GPU"}, rank.comm);
  }));
}

}  // namespace
}  // namespace rondo::test
