// SPDX-License-Identifier: Apache-2.0
// A path that fails in the middle of a conversation: another one carries the rest, and what had not arrived.
#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "../../transports/ends.h"
#include "../../transports/exported_memory.h"
#include "base/log.h"
#include "bytes.h"
#include "in_process.h"
#include "process.h"
#include "raw_ends.h"
#include "relayed.h"
#include "sanitized.h"
#include "transports/fallback.h"

namespace rondo::verbs_test {
namespace {

using test::Ends;
using test::require;

const Transport& failover_row() { return *transport_by_name("verbs").value(); }

/// With time-outs of 50 ms instead of two seconds.
std::vector<Ends> quick_ends(size_t slot_bytes = test::small_params().slot_bytes, bool reads_back = false) {
  ::setenv("RONDO_IB_TIMEOUT", "12", 1);
  ::setenv("RONDO_IB_RETRY", "2", 1);
  ConnectionParams params = test::small_params(slot_bytes);
  params.gpu_reads_back = reads_back;
  std::vector<Ends> all(1);
  all[0].dialler = all[0].connect(failover_row(), params, true).take();
  all[0].acceptor = all[0].connect(failover_row(), params, false).take();
  return all;
}

/// Goes on over tcp.
std::vector<Ends> with_tcp(std::vector<Ends> all) {
  const auto second = std::make_shared<Ends>();
  const auto params = test::small_params(all[0].dialler->slot_bytes());
  const auto over_tcp = [&](std::unique_ptr<Connection> first, bool dials) {
    return std::make_unique<FallbackConnection>(std::move(first), [second, params, dials](const Status&) {
      return second->connect(*transport_by_name("tcp").value(), params, dials);
    });
  };
  all[0].dialler = over_tcp(std::move(all[0].dialler), true);
  all[0].acceptor = over_tcp(std::move(all[0].acceptor), false);
  return all;
}

/// As GPUs use them.
std::vector<Ends> relayed(std::vector<Ends> all,
                          const std::vector<std::shared_ptr<FakeGpu>>& gpus = {{}, {}}) {
  size_t gpu = 0;
  for (std::unique_ptr<Connection>* const end : {&all[0].dialler, &all[0].acceptor})
    *end = std::make_unique<RelayedConnection>(std::move(*end), test::small_params((*end)->slot_bytes()),
                                               gpus[gpu++]);
  return all;
}

/// Lets both ends talk in one thread, and looks at their status as a waiter does. The first fault or failure;
/// empty if all arrives. `event`: after `before` messages of the dialling end.
std::string converse_through(std::vector<Ends> all, uint64_t messages, uint64_t before,
                             const std::string& event, bool post = true) {
  const test::Conversation conversation{.seed = before, .messages = messages, .post = post, .expect = true};
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

TEST_CASE("a port whose path has failed is left out with its other addresses") {
  for (const char* seed : {"0", "1"})
    right_through(
        {{"_DEVICES", "roce:2"}, {"_SEED", seed}}, 50, "drop 10.9.2.1 10.9.2.1",
        "to rondo_0:1 10.9.1.1 (GID 3, RoCE v2, lo), MTU 4096, because better paths fail: rondo_0:2 ");
}

TEST_CASE("an end whose own queue pairs work leaves out the port that the other one names") {
  const std::string log = log_of({{"_DEVICES", "roce:2"}}, [] {
    const Ends ends = std::move(quick_ends()[0]);
    const auto is_connected = [](Connection& end) { return end.acquire() != nullptr; };
    require(test::eventually([&] { return is_connected(*ends.dialler) & is_connected(*ends.acceptor); }),
            "not connected");
    command("drop 10.9.2.1 10.9.2.1");
    for (uint64_t i = 0; i < 2; ++i) require(test::send_one(*ends.acceptor, 100, 1, i), "no slot");
    require(test::eventually([&] {
              ends.dialler->look();
              return ends.acceptor->flushed();
            }),
            "not flushed");
  });
  INFO(log);
  CHECK(log.find("rank 1 is reached by rondo_0:1 ") != std::string::npos);
  CHECK(log.find("because better paths fail: rondo_0:2 ") != std::string::npos);
  CHECK(log.find("because better paths fail: rondo_0:1 ") == std::string::npos);
}

TEST_CASE("when a port goes down, striped messages arrive whole over the others") {
  for (const char* pairs : {"2", "4"}) {
    ::setenv("RONDO_IB_QPS", pairs, 1);
    right_through({{"_DEVICES", "roce,roce"}, {"_SEED", pairs}}, 20, "port_down 0/rondo_1:1",
                  "MTU 4096, because better paths fail: rondo_1:1 10.9.2.1 ", 256 * 1024);
  }
  ::unsetenv("RONDO_IB_QPS");
}

TEST_CASE("when a port goes down, messages whose places were named arrive all the same") {
  for (const char* seed : {"0", "1", "2", "3"})
    for (const uint64_t before : {1, 2, 50, 190})
      right_through({{"_DEVICES", "roce:2"}, {"_SEED", seed}}, before, "port_down 0/rondo_0:1",
                    "rank 1 is reached by rondo_0:2", 40'000);
}

/// Long sends one after the other: each is granted, with its place, and then comes in pieces, until `event`
/// after `before` pieces of all.
void send_long(const Ends& ends, uint64_t before, const std::string& event) {
  constexpr uint64_t kSends = 4, kPieces = 10;
  constexpr size_t kPiece = 40'000;
  Connection &from = *ends.dialler, &to = *ends.acceptor;
  const test::ExportedMemory memory(kPieces * kPiece);
  uint64_t sent = 0;
  const auto wait_for = [&](const auto& done) {
    require(test::eventually([&] {
              for (Connection* const end : {&from, &to}) {
                end->look();
                succeed(end->status());
              }
              return done();
            }),
            "stuck after " + std::to_string(sent));
  };
  for (uint64_t send = 0; send < kSends; ++send) {
    std::memset(memory.data(), 0, memory.size());
    wait_for([&] { return to.acquire() != nullptr; });
    to.zero_copy()->expect_all(memory.data(), memory.size(), test::signature_of(1, send));
    to.commit(0, test::signature_of(2, send));
    wait_for([&] { return to.flushed() && from.peek(); });
    from.release();
    for (uint64_t i = 0, received = 0; received < kPieces;) {
      wait_for([&] { return (i < kPieces && from.acquire() != nullptr) || to.peek(); });
      if (std::byte* const slot = i < kPieces ? from.acquire() : nullptr) {
        test::fill(slot, kPiece, 1, sent);
        from.commit(kPiece, test::signature_of(1, send));
        ++i;
        if (++sent == before) command(event);
      }
      if (const auto arrival = to.peek()) {
        std::byte* const place = memory.data() + received++ * kPiece;
        if (arrival->data != place) std::memcpy(place, arrival->data, kPiece);
        to.release();
      }
      from.flushed();
    }
    std::vector<std::byte> piece(kPiece);
    for (uint64_t i = 0; i < kPieces; ++i) {
      test::fill(piece.data(), kPiece, 1, send * kPieces + i);
      require(test::same_bytes(piece.data(), memory.data() + i * kPiece, kPiece),
              "piece " + std::to_string(i) + " of send " + std::to_string(send));
    }
  }
}

TEST_CASE("when a port goes down, long sends whose places were named arrive all the same") {
  for (const char* seed : {"0", "1", "2", "3"})
    for (const uint64_t before : {1, 5, 13, 30})
      for (const bool goes_on_over_tcp : {false, true})
        CHECK(in_process({{"_DEVICES", goes_on_over_tcp ? "roce" : "roce:2"}, {"_SEED", seed}}, [&] {
                std::vector<Ends> all = quick_ends(40'000);
                if (goes_on_over_tcp) all = with_tcp(std::move(all));
                send_long(all[0], before, "port_down 0/rondo_0:1");
              }) == "");
}

/// A device that fails may have acknowledged messages which its host never sees.
TEST_CASE("when a device fails for good, another one carries on") {
  for (const char* seed : {"0", "1"})
    for (const uint64_t before : {1, 60})
      for (const std::string device : {"rondo_0", "rondo_1"})
        for (const bool post : {false, true}) {
          INFO(device << " after " << before << ", seed " << seed << (post ? ", posted" : ""));
          const std::string log = log_of({{"_DEVICES", "roce,roce"}, {"_SEED", seed}}, [&] {
            const std::string failure =
                converse_through(quick_ends(), 200, before, "fatal 0/" + device, post);
            require(failure.empty(), failure);
          });
          CHECK(log.find("the device " + device + " has failed") != std::string::npos);
        }
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

/// Sends messages, of which the receiver takes none, while these of the device's messages fail; four prove
/// each connection. How both ends say that they cannot go on, if they cannot.
std::string send_through(const std::string& faults, uint64_t messages) {
  std::string failure;
  const auto send_all = [&] {
    const Ends ends = std::move(quick_ends()[0]);
    const auto has_failed = [&] {
      ends.acceptor->look();
      return !ends.dialler->status().ok();
    };
    for (uint64_t i = 0; i < messages && failure.empty(); ++i) {
      require(test::eventually([&] { return ends.dialler->acquire() != nullptr; }), "no slot");
      test::send_one(*ends.dialler, 100, 1, i);
      require(test::eventually([&] { return has_failed() || ends.dialler->flushed(); }), "stuck");
      if (!has_failed()) continue;
      require(test::eventually([&] { return !ends.acceptor->status().ok(); }), "the acceptor goes on");
      failure = ends.dialler->status().message() + "\n" + ends.acceptor->status().message();
    }
    require(failure.empty(), failure);
  };
  return in_process({{"_GIDS", "v2 10.9.%p.%h lo"}, {"_FAIL", faults}}, send_all);
}

TEST_CASE("a connection that fails five times with no message in between is given up") {
  CHECK(send_through("flush:5,flush:10,flush:15,flush:20", 1) == "");
  const std::string failure = send_through("flush:5,flush:10,flush:15,flush:20,flush:25", 1);
  INFO(failure);
  const std::string words = "; its process lives, but one path after the other fails: ";
  CHECK(failure.find("rank 1 was reached by rondo_0:1 ") != std::string::npos);
  const size_t said = failure.find(words);
  CHECK(said != std::string::npos);
  CHECK(failure.find("one path after the other fails: ", said + words.size()) != std::string::npos);
}

TEST_CASE("a message in between lets a connection fail as often again") {
  CHECK(send_through("flush:5,flush:10,flush:15,flush:20,flush:26,flush:31,flush:36,flush:41", 2) == "");
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
          require(test::eventually([&] { return ends.acceptor->peek() != nullptr; }), "nothing has arrived");
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
    for (const size_t slot_bytes : {1000, 40'000})
      for (const uint64_t before : {1, 2, 50, 199})
        CHECK(in_process({{"_SEED", seed}}, [&] {
                const std::string failure =
                    converse_through(with_tcp(quick_ends(slot_bytes)), 200, before, "port_down 0/rondo_0:1");
                require(failure.empty(), failure);
              }) == "");
}

TEST_CASE("messages of a GPU leave from its FIFO, which is returned once they have, whatever fails") {
  const auto converse = [](size_t slot_bytes, const std::string& event) {
    std::vector<Ends> all = with_tcp(quick_ends(slot_bytes));
    require(test::eventually([&] { return all[0].dialler->acquire() && all[0].acceptor->acquire(); }),
            "not connected");
    const uint64_t regions = calls("reg_mr");
    const std::string failure = converse_through(relayed(std::move(all)), 200, 50, event);
    require(failure.empty(), failure);
    if (event.empty()) require(calls("reg_mr") == regions + 2, "not registered once an end");
  };
  for (const char* seed : {"0", "1", "2"})
    for (const char* devices : {"roce", "roce:2"})
      for (const char* event : {"", "port_down 0/rondo_0:1"})
        CHECK(in_process({{"_SEED", seed}, {"_DEVICES", devices}},
                         [&] { converse(test::small_params().slot_bytes, event); }) == "");
  // Longer than what tcp's socket takes at once.
  CHECK(in_process({}, [&] { converse(1 << 20, "port_down 0/rondo_0:1"); }) == "");
}

TEST_CASE("long messages to a GPU come to its FIFO, whatever fails") {
  for (const char* seed : {"0", "1", "2"})
    for (const char* event : {"", "port_down 0/rondo_0:1"})
      CHECK(in_process({{"_SEED", seed}, {"_DEVICES", "roce:2"}}, [&] {
              const std::string failure =
                  converse_through(relayed(with_tcp(quick_ends(40'000))), 200, 50, event);
              require(failure.empty(), failure);
            }) == "");
}

using Visibility = GpuMemory::Visibility;

/// Whatever the CPU reaches of a GPU's memory faults, and what is not flushed is not there.
TEST_CASE("long messages leave from and come to memory of GPUs, whatever fails") {
  constexpr size_t kSlotBytes = 40'000;
  const size_t bytes = Relay::gpu_bytes(test::small_params(kSlotBytes));
  const auto converse = [&](Visibility visibility, const std::string& event) {
    ::setenv("RONDO_IB_GPU_DIRECT", "1", 1);
    const std::vector<std::shared_ptr<FakeGpu>> gpus{std::make_shared<FakeGpu>(bytes, visibility),
                                                     std::make_shared<FakeGpu>(bytes, visibility)};
    std::vector<Ends> all = with_tcp(quick_ends(kSlotBytes, visibility == Visibility::AfterRead));
    require(test::eventually([&] { return all[0].dialler->acquire() && all[0].acceptor->acquire(); }),
            "not connected");
    const std::string failure = converse_through(relayed(std::move(all), gpus), 200, 50, event);
    require(failure.empty(), failure);
    const uint64_t copies = gpus[0]->copies() + gpus[1]->copies();
    if (event.empty()) require(copies < 65, std::to_string(copies) + " of 400 messages were copied");
  };
  for (const Visibility visibility : {Visibility::AtOnce, Visibility::AfterFlush, Visibility::AfterRead})
    for (const char* seed : kSanitized ? std::vector{"1"} : std::vector{"0", "1", "2"})
      for (const auto& [devices, event] : {std::pair("roce:2", ""),
                                           {"roce,roce", ""},
                                           {"roce:2", "port_down 0/rondo_0:1"},
                                           {"roce,roce", "port_down 0/rondo_1:1"},
                                           {"roce", "port_down 0/rondo_0:1"}}) {
        INFO(static_cast<int>(visibility) << ", seed " << seed << ", " << devices << ", " << event);
        CHECK(in_process({{"_SEED", seed},
                          {"_DEVICES", devices},
                          {"_HOLD", visibility == Visibility::AtOnce ? "0" : "1"}},
                         [&, event = event] { converse(visibility, event); }) == "");
      }
}

TEST_CASE("a message posted from memory of a GPU while no path is left is copied by the GPU") {
  CHECK(in_process({{"_DEVICES", "roce:2"}}, [] {
          constexpr size_t kBytes = 20'000;
          ::setenv("RONDO_IB_GPU_DIRECT", "1", 1);
          const std::vector<Ends> all = quick_ends(40'000);
          Connection& dialler = *all[0].dialler;
          Connection& acceptor = *all[0].acceptor;
          const auto gpu = std::make_shared<FakeGpu>(kBytes);
          const AccessibleMemory known(gpu->data(), gpu->bytes(), gpu);
          std::memset(gpu->seen(gpu->data()), 7, kBytes);
          require(test::eventually([&] { return dialler.acquire() && acceptor.acquire(); }), "not connected");
          ZeroCopy& sender = *dialler.zero_copy();
          sender.export_memory(*find_accessible(gpu->data(), kBytes));
          const auto is_mapped = [&] {
            return sender.post_mode(gpu->data(), kBytes) == ZeroCopy::PostMode::Mapped;
          };
          require(is_mapped(), "not registered");
          command("port_down 0/rondo_0:1");
          require(test::eventually([&] { return !dialler.status().ok() || !is_mapped(); }), "not lost");
          require(sender.post(gpu->data(), kBytes, {}), "not posted");
          require(gpu->copies() == 1, "not copied");
          const Arrival* arrival = nullptr;
          const auto has_come = [&] {
            require(dialler.status().ok() && acceptor.status().ok(), "failed");
            return (arrival = acceptor.peek()) != nullptr;
          };
          require(test::eventually(has_come), "not sent");
          const auto is_right = [](std::byte byte) { return byte == std::byte{7}; };
          require(arrival->bytes == kBytes, "too short");
          require(std::all_of(arrival->data, arrival->data + kBytes, is_right), "wrong");
        }) == "");
}

TEST_CASE("a copy that a GPU cannot make fails the Relay") {
  CHECK(in_process({}, [] {
          ::setenv("RONDO_IB_GPU_DIRECT", "0", 1);
          const size_t bytes = Relay::gpu_bytes(test::small_params(40'000));
          const std::vector<std::shared_ptr<FakeGpu>> gpus{std::make_shared<FakeGpu>(bytes),
                                                           std::make_shared<FakeGpu>(bytes)};
          for (const auto& gpu : gpus) gpu->copies_fail = true;
          const std::string failure = converse_through(relayed(quick_ends(40'000), gpus), 200, 0, "");
          require(failure == "this GPU copies nothing", failure);
        }) == "");
}

TEST_CASE("queue pairs that read back register no memory of their own") {
  for (const bool reads_back : {false, true})
    CHECK(in_process({{"_DEVICES", "roce:2"}}, [&] {
            const std::vector<Ends> all = quick_ends(test::small_params().slot_bytes, reads_back);
            require(test::eventually([&] { return all[0].dialler->acquire() && all[0].acceptor->acquire(); }),
                    "not connected");
            require(calls("reg_mr") == 4, std::to_string(calls("reg_mr")) + " registrations");
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
