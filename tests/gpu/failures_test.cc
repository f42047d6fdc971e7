// SPDX-License-Identifier: Apache-2.0
// Failures between processes that make GPU calls: all ranks soon learn the cause, and streams continue.
#include <signal.h>

#include <utility>

#include "failing.h"
#include "scoped_environment.h"

namespace rondo::test {
namespace {

/// Rank 0 takes part in one call, then does `instead`; the other streams wait for it in several more calls.
void leave_alone(Rank& rank, const std::function<void()>& instead, rondo_status_t expected,
                 const std::vector<std::string>& words, double limit_s) {
  Device device(0);
  int64_t* const data = device.ints(kCount, 1);
  sum(rank, data, nullptr);
  if (rank.rank == 0) return instead();
  for (int i = 0; i < 20; ++i) sum(rank, data, device.handle());
  const rondo_status_t status = failure_of(rank.comm, limit_s);
  const double drained_s = device.drain_s();
  require(drained_s < kSoon_s, "the stream took " + std::to_string(drained_s) + " s");
  check_fails(status, expected, words, rank.comm);
  check_fails(rondo_all_reduce(data, data, kCount, RONDO_INT64, RONDO_SUM, rank.comm, device.handle()),
              expected, words, rank.comm);
}

TEST_CASE("streams continue after an abort") {
  if (children_lack_gpus()) return;
  const TurnsFolder folder;
  expect_success(run_world(processes(3, {"cuda:0"}, folder.with({kTight})), [](Rank& rank) {
    leave_alone(
        rank,
        [&] {
          sleep_ms(100);
          check(rondo_abort(rank.comm));
        },
        RONDO_ABORTED, {"rank 0", "rondo_abort"}, 5);
  }));
}

TEST_CASE("streams continue after the death of a process") {
  if (children_lack_gpus()) return;
  const TurnsFolder folder;
  auto outcomes = run_world(processes(3, {"cuda:0"}, folder.with({kTight})), [](Rank& rank) {
    leave_alone(
        rank,
        [] {
          sleep_ms(50);
          ::raise(SIGKILL);
        },
        RONDO_REMOTE_ERROR, {"rank 0"}, 5);
  });
  CHECK(outcomes.front().signal == SIGKILL);
  outcomes.erase(outcomes.begin());
  expect_success(outcomes);
}

/// How rank 0 ends a communicator on which the others' streams wait for it, and what they are told.
struct Ending {
  const char* name;
  rondo_status_t (*end)(rondo_comm_t);
  rondo_status_t told;
  std::vector<std::string> words;
};

const std::vector<Ending>& endings() {
  static const std::vector<std::string> finalizes{"called all_reduce(",
                                                  "rank 0 called rondo_finalize() instead"};
  static const std::vector<Ending> all{
      {"rondo_finalize", rondo_finalize, RONDO_MISMATCH, finalizes},
      {"rondo_destroy", rondo_destroy, RONDO_MISMATCH, finalizes},
      {"rondo_leave", rondo_leave, RONDO_REMOTE_ERROR, {"rank 0 (process", "waits for it"}}};
  return all;
}

void end_early(Rank& rank, const Ending& ending, bool duplicate, int ordinal) {
  Device device(ordinal);
  int64_t* const data = device.ints(kCount, 1);
  Rank on = rank;
  if (duplicate) check(rondo_duplicate(rank.comm, &on.comm), rank.comm);
  sum(on, data, nullptr);
  if (rank.rank == 0) {
    const rondo_status_t status = ending.end(on.comm);  // a mismatch if it still waits when the others fail
    require(status == RONDO_OK || status == RONDO_MISMATCH, rondo_status_string(status));
    if (ending.end != rondo_finalize) on.comm = nullptr;
  } else {
    for (int i = 0; i < 3; ++i) sum(on, data, device.handle());
    check_fails(failure_of(on.comm, 5), ending.told, ending.words, on.comm);
    require(device.drain_s() < kSoon_s, "the stream kept waiting");
  }
  if (!duplicate) return void(rank.comm = on.comm);
  check(rondo_barrier(rank.comm, nullptr), rank.comm);
  rondo_destroy(on.comm);
}

TEST_CASE("a rank that ends the communicator while streams wait for it is named soon") {
  const Environment gpus("RONDO_STANDIN_DEVICES", "3");
  const TurnsFolder folder;
  for (const bool connected : {false, true}) {
    if (children_lack_gpus(connected ? 3 : 1)) continue;
    WorldOptions options = processes(3, {"cuda:0"}, folder.with({kTight}));
    if (connected) options.devices = {"cuda:0", "cuda:1", "cuda:2"};
    if (connected) options.algorithm = "all_reduce=ring";
    for (const Ending& ending : endings())
      for (const bool duplicate : {false, true}) {
        INFO(ending.name << (duplicate ? ", of a duplicate" : "")
                         << (connected ? ", connections" : ", staged"));
        expect_success(run_world(
            options, [&](Rank& rank) { end_early(rank, ending, duplicate, connected ? rank.rank : 0); }));
      }
  }
}

TEST_CASE("a rank that has left does not fail a call that it took part in") {
  const Environment gpus("RONDO_STANDIN_DEVICES", "3");
  if (children_lack_gpus(3)) return;
  WorldOptions options = processes(3, {"cuda:0", "cuda:1", "cuda:2"});
  options.algorithm = "gather=linear";
  expect_success(run_world(options, [](Rank& rank) {
    Device device(rank.rank);
    int64_t* const own = device.ints(1, rank.rank);
    int64_t* const all = device.ints(3, -1);
    const auto gather = [&] {
      check(rondo_gather(own, all, 1, RONDO_INT64, 1, rank.comm, device.handle()), rank.comm);
    };
    gather();  // connects
    device.drain_s();
    check(rondo_barrier(rank.comm, nullptr), rank.comm);
    if (rank.rank == 2) sleep_ms(1500);  // rank 1 looks into its wait after a second
    gather();
    if (rank.rank == 0) return check(rondo_leave(std::exchange(rank.comm, nullptr)));
    device.drain_s();
    if (rank.rank == 1) require(device.read(all, 3) == std::vector<int64_t>({0, 1, 2}), "gather");
  }));
}

TEST_CASE("a rank that never arrives is named at the deadline") {
  if (children_lack_gpus()) return;
  const TurnsFolder folder;
  WorldOptions options = processes(3, {"cuda:0"}, folder.with({kTight}));
  options.call_timeout_ms = 1500;
  expect_success(run_world(options, [](Rank& rank) {
    leave_alone(
        rank, [&] { require(failure_of(rank.comm, 10) == RONDO_TIMEOUT, "no timeout"); }, RONDO_TIMEOUT,
        {"all_reduce", "rank 0 (process"}, 10);
  }));
}

TEST_CASE("graphs launched after a failure complete") {
  if (children_lack_gpus()) return;
  const TurnsFolder folder;
  expect_success(run_world(processes(2, {"cuda:0"}, folder.with({kTight})), [](Rank& rank) {
    Device device(0);
    int64_t* const data = device.ints(kCount, 1);
    CUgraph graph = nullptr;
    CUgraphExec exec = nullptr;
    require_cu(CU(cuStreamBeginCapture)(device.stream(), CU_STREAM_CAPTURE_MODE_GLOBAL), "begin");
    sum(rank, data, device.handle());
    require_cu(CU(cuStreamEndCapture)(device.stream(), &graph), "end");
    require_cu(CU(cuGraphInstantiate)(&exec, graph, 0), "instantiate");
    require_cu(CU(cuGraphLaunch)(exec, device.stream()), "launch");
    device.drain_s();
    if (rank.rank == 0) check(rondo_abort(rank.comm));
    require(failure_of(rank.comm, 5) == RONDO_ABORTED, "no abort");
    for (int i = 0; i < 10; ++i) require_cu(CU(cuGraphLaunch)(exec, device.stream()), "launch");
    require(device.drain_s() < kSoon_s, "slow");
  }));
}

/// What the odd rank (the last) and the others call, and what the error says.
struct Disagreement {
  const char* name;
  std::function<rondo_status_t(const Rank&, int64_t* from, int64_t* to, bool odd, rondo_stream_t)> call;
  std::vector<std::string> words;
};

rondo_status_t reduce_all(const Rank& rank, int64_t* from, int64_t* to, size_t count, rondo_type_t type,
                          rondo_op_t op, rondo_stream_t stream) {
  return rondo_all_reduce(from, to, count, type, op, rank.comm, stream);
}

const std::vector<Disagreement>& disagreements() {
  static const std::vector<Disagreement> all{
      {"count",
       [](const Rank& rank, int64_t* from, int64_t* to, bool odd, rondo_stream_t stream) {
         return reduce_all(rank, from, to, odd ? 101 : 100, RONDO_INT64, RONDO_SUM, stream);
       },
       {"all_reduce(count=100, int64, sum)", "all_reduce(count=101, int64, sum)"}},
      {"a count of two steps and one of nothing",
       [](const Rank& rank, int64_t* from, int64_t* to, bool odd, rondo_stream_t stream) {
         return reduce_all(rank, from, to, odd ? 0 : 20'000, RONDO_INT64, RONDO_SUM, stream);
       },
       {"count=20000", "count=0"}},
      {"type",
       [](const Rank& rank, int64_t* from, int64_t* to, bool odd, rondo_stream_t stream) {
         return reduce_all(rank, from, to, 9, odd ? RONDO_FLOAT64 : RONDO_INT64, RONDO_SUM, stream);
       },
       {"float64", "int64"}},
      {"operation",
       [](const Rank& rank, int64_t* from, int64_t* to, bool odd, rondo_stream_t stream) {
         return reduce_all(rank, from, to, 9, RONDO_INT64, odd ? RONDO_MAX : RONDO_SUM, stream);
       },
       {"sum", "max"}},
      {"root",
       [](const Rank& rank, int64_t* from, int64_t* to, bool odd, rondo_stream_t stream) {
         return rondo_broadcast(from, to, 9, RONDO_INT64, odd ? 1 : 0, rank.comm, stream);
       },
       {"root=0", "root=1"}},
      {"collective",
       [](const Rank& rank, int64_t* from, int64_t* to, bool odd, rondo_stream_t stream) {
         if (odd) return rondo_all_gather(from, to, 9, RONDO_INT64, rank.comm, stream);
         return reduce_all(rank, from, to, 9, RONDO_INT64, RONDO_SUM, stream);
       },
       {"all_gather(", "all_reduce("}},
  };
  return all;
}

void disagree(Rank& rank, const Disagreement& one, bool on_stream) {
  constexpr size_t kBuffer = 20'000;
  Device device(0);
  int64_t* const from = device.ints(kBuffer, 5);
  int64_t* const to = device.ints(kBuffer, 77);
  sum(rank, device.ints(kCount, 1), nullptr);
  rondo_status_t status =
      one.call(rank, from, to, rank.rank == rank.size - 1, on_stream ? device.handle() : nullptr);
  if (status == RONDO_OK) {  // on a stream, or on a rank whose own data was right
    require(failure_of(rank.comm, 10) == RONDO_MISMATCH, "no rank reported it");
    status = reduce_all(rank, from, to, 1, RONDO_INT64, RONDO_SUM, device.handle());
  }
  check_fails(status, RONDO_MISMATCH, one.words, rank.comm);
  require(device.drain_s() < kSoon_s, "slow");
}

TEST_CASE("ranks that make different calls are told about both") {
  if (children_lack_gpus()) return;
  const TurnsFolder folder;
  for (const Disagreement& one : disagreements())
    for (const bool on_stream : {false, true}) {
      INFO(one.name << (on_stream ? ", on streams" : ""));
      expect_success(run_world(processes(3, {"cuda:0"}, folder.with({kTight})),
                               [&](Rank& rank) { disagree(rank, one, on_stream); }));
    }
}

TEST_CASE("nothing is written if ranks make different calls") {
  if (children_lack_gpus()) return;
  const TurnsFolder folder;
  expect_success(run_world(processes(2, {"cuda:0"}, folder.with()), [](Rank& rank) {
    Device device(0);
    int64_t* const from = device.ints(kCount, 5);
    int64_t* const to = device.ints(kCount, 77);
    static_cast<void>(
        reduce_all(rank, from, to, rank.rank == 0 ? 100 : 101, RONDO_INT64, RONDO_SUM, nullptr));
    device.drain_s();
    require(device.all_are(to, kCount, 77), "something was written");
  }));
}

TEST_CASE("lengths that both ends of a pair know are compared") {
  if (children_lack_gpus()) return;
  const TurnsFolder folder;
  expect_success(run_world(processes(2, {"cuda:0"}, folder.with({kTight})), [](Rank& rank) {
    Device device(0);
    int64_t* const from = device.ints(kCount, 5);
    int64_t* const to = device.ints(kCount, 77);
    const size_t sends[]{3, rank.rank == 0 ? size_t{900} : size_t{3}};
    const size_t receives[]{rank.rank == 0 ? size_t{3} : size_t{901}, 3};
    const rondo_status_t status =
        rondo_all_to_all_v(from, sends, nullptr, to, receives, nullptr, RONDO_INT64, rank.comm, nullptr);
    if (rank.rank == 1)  // its lengths do not match
      check_fails(status, RONDO_MISMATCH, {"all_to_all_v(900 elements", "all_to_all_v(901 elements"},
                  rank.comm);
    require(failure_of(rank.comm, 10) == RONDO_MISMATCH, "no mismatch");
  }));
}

}  // namespace
}  // namespace rondo::test
