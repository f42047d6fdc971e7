// SPDX-License-Identifier: Apache-2.0
// A wait that lasts says what it is for: sends and receives that wait for one another, messages that no rank
// receives, and calls on a communicator other than the one the others use.
#include <barrier>
#include <chrono>
#include <functional>
#include <stop_token>
#include <thread>

#include "catch.h"
#include "sanitized.h"
#include "worlds.h"

namespace rondo::test {
namespace {

/// The ways to wait for a message from `peer`; `wait` returns the outcome.
struct Receive {
  const char* name;
  std::function<rondo_status_t(rondo_comm_t, int peer, int tag)> wait;
};

thread_local int received = 0;

const std::vector<Receive>& receives() {
  static const std::vector<Receive> all{
      {"alone",
       [](rondo_comm_t comm, int peer, int tag) {
         return rondo_recv(&received, 1, RONDO_INT32, peer, tag, comm, nullptr, nullptr);
       }},
      {"started",
       [](rondo_comm_t comm, int peer, int tag) {
         rondo_request_t request = nullptr;
         check(rondo_irecv(&received, 1, RONDO_INT32, peer, tag, comm, nullptr, &request), comm);
         const rondo_status_t status = rondo_request_wait(request, 0);
         check(rondo_request_free(request));
         return status;
       }},
      {"in a group",
       [](rondo_comm_t comm, int peer, int tag) {
         check(rondo_group_start());
         check(rondo_recv(&received, 1, RONDO_INT32, peer, tag, comm, nullptr, nullptr), comm);
         return rondo_group_end();
       }},
      {"on a queue",
       [](rondo_comm_t comm, int peer, int tag) {
         const OwnedQueue queue;
         check(rondo_recv(&received, 1, RONDO_INT32, peer, tag, comm, queue.get(), nullptr), comm);
         return rondo_queue_synchronize(queue.get());
       }},
  };
  return all;
}

void make(const Rank& rank, const char* name, int64_t timeout_ms, Owned& comm,
          const char* transport = nullptr) {
  rondo_config_t config = RONDO_CONFIG_INITIALIZER;
  config.transport = transport;
  config.name = name;
  config.timeout_ms = timeout_ms;
  check(rondo_split(rank.comm, 0, rank.rank, comm.out(), &config), rank.comm);
}

void expect_words(const std::string& text, const std::vector<std::string>& words) {
  for (const std::string& word : words)
    require(text.find(word) != std::string::npos, "'" + word + "' is not in '" + text + "'");
}

/// The other rank must have come within it too, however busy the machine is.
constexpr int64_t kSoon_ms = kSanitized ? 600 : 250;
constexpr const char* kSoon = kSanitized ? "0.6 s" : "0.25 s";

TEST_CASE("a cycle of receives that wait for one another is listed") {
  for (const Way& way : kWays) {
    INFO(way.transport);
    expect_success(run_world(world_of(way, 3), [](Rank& rank) {
      for (const Receive& receive : receives()) {
        Owned comm;
        make(rank, receive.name, kSoon_ms, comm);
        require(receive.wait(comm.get(), (rank.rank + 1) % 3, 7) == RONDO_TIMEOUT, receive.name);
        expect_words(rondo_last_error(nullptr),
                     {"communicator '" + std::string(receive.name) + "'",
                      "rank 0 waits in recv(from 1, tag 7)", "rank 1 waits in recv(from 2, tag 7)",
                      "rank 2 waits in recv(from 0, tag 7)", ": they wait for one another", " [R0203]"});
        check(rondo_barrier(rank.comm, nullptr), rank.comm);
      }
    }));
  }
}

TEST_CASE("a receive with another tag than the message that has arrived is named with that message") {
  for (const Way& way : kWays) {
    INFO(way.transport);
    expect_success(run_world(world_of(way, 2), [](Rank& rank) {
      for (const Receive& receive : receives()) {
        Owned comm;
        make(rank, "tags", kSoon_ms, comm);
        if (rank.rank == 0) {
          check(rondo_send(&received, 1, RONDO_INT32, 1, 7, comm.get(), nullptr), comm.get());
          check(rondo_send(&received, 1, RONDO_INT32, 1, 6, comm.get(), nullptr), comm.get());
          require(rondo_barrier(comm.get(), nullptr) == RONDO_TIMEOUT, receive.name);
        } else {
          require(receive.wait(comm.get(), 0, 8) == RONDO_TIMEOUT, receive.name);
        }
        expect_words(
            rondo_last_error(nullptr),
            {"rank 1 waits in recv(from 0, tag 8)", "rank 0 is in barrier(), call 1",
             "they wait for one another",
             "; a message with tag 7 from rank 0 has arrived, but no receive matches it, nor 1 more"});
        check(rondo_barrier(rank.comm, nullptr), rank.comm);
      }
    }));
  }
}

TEST_CASE("a message that a rank can no longer send is reported missing long before the deadline") {
  for (const Way& way : kWays) {
    INFO(way.transport);
    expect_success(run_world(world_of(way, 2), [](Rank& rank) {
      const auto start = std::chrono::steady_clock::now();
      Owned comm;
      make(rank, "tags", 30'000, comm);
      if (rank.rank == 0) {
        check(rondo_send(&received, 1, RONDO_INT32, 1, 7, comm.get(), nullptr), comm.get());
        check(rondo_finalize(comm.get()), comm.get());
      } else {
        check_fails(rondo_recv(&received, 1, RONDO_INT32, 0, 8, comm.get(), nullptr, nullptr), RONDO_MISMATCH,
                    {"rank 1 called recv(from 0, tag 8); rank 0 called rondo_finalize() instead",
                     "; a message with tag 7 from rank 0 has arrived, but no receive matches it", " [R0304]"},
                    comm.get());
      }
      check(rondo_barrier(rank.comm, nullptr), rank.comm);
      require(std::chrono::steady_clock::now() - start < std::chrono::seconds(10), "it took too long");
    }));
  }
}

TEST_CASE("a receive from oneself without a message is reported as such") {
  expect_success(run_world({.nranks = 1}, [](Rank& rank) {
    for (const Receive& receive : receives()) {
      Owned comm;
      make(rank, "self", kSoon_ms, comm);
      check(rondo_send(&received, 1, RONDO_INT32, 0, 4, comm.get(), nullptr), comm.get());
      require(receive.wait(comm.get(), 0, 3) == RONDO_TIMEOUT, receive.name);
      expect_words(rondo_last_error(nullptr),
                   {std::string("recv(from 0, tag 3) did not complete within ") + kSoon,
                    "rank 0 waits in recv(from 0, tag 3), and has not sent itself such a message",
                    "; a message with tag 4 from rank 0 has arrived, but no receive matches it"});
    }
  }));
}

TEST_CASE("receives from any source name what each other rank is doing") {
  for (const Way& way : kWays) {
    INFO(way.transport);
    expect_success(run_world(world_of(way, 3), [](Rank& rank) {
      for (const Receive& receive : receives()) {
        Owned comm;
        make(rank, "any", kSoon_ms, comm);
        require(receive.wait(comm.get(), RONDO_ANY_SOURCE, 5) == RONDO_TIMEOUT, receive.name);
        const std::string text = rondo_last_error(nullptr);
        const std::string does = " waits in recv(from any source, tag 5)";
        const size_t first = text.find(does);
        require(first != std::string::npos && text.find(does, first + 1) != std::string::npos, text);
        check(rondo_barrier(rank.comm, nullptr), rank.comm);
      }
    }));
  }
}

TEST_CASE("a rank that waits in finalize is said to be there, not in an earlier call") {
  for (const Way& way : kWays) {
    INFO(way.transport);
    expect_success(run_world(world_of(way, 2), [](Rank& rank) {
      if (rank.rank == 0) {
        check(rondo_set_timeout(rank.comm, 1500));
        check_fails(rondo_recv(&received, 1, RONDO_INT32, RONDO_ANY_SOURCE, 5, rank.comm, nullptr, nullptr),
                    RONDO_TIMEOUT, {"rank 1 waits in rondo_finalize()"}, rank.comm);
      } else {
        check_fails(rondo_finalize(rank.comm), RONDO_TIMEOUT, {"recv(from any source, tag 5)"}, rank.comm);
      }
    }));
  }
}

TEST_CASE("a rank that no longer waits for its receive is not said to wait") {
  for (const Way& way : kWays) {
    INFO(way.transport);
    expect_success(run_world(world_of(way, 2), [](Rank& rank) {
      Owned comm;
      make(rank, "looked", 30'000, comm);
      if (rank.rank == 1) check(rondo_set_timeout(comm.get(), kSoon_ms));
      rondo_request_t request = nullptr;
      if (rank.rank == 0) {
        check(rondo_irecv(&received, 1, RONDO_INT32, 1, 5, comm.get(), nullptr, &request), comm.get());
        require(rondo_request_wait(request, 1200) == RONDO_IN_PROGRESS, "it is over");
      }
      check(rondo_barrier(rank.comm, nullptr), rank.comm);
      if (rank.rank == 1)
        check_fails(rondo_barrier(comm.get(), nullptr), RONDO_TIMEOUT,
                    {"rank 0 (", "has made no call on it yet"}, comm.get());
      else
        std::this_thread::sleep_for(std::chrono::milliseconds(4 * kSoon_ms));
      check(rondo_barrier(rank.comm, nullptr), rank.comm);
      if (rank.rank == 0) check(rondo_request_free(request));
    }));
  }
}

TEST_CASE("a rank that has sent messages is not said to have made no call") {
  for (const Way& way : kWays) {
    INFO(way.transport);
    expect_success(run_world(world_of(way, 2), [](Rank& rank) {
      Owned comm;
      make(rank, "sent", kSoon_ms, comm);
      if (rank.rank == 0) {
        check(rondo_send(&received, 1, RONDO_INT32, 1, 5, comm.get(), nullptr), comm.get());
        std::this_thread::sleep_for(std::chrono::milliseconds(4 * kSoon_ms));
      } else {
        check(rondo_recv(&received, 1, RONDO_INT32, 0, 5, comm.get(), nullptr, nullptr), comm.get());
        check_fails(rondo_recv(&received, 1, RONDO_INT32, 0, 5, comm.get(), nullptr, nullptr), RONDO_TIMEOUT,
                    {"rank 0 (", "is in no call on it"}, comm.get());
      }
      check(rondo_barrier(rank.comm, nullptr), rank.comm);
    }));
  }
}

TEST_CASE("a long send and a receive that do not match are named, each with the other") {
  for (const Way& way : kWays) {
    INFO(way.transport);
    expect_success(run_world(world_of(way, 2), [](Rank& rank) {
      Owned comm;
      make(rank, "long", kSoon_ms, comm);
      const std::vector<std::byte> data(1'000'000);
      const rondo_status_t status =
          rank.rank == 0 ? rondo_send(data.data(), data.size(), RONDO_UINT8, 1, 2, comm.get(), nullptr)
                         : rondo_recv(&received, 1, RONDO_INT32, 0, 3, comm.get(), nullptr, nullptr);
      check_fails(status, RONDO_TIMEOUT,
                  {"rank 0 waits in send(to 1, tag 2)", "rank 1 waits in recv(from 0, tag 3)",
                   "they wait for one another; a message with tag 2 from rank 0 has arrived, but no receive "
                   "matches it"},
                  comm.get());
      check(rondo_barrier(rank.comm, nullptr), rank.comm);
    }));
  }
}

/// A simulated network whose messages take up to that long.
void on_slow_network(int64_t max_delay_us, const Body& body) {
  const Environment slow{"RONDO_SIM_DELAY_US", std::to_string(max_delay_us)};
  expect_success(run_world({.nranks = 2, .transport = "sim", .threads = true}, body));
}

/// Rank 0 sends rank 1 a long message, for which the time is too short. Returns the error.
std::string long_message_error(const Rank& rank, int64_t timeout_ms) {
  static std::barrier both(2);  // the network delays those of the library
  Owned comm;
  make(rank, "slow", timeout_ms, comm, "sim");
  std::vector<std::byte> data(40'000'000);
  both.arrive_and_wait();
  check_fails(rank.rank == 0
                  ? rondo_send(data.data(), data.size(), RONDO_UINT8, 1, 2, comm.get(), nullptr)
                  : rondo_recv(data.data(), data.size(), RONDO_UINT8, 0, 2, comm.get(), nullptr, nullptr),
              RONDO_TIMEOUT, {"tag 2) did not complete within"}, comm.get());
  std::string text = rondo_last_error(comm.get());
  check(rondo_barrier(rank.comm, nullptr), rank.comm);
  require(text.find("wait for one another") == std::string::npos, text);
  return text;
}

TEST_CASE("ranks whose message moves slowly are not said to wait for one another") {
  on_slow_network(300'000, [](Rank& rank) {
    expect_words(long_message_error(rank, 1500),
                 {"bytes that rank ", " waits for came or left 0.", " [R0206]"});
  });
}

TEST_CASE("ranks that have both begun a message are not said to wait for one another") {
  on_slow_network(2'000'000, [](Rank& rank) {
    expect_words(long_message_error(rank, kSoon_ms), {"both ranks ", " have begun that message"});
  });
}

TEST_CASE("a call on another communicator than the others' is a mismatch that names both") {
  for (const Way& way : kWays) {
    INFO(way.transport);
    expect_success(run_world(world_of(way, 2), [](Rank& rank) {
      Owned first;
      Owned second;
      make(rank, "first", kSoon_ms, first);
      make(rank, "second", 30'000, second);
      check(rondo_barrier(second.get(), nullptr), second.get());
      if (rank.rank == 0) {
        int value = 1;
        check_fails(rondo_all_reduce(&value, &value, 1, RONDO_INT32, RONDO_SUM, first.get(), nullptr),
                    RONDO_MISMATCH,
                    {"ranks disagree: rank 0 called all_reduce(count=1, int32, sum), call 1 of communicator "
                     "'first'; ",
                     "rank 1 called barrier(), call 2 of communicator 'second'"},
                    first.get());
        check(rondo_abort(second.get()), second.get());
      } else {
        check_fails(rondo_barrier(second.get(), nullptr), RONDO_ABORTED, {"rank 0"}, second.get());
      }
      check(rondo_barrier(rank.comm, nullptr), rank.comm);
    }));
  }
}

/// Calls on `comm` until rank 0, which is late for each call, is told to end.
void call_until(const std::stop_token& end, rondo_comm_t comm, int rank) {
  for (int over = 0; over == 0;) {
    if (rank == 0) std::this_thread::sleep_for(std::chrono::milliseconds(20));
    over = rank == 0 && end.stop_requested() ? 1 : 0;
    check(rondo_all_reduce(&over, &over, 1, RONDO_INT32, RONDO_MAX, comm, nullptr), comm);
  }
}

TEST_CASE("a late rank whose threads call on another communicator meanwhile is not said to disagree") {
  for (const Way& way : kWays) {
    INFO(way.transport);
    expect_success(run_world(world_of(way, 2), [](Rank& rank) {
      Owned first;
      Owned second;
      make(rank, "first", kSoon_ms, first);
      make(rank, "second", 30'000, second);
      const std::jthread caller(
          [&](const std::stop_token& end) { call_until(end, second.get(), rank.rank); });
      if (rank.rank == 0) {
        int value = 1;
        check_fails(rondo_all_reduce(&value, &value, 1, RONDO_INT32, RONDO_SUM, first.get(), nullptr),
                    RONDO_TIMEOUT,
                    {"rank 1 ", "has made no call on it yet, and it is in all_reduce(count=1, int32, max)",
                     " of communicator 'second'"},
                    first.get());
      }
    }));
  }
}

}  // namespace
}  // namespace rondo::test
