// SPDX-License-Identifier: Apache-2.0
// A path that fails in the middle of a conversation: another one carries the rest, and what had not arrived.
#include <cstdlib>

#include "../../transports/ends.h"
#include "base/log.h"
#include "in_process.h"
#include "process.h"
#include "relayed.h"
#include "transports/fallback.h"

namespace rondo::verbs_test {
namespace {

using test::Ends;
using test::require;

const Transport& failover_row() { return *transport_by_name("verbs").value(); }

/// With time-outs of 50 ms instead of two seconds.
std::vector<Ends> quick_ends(size_t slot_bytes = test::small_params().slot_bytes) {
  ::setenv("RONDO_IB_TIMEOUT", "12", 1);
  ::setenv("RONDO_IB_RETRY", "2", 1);
  std::vector<Ends> all(1);
  all[0].dialler = all[0].connect(failover_row(), test::small_params(slot_bytes), true).take();
  all[0].acceptor = all[0].connect(failover_row(), test::small_params(slot_bytes), false).take();
  return all;
}

/// Goes on over tcp.
std::vector<Ends> with_tcp(std::vector<Ends> all) {
  const auto second = std::make_shared<Ends>();
  const auto over_tcp = [&](std::unique_ptr<Connection> first, bool dials) {
    return std::make_unique<FallbackConnection>(std::move(first), [second, dials](const Status&) {
      return second->connect(*transport_by_name("tcp").value(), test::small_params(), dials);
    });
  };
  all[0].dialler = over_tcp(std::move(all[0].dialler), true);
  all[0].acceptor = over_tcp(std::move(all[0].acceptor), false);
  return all;
}

/// As GPUs use them.
std::vector<Ends> relayed(std::vector<Ends> all) {
  for (std::unique_ptr<Connection>* const end : {&all[0].dialler, &all[0].acceptor})
    *end = std::make_unique<RelayedConnection>(std::move(*end), test::small_params());
  return all;
}

/// Lets both ends talk in one thread, and looks at their status as a waiter does. The first fault or failure;
/// empty if all arrives. `event`: after `before` messages of the dialling end.
std::string converse_through(std::vector<Ends> all, uint64_t messages, uint64_t before,
                             const std::string& event) {
  const test::Conversation conversation{.seed = before, .messages = messages, .post = true, .expect = true};
  std::vector<test::Talker> talkers;
  talkers.emplace_back(*all[0].dialler, conversation, true);
  talkers.emplace_back(*all[0].acceptor, conversation, false);
  uint64_t sent = 0;
  std::string failure;
  const bool in_time = test::eventually([&] {
    while (talkers[0].send())
      if (++sent == before && !event.empty()) command(event);
    while (talkers[0].receive() || talkers[1].send() || talkers[1].receive()) continue;
    for (Connection* const end : {all[0].dialler.get(), all[0].acceptor.get()})
      if (!end->status().ok() && !end->has_left()) failure = end->status().message();
    const bool both_done = talkers[0].done() & talkers[1].done();
    return both_done || !failure.empty();
  });
  for (const test::Talker& talker : talkers)
    if (!talker.fault().empty()) return talker.fault();
  return in_time ? failure : "stuck";
}

void right_through(const Variables& variables, uint64_t before, const std::string& event,
                   const std::string& warning, size_t slot_bytes = test::small_params().slot_bytes) {
  INFO(event << " after " << before);
  const std::string log = log_of(variables, [&] {
    const std::string failure = converse_through(quick_ends(slot_bytes), 200, before, event);
    require(failure.empty(), failure);
  });
  INFO(log);
  CHECK(log.find(warning) != std::string::npos);
}

TEST_CASE("when a port goes down, another one carries on") {
  for (const char* seed : {"0", "1", "2", "3"})
    for (const uint64_t before : {1, 2, 50, 190})  // the last of them may all go over the other port
      right_through({{"_DEVICES", "roce:2"}, {"_SEED", seed}}, before, "port_down 0/rondo_0:1",
                    "rank 1 is reached by rondo_0:2");
}

TEST_CASE("when one of several ports goes down, only that port is left out") {
  for (const char* seed : {"0", "1"})
    for (const uint64_t before : {1, 50})
      right_through({{"_DEVICES", "roce:2,roce"}, {"_SEED", seed}}, before, "port_down 0/rondo_0:2",
                    "MTU 4096, because better paths fail: rondo_0:2 10.9.2.1 ");
}

TEST_CASE("when a port goes down, striped messages arrive whole over the others") {
  for (const char* pairs : {"2", "4"}) {
    ::setenv("RONDO_IB_QPS", pairs, 1);
    right_through({{"_DEVICES", "roce,roce"}, {"_SEED", pairs}}, 20, "port_down 0/rondo_1:1",
                  "MTU 4096, because better paths fail: rondo_1:1 10.9.2.1 ", 256 * 1024);
  }
  ::unsetenv("RONDO_IB_QPS");
}

TEST_CASE("when a device fails for good, another one carries on") {
  for (const char* seed : {"0", "1"})
    for (const uint64_t before : {1, 60})
      right_through({{"_DEVICES", "roce,roce"}, {"_SEED", seed}}, before, "fatal 0/rondo_0",
                    "the device rondo_0 has failed");
}

TEST_CASE("one failure of the only path is survived, whenever it comes and whatever it is") {
  for (const char* fault : {"retry", "flush"})
    for (int nth = 4; nth < 40; nth += 3) {
      INFO(fault << " of message " << nth);
      CHECK(in_process(
                {{"_SEED", std::to_string(nth)}, {"_FAIL", std::string(fault) + ":" + std::to_string(nth)}},
                [&] {
                  const std::string failure = converse_through(quick_ends(), 60, 0, "");
                  require(failure.empty(), failure);
                }) == "");
    }
}

TEST_CASE("an end that waits for something else answers when it looks, from the beginning on") {
  CHECK(in_process({{"_DEVICES", "roce:2"}}, [] {
          const Ends ends = std::move(quick_ends()[0]);
          require(test::eventually([&] { return ends.dialler->acquire() != nullptr; }), "not connected");
          command("port_down 0/rondo_0:1");
          test::send_one(*ends.dialler, 100, 1, 0);
          const auto flush = [&] {
            ends.acceptor->look();
            return ends.dialler->flushed();
          };
          require(test::eventually(flush), "not flushed");
          require(test::eventually([&] { return ends.acceptor->peek().has_value(); }), "nothing has arrived");
        }) == "");
}

TEST_CASE("where no port is left, both ends name the path that failed, why, and that the peer lives") {
  CHECK(in_process({{"_SEED", "1"}}, [&] {
          const std::string failure = converse_through(quick_ends(), 200, 50, "port_down 0/rondo_0:1");
          const std::string path =
              " was reached by rondo_0:1 10.9.1.1 (GID 3, RoCE v2, lo) to rondo_0:1 10.9.1.1 ";
          const size_t at = failure.find(path), then = failure.find(", until ", at);
          require(at != std::string::npos && then != std::string::npos, failure);
          require(failure.find("; its process lives, but ", then) != std::string::npos, failure);
        }) == "");
}

TEST_CASE("where no port is left, another transport carries the rest") {
  for (const char* seed : {"0", "1", "2"})
    for (const uint64_t before : {1, 2, 50, 199})
      CHECK(in_process({{"_SEED", seed}}, [&] {
              const std::string failure =
                  converse_through(with_tcp(quick_ends()), 200, before, "port_down 0/rondo_0:1");
              require(failure.empty(), failure);
            }) == "");
}

TEST_CASE("messages of a GPU leave from its FIFO, which is returned once they have, whatever fails") {
  for (const char* seed : {"0", "1", "2"})
    for (const char* devices : {"roce", "roce:2"})
      for (const char* event : {"", "port_down 0/rondo_0:1"})
        CHECK(in_process({{"_SEED", seed}, {"_DEVICES", devices}}, [&] {
                std::vector<Ends> all = with_tcp(quick_ends());
                require(
                    test::eventually([&] { return all[0].dialler->acquire() && all[0].acceptor->acquire(); }),
                    "not connected");
                const uint64_t regions = calls("reg_mr");
                const std::string failure = converse_through(relayed(std::move(all)), 200, 50, event);
                require(failure.empty(), failure);
                if (*event == '\0') require(calls("reg_mr") == regions + 2, "not registered once an end");
              }) == "");
}

TEST_CASE("without a port that is up both ends say so") {
  CHECK(in_process({}, [] {
          const std::string failure = converse_through(quick_ends(), 200, 50, "port_down 0/rondo_0:1");
          require(failure.find("rondo_0:1 is down") != std::string::npos, failure);
        }) == "");
}

}  // namespace
}  // namespace rondo::verbs_test
