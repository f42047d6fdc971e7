// SPDX-License-Identifier: Apache-2.0
// Ranks that disagree: all of them soon get an error that names ranks and both calls; it is sticky; other
// communicators keep working.
#include <chrono>
#include <functional>
#include <set>
#include <thread>

#include "catch.h"
#include "exchange.h"
#include "rondo/topology.h"
#include "worlds.h"

namespace rondo::test {
namespace {

/// What the odd rank (the last) and the others call on a communicator of their own, and what the error says.
struct Disagreement {
  const char* name;
  std::function<rondo_status_t(rondo_comm_t, int rank, bool odd)> call;
  std::vector<std::string> words;
};

// Each rank's own, even if ranks are threads.
thread_local std::array<int64_t, 4096> memory_a;
thread_local std::array<int64_t, 4096> memory_b;
const void* from() { return memory_a.data(); }
void* to() { return memory_b.data(); }

constexpr std::array<size_t, 3> kCounts{3, 4, 5};
constexpr std::array<size_t, 3> kOther{3, 4, 6};

rondo_status_t sum(rondo_comm_t comm, size_t count, rondo_type_t type = RONDO_INT32,
                   rondo_op_t op = RONDO_SUM) {
  return rondo_all_reduce(from(), to(), count, type, op, comm, nullptr);
}
rondo_status_t gather_all(rondo_comm_t comm, size_t count) {
  return rondo_all_gather(from(), to(), count, RONDO_INT32, comm, nullptr);
}

const std::vector<Disagreement>& disagreements() {
  static const std::vector<Disagreement> all{
      {"count",
       [](rondo_comm_t comm, int, bool odd) { return sum(comm, odd ? 101 : 100); },
       {"rank ", "all_reduce(count=100, int32, sum)", "all_reduce(count=101, int32, sum)"}},
      {"a count of many tiles against a small one",
       [](rondo_comm_t comm, int, bool odd) { return sum(comm, odd ? 1 : 8000); },
       {"count=8000", "count=1,"}},
      {"a count of nothing",
       [](rondo_comm_t comm, int, bool odd) { return sum(comm, odd ? 0 : 100); },
       {"count=0", "count=100"}},
      {"type",
       [](rondo_comm_t comm, int, bool odd) { return sum(comm, 9, odd ? RONDO_FLOAT32 : RONDO_INT32); },
       {"int32", "float32"}},
      {"operation",
       [](rondo_comm_t comm, int, bool odd) {
         return sum(comm, 9, RONDO_INT32, odd ? RONDO_MAX : RONDO_SUM);
       },
       {"sum", "max"}},
      {"collective",
       [](rondo_comm_t comm, int, bool odd) { return odd ? gather_all(comm, 9) : sum(comm, 9); },
       {"all_gather(", "all_reduce("}},
      {"a barrier and a sum",
       [](rondo_comm_t comm, int, bool odd) { return odd ? rondo_barrier(comm, nullptr) : sum(comm, 9); },
       {"barrier()", "all_reduce("}},
      {"a gather of as many bytes as detection begins with",
       [](rondo_comm_t comm, int, bool odd) {
         if (odd) return rondo_all_gather(from(), to(), 16, RONDO_UINT8, comm, nullptr);
         rondo_topology_t topology = nullptr;
         return rondo_topology_detect_all(&topology, comm, nullptr);
       },
       {"rondo_topology_detect_all(), call 1", "all_gather(count=16, uint8), call 1"}},
      {"a split and a sum",
       [](rondo_comm_t comm, int rank, bool odd) {
         if (!odd) return sum(comm, 9);
         rondo_comm_t part = nullptr;
         return rondo_split(comm, 0, rank, &part, nullptr);
       },
       {"rondo_split() or rondo_duplicate(), call 1", "all_reduce(count=9"}},
      {"root",
       [](rondo_comm_t comm, int, bool odd) {
         return rondo_broadcast(from(), to(), 9, RONDO_INT32, odd ? 1 : 0, comm, nullptr);
       },
       {"broadcast(count=9, int32, root=0)", "broadcast(count=9, int32, root=1)"}},
      {"order",
       [](rondo_comm_t comm, int, bool odd) {
         const rondo_status_t first = odd ? gather_all(comm, 7) : sum(comm, 9);
         if (first != RONDO_OK) return first;
         return odd ? sum(comm, 9) : gather_all(comm, 7);
       },
       {"all_gather(count=7", "all_reduce(count=9", "call 1"}},
      {"a call that only some make",
       [](rondo_comm_t comm, int, bool odd) {
         if (!odd) {
           const rondo_status_t first = gather_all(comm, 7);
           if (first != RONDO_OK) return first;
         }
         return sum(comm, 9);
       },
       {"all_gather(count=7", "all_reduce(count=9"}},
      {"lengths of an all_gather_v",
       [](rondo_comm_t comm, int, bool odd) {
         return rondo_all_gather_v(from(), to(), (odd ? kOther : kCounts).data(), nullptr, RONDO_INT32, comm,
                                   nullptr);
       },
       {"all_gather_v(5 elements", "all_gather_v(6 elements"}},
      {"lengths of a reduce_scatter_v",
       [](rondo_comm_t comm, int, bool odd) {
         return rondo_reduce_scatter_v(from(), to(), (odd ? kOther : kCounts).data(), RONDO_INT32, RONDO_SUM,
                                       comm, nullptr);
       },
       {"reduce_scatter_v("}},
      {"lengths of a gather_v",
       [](rondo_comm_t comm, int rank, bool odd) {
         return rondo_gather_v(from(), kCounts[static_cast<size_t>(rank)] + (odd ? 1 : 0), to(),
                               kCounts.data(), nullptr, RONDO_INT32, 0, comm, nullptr);
       },
       {"gather_v(5 elements", "gather_v(6 elements"}},
      {"lengths of a scatter_v",
       [](rondo_comm_t comm, int rank, bool odd) {
         return rondo_scatter_v(from(), kCounts.data(), nullptr, to(),
                                kCounts[static_cast<size_t>(rank)] + (odd ? 1 : 0), RONDO_INT32, 0, comm,
                                nullptr);
       },
       {"scatter_v("}},
      {"lengths of an all_to_all_v",
       [](rondo_comm_t comm, int rank, bool odd) {
         std::array<size_t, 3> sends{2, 2, 2};
         const std::array<size_t, 3> receives{2, 2, 2};
         if (odd) sends[rank == 0 ? 1 : 0] = 3;
         return rondo_all_to_all_v(from(), sends.data(), nullptr, to(), receives.data(), nullptr, RONDO_INT32,
                                   comm, nullptr);
       },
       {"all_to_all_v(2 elements", "all_to_all_v(3 elements"}},
      {"a form with lengths and one without",
       [](rondo_comm_t comm, int, bool odd) {
         const std::array<size_t, 3> same{4, 4, 4};
         if (odd) return gather_all(comm, 4);
         return rondo_all_gather_v(from(), to(), same.data(), nullptr, RONDO_INT32, comm, nullptr);
       },
       {"all_gather_v(", "all_gather(count=4"}},
  };
  return all;
}

/// The cause, without the rank and the call that noticed it.
std::string cause_in(const std::string& text) {
  const size_t at = text.find("ranks disagree");
  return at == std::string::npos ? text : text.substr(at);
}

/// Requires that all calls named have one sequence number: that of the call about which the ranks disagree.
void require_one_number(const std::string& cause) {
  std::set<std::string> numbers;
  for (size_t at = cause.find(", call "); at != std::string::npos; at = cause.find(", call ", at + 1))
    numbers.insert(cause.substr(at, cause.find_first_not_of("0123456789", at + 7) - at));
  require(numbers.size() == 1, "calls of several numbers: " + cause);
}

/// A rank's first failure: of the call itself or, if that could complete without the others, of a later one.
rondo_status_t until_failure(rondo_comm_t comm, rondo_status_t status) {
  while (status == RONDO_OK) status = rondo_barrier(comm, nullptr);
  return status;
}

void expect_to_stay(rondo_comm_t comm, rondo_status_t status) {
  const std::string cause = cause_in(rondo_last_error(comm));
  rondo_status_t known = RONDO_OK;
  check(rondo_async_error(comm, &known));
  require(known == status, "rondo_async_error() does not know");
  require(sum(comm, 1) == status, "the next call has a different outcome");
  require(cause_in(rondo_last_error(comm)) == cause, "the next call names a different cause");
  require(rondo_finalize(comm) == status, "finalize has a different outcome");
}

void disagree(const Rank& rank, const Disagreement& about) {
  const auto start = std::chrono::steady_clock::now();
  Owned comm;
  check(rondo_duplicate(rank.comm, comm.out()), rank.comm);
  const rondo_status_t status =
      until_failure(comm.get(), about.call(comm.get(), rank.rank, rank.rank == rank.size - 1));
  std::vector<std::string> words = about.words;
  words.push_back("ranks disagree: rank ");
  words.push_back(" [R0301]");
  try {
    check_fails(status, RONDO_MISMATCH, words, comm.get());
    require_one_number(cause_in(rondo_last_error(comm.get())));
    expect_to_stay(comm.get(), RONDO_MISMATCH);
  } catch (const std::exception& failure) {
    throw std::runtime_error(std::string(about.name) + ": " + failure.what());
  }
  const auto took = std::chrono::steady_clock::now() - start;
  require(took < std::chrono::seconds(10), std::string(about.name) + ": it took too long");
}

TEST_CASE("ranks that disagree about a call soon learn which ranks and calls differ") {
  for (const Way& way : kWays) {
    INFO(way.transport);
    expect_success(run_world(world_of(way, 3), [](Rank& rank) {
      for (const Disagreement& about : disagreements()) {
        disagree(rank, about);
        check(rondo_barrier(rank.comm, nullptr), rank.comm);
      }
    }));
  }
}

/// The ranks' settings differ, rather than their calls.
void differ_in(const Rank& rank, const rondo_config_t& config, std::vector<std::string> words) {
  words.push_back(" [R0302]");
  Owned comm;
  check(rondo_split(rank.comm, 0, rank.rank, comm.out(), &config), rank.comm);
  check_fails(until_failure(comm.get(), sum(comm.get(), 1000)), RONDO_MISMATCH, words, comm.get());
  expect_to_stay(comm.get(), RONDO_MISMATCH);
}

TEST_CASE("ranks that use different algorithms are told so") {
  for (const Way& way : kWays) {
    INFO(way.transport);
    expect_success(run_world(world_of(way, 3), [](Rank& rank) {
      rondo_config_t config = RONDO_CONFIG_INITIALIZER;
      config.algorithm = rank.rank == 2 ? "all_reduce=recursive_doubling" : "all_reduce=two_shot";
      differ_in(rank, config, {"a different algorithm"});
      check(rondo_barrier(rank.comm, nullptr), rank.comm);
    }));
  }
}

TEST_CASE("ranks whose rules differ in a limit or an executor are told so") {
  const struct {
    const char* rules;
    const char* of_rank_0;
    const char* word;
  } rows[] = {{"all_reduce=two_shot:4000,recursive_doubling", "all_reduce=two_shot:3999,recursive_doubling",
               "a different algorithm"},
              {"all_reduce=@shm_pull:3999,@connections", "all_reduce=@shm_pull:4000,@connections",
               "executor or transport"}};
  for (const auto& [rules, of_rank_0, word] : rows) {
    INFO(of_rank_0);
    expect_success(run_world({.nranks = 2}, [=](Rank& rank) {
      rondo_config_t config = RONDO_CONFIG_INITIALIZER;
      config.algorithm = rank.rank == 0 ? of_rank_0 : rules;
      differ_in(rank, config, {"ranks disagree: rank ", word});  // in a sum of 4000 bytes
      check(rondo_barrier(rank.comm, nullptr), rank.comm);
    }));
  }
}

TEST_CASE("ranks with different slot sizes are told so") {
  for (const char* transport : {"shm", "tcp"}) {
    INFO(transport);
    expect_success(run_world({.nranks = 2, .transport = transport}, [=](Rank& rank) {
      ::setenv("RONDO_SLOT_BYTES", rank.rank == 0 ? "4096" : "8192", 1);
      ::setenv("RONDO_EXCHANGE_BYTES", "0", 1);
      rondo_config_t config = RONDO_CONFIG_INITIALIZER;
      config.transport = transport;
      differ_in(rank, config, {"slot"});
      check(rondo_barrier(rank.comm, nullptr), rank.comm);
    }));
  }
}

TEST_CASE("ranks with different exchange limits are told so") {
  expect_success(run_world({.nranks = 2}, [=](Rank& rank) {
    ::setenv("RONDO_EXCHANGE_BYTES", rank.rank == 0 ? "4000" : "3999", 1);
    differ_in(rank, RONDO_CONFIG_INITIALIZER, {"a different algorithm"});
    check(rondo_barrier(rank.comm, nullptr), rank.comm);
  }));
}

TEST_CASE("two roots of one broadcast are found in the next call in which ranks wait for one another") {
  for (const Way& way : kWays) {
    INFO(way.transport);
    expect_success(run_world(world_of(way, 2), [](Rank& rank) {
      rondo_status_t status = rondo_broadcast(from(), to(), 5, RONDO_INT32, rank.rank, rank.comm, nullptr);
      if (status == RONDO_OK) status = sum(rank.comm, 9);
      check_fails(status, RONDO_MISMATCH, {"ranks disagree", "broadcast(count=5, int32, root="}, rank.comm);
    }));
  }
}

TEST_CASE("ranks that use different transports are told so") {
  for (const char* exchange_bytes : {"0", "16384"}) {
    INFO(exchange_bytes);
    expect_success(run_world({.nranks = 2}, [=](Rank& rank) {
      const bool by_connections = std::string(exchange_bytes) == "0";
      ::setenv("RONDO_EXCHANGE_BYTES", exchange_bytes, 1);
      rondo_config_t config = RONDO_CONFIG_INITIALIZER;
      config.transport = rank.rank == 0 ? "shm" : "tcp";
      const std::vector<std::string> transports{"transport", "shm", "tcp"};
      differ_in(rank, config,
                by_connections ? transports : std::vector<std::string>{"executor or transport"});
      check(rondo_barrier(rank.comm, nullptr), rank.comm);
    }));
  }
}

TEST_CASE("a call that one rank answers with finalize is named, long before the deadline") {
  for (const Way& way : kWays) {
    INFO(way.transport);
    expect_success(run_world(world_of(way, 3), [](Rank& rank) {
      Owned comm;
      check(rondo_duplicate(rank.comm, comm.out()), rank.comm);
      if (rank.rank == 1)
        check(rondo_finalize(comm.get()), comm.get());
      else
        check_fails(sum(comm.get(), 10), RONDO_MISMATCH,
                    {"called all_reduce(count=10", "rank 1 called rondo_finalize() instead"}, comm.get());
      check(rondo_barrier(rank.comm, nullptr), rank.comm);
    }));
  }
}

/// Each rank believes that it is the root, so no rank waits and only the end can reveal it.
TEST_CASE("two roots of one broadcast are found at the end at the latest") {
  for (const Way& way : kWays) {
    INFO(way.transport);
    expect_success(run_world(world_of(way, 2), [](Rank& rank) {
      rondo_status_t status = rondo_broadcast(from(), to(), 5, RONDO_INT32, rank.rank, rank.comm, nullptr);
      if (status == RONDO_OK) status = rondo_finalize(rank.comm);
      check_fails(status, RONDO_MISMATCH, {"ranks disagree", "broadcast(count=5, int32, root="}, rank.comm);
    }));
  }
}

TEST_CASE("a call that one rank never makes ends at the deadline, and names that rank") {
  for (const Way& way : kWays) {
    INFO(way.transport);
    WorldOptions options = world_of(way, 3);
    options.call_timeout_ms = 500;
    expect_success(run_world(options, [](Rank& rank) {
      if (rank.rank == 2) std::this_thread::sleep_for(std::chrono::milliseconds(1200));
      // The late rank gets the same error: it was the one waited for.
      check_fails(sum(rank.comm, 10), RONDO_TIMEOUT, {"all_reduce(count=10", "0.5 s", "rank 2"}, rank.comm);
    }));
  }
}

}  // namespace
}  // namespace rondo::test
