// SPDX-License-Identifier: Apache-2.0
// Connections over a plugin that fails, stops, or whose peer leaves.
#include <signal.h>
#include <unistd.h>

#include <algorithm>

#include "../transports/ends.h"
#include "catch.h"
#include "clock.h"
#include "in_process.h"
#include "plugin/drains.h"
#include "process.h"

namespace rondo::plugin_test {
namespace {

using test::Ends;
using test::eventually;
using test::require;

bool says(const Status& status, Code code, const std::string& words) {
  return status.code() == code && status.message().find(words) != std::string::npos;
}

Ends connected_ends(const ConnectionParams& params = test::small_params()) {
  Ends ends = test::connect_ends(plugin_transport(), params);
  require(eventually([&] {
            ends.acceptor->peek();
            return ends.dialler->acquire() != nullptr && ends.acceptor->acquire() != nullptr;
          }),
          "it does not connect: " + ends.dialler->status().message());
  return ends;
}

/// Sends until an end fails.
Status first_failure(Ends& ends) {
  Status failure;
  uint64_t sent = 0;
  const bool failed = eventually([&] {
    sent += test::send_one(*ends.dialler, 100, 1, sent) ? 1 : 0;
    ends.dialler->flushed();
    if (ends.acceptor->peek()) ends.acceptor->release();
    failure = ends.dialler->status().ok() ? ends.acceptor->status() : ends.dialler->status();
    return !failure.ok();
  });
  require(failed, "no failure");
  return failure;
}

TEST_CASE("a function that fails is named, with the plugin and the result") {
  const std::pair<const char*, const char*> faults[] = {
      {"send:20", "isend() of the network plugin TestNet failed: ncclSystemError (2)"},
      {"receive:20", "irecv() of the network plugin TestNet failed: ncclSystemError (2)"},
      {"test:200", "test() of the network plugin TestNet failed: ncclInternalError (3)"},
      {"lie:7", "rank 0 sent -64 bytes, which is no message"}};
  for (const auto& [fault, words] : faults) {
    CAPTURE(fault);
    CHECK(in_process(with_fault(fault), [words = std::string(words)] {
            Ends ends = connected_ends();
            const Status status = first_failure(ends);
            require(says(status, Code::RemoteError, words), status.message());
            require(!ends.dialler->is_refused() && !ends.dialler->has_left(), "refused, or left");
          }) == "");
  }
}

TEST_CASE("a plugin that completes nothing leaves messages unflushed, and an end closes all the same") {
  CHECK(in_process(with_fault("stuck:1"), [] {
          Ends ends = connected_ends(test::small_params(1000, 2));
          for (uint64_t i = 0; i < 2; ++i) require(test::send_one(*ends.dialler, 500, 1, i), "no slot");
          for (int i = 0; i < 1000; ++i) {
            require(!ends.dialler->flushed(), "it is flushed");
            require(ends.dialler->acquire() == nullptr, "a slot");
            require(ends.dialler->status().ok(), "an error");
          }
          const double before_s = test::seconds_now();
          ends.dialler.reset();
          require(test::seconds_now() - before_s < 2, "closing takes too long");
        }) == "");
}

TEST_CASE("an end whose peer has left says so once it has all messages, and takes them before") {
  CHECK(in_process(with_fault(""), [] {
          Ends ends = connected_ends(test::small_params(1000, 4));
          for (uint64_t i = 0; i < 4; ++i)
            require(eventually([&] { return test::send_one(*ends.dialler, 500, 1, i); }), "no slot");
          require(eventually([&] {
                    ends.acceptor->flushed();
                    return ends.dialler->flushed();
                  }),
                  "it is not flushed");
          ends.dialler.reset();
          for (uint64_t i = 0; i < 4; ++i) {
            require(eventually([&] { return ends.acceptor->peek() != nullptr; }), "no message");
            require(ends.acceptor->status().ok(), "an error before the last message is released");
            require(test::fault(*ends.acceptor->peek(), 500, 1, i).empty(), "a wrong message");
            ends.acceptor->release();
          }
          require(eventually([&] { return ends.acceptor->has_left() || !ends.acceptor->status().ok(); }), "");
          const Status status = ends.acceptor->status();
          require(says(status, Code::RemoteError, "rank 0 closed its end of the connection"),
                  status.message());
          require(ends.acceptor->has_left(), "it has not left");
        }) == "");
}

TEST_CASE("an end that leaves before it has noticed that it is connected says so") {
  CHECK(in_process(with_fault("no_inflight"), [] {
          Ends ends = test::connect_ends(plugin_transport(), test::small_params());
          require(eventually([&] { return ends.acceptor->acquire() != nullptr; }), "it does not connect");
          test::sleep_ms(300);  // for the dialler's thread
          ends.dialler.reset();
          require(eventually([&] {
                    ends.acceptor->peek();
                    return !ends.acceptor->status().ok();
                  }),
                  "no error");
          require(ends.acceptor->has_left(), ends.acceptor->status().message());
          ends.acceptor.reset();
          require(eventually([] { return plugin::count_draining() == 0; }), "they do not close");
        }) == "");
}

/// An end whose peer is killed once it has had a message.
std::unique_ptr<Connection> end_of_killed_peer() {
  Ends ends;
  ends.wire->prepare(Route::Tcp, 1);
  test::Process peer([&] {
    auto made = ends.connect(plugin_transport(), test::small_params(), false);
    require(made.ok(), made.status().message());
    const auto end = made.take();
    while (!end->peek()) continue;
    ::kill(::getpid(), SIGKILL);
  });
  ends.wire->take(0);  // the peer's alone
  auto made = ends.connect(plugin_transport(), test::small_params(), true);
  require(made.ok(), made.status().message());
  auto end = made.take();
  require(eventually([&] { return test::send_one(*end, 100, 1, 0); }), "it does not connect");
  require(eventually([&] {
            end->flushed();
            end->peek();
            return says(end->status(), Code::RemoteError, "rank 1 ended without closing");
          }),
          "no error: " + end->status().message());
  return end;
}

TEST_CASE("an end whose peer was killed says so, and closes") {
  CHECK(in_process(with_fault("no_inflight"), [] {
          auto end = end_of_killed_peer();
          require(!end->has_left(), "it has left");
          end.reset();
          require(eventually([] { return plugin::count_draining() == 0; }), "it does not close");
        }) == "");
}

TEST_CASE("a plugin that does not close while receives are outstanding keeps its memory") {
  auto variables = with_fault("close");
  variables["RONDO_LOG"] = "debug";
  const std::string log = log_of(variables, [] {
    end_of_killed_peer();
    require(eventually([] { return plugin::count_draining() == 0; }), "it does not close");
  });
  CHECK(log.find("stay in memory: close") != std::string::npos);
}

TEST_CASE("comms are closed with nothing outstanding, once both ends are closed") {
  const int sent = GENERATE(0, 1, 3, 50);
  const int taken = GENERATE(0, 1);
  const int slots = GENERATE(1, 3, 50);
  const bool dialler_first = GENERATE(true, false);
  CAPTURE(sent, taken, slots, dialler_first);
  CHECK(in_process(with_fault("no_end"), [&] {
          Ends ends = connected_ends(test::small_params(1000, slots));
          for (int i = 0; i < std::min(sent, slots); ++i)
            require(eventually([&] { return test::send_one(*ends.dialler, 500, 1, 0); }), "no slot");
          for (int i = 0; i < std::min(sent, taken); ++i) {
            require(test::arrives(*ends.dialler, *ends.acceptor), "no message");
            ends.acceptor->release();
          }
          const auto is_flushed = [&] {
            if (ends.acceptor->peek()) ends.acceptor->release();
            return ends.dialler->flushed();
          };
          require(eventually(is_flushed), "it is not flushed");
          (dialler_first ? ends.dialler : ends.acceptor).reset();
          (dialler_first ? ends.acceptor : ends.dialler).reset();
          require(eventually([] { return plugin::count_draining() == 0; }), "they do not close");
        }) == "");
}

TEST_CASE("an end that is closed keeps its comms until the other is, and is left alone by a child") {
  CHECK(in_process(with_fault("no_end"), [] {
          Ends ends = connected_ends();
          Ends others = connected_ends();
          require(eventually([&] { return test::send_one(*ends.dialler, 500, 1, 0); }), "no slot");
          require(eventually([&] {
                    ends.acceptor->flushed();
                    return ends.dialler->flushed();
                  }),
                  "it is not flushed");
          ends.acceptor->peek();
          ends.dialler.reset();
          ends.acceptor->peek();
          require(plugin::count_draining() == 1, "it is closed before the other end");
          test::Process child([&] { require(plugin::count_draining() == 0, "the parent's"); });
          const std::string failure = child.wait().failure();
          require(failure.empty(), failure);
          require(eventually([&] { return ends.acceptor->peek() != nullptr; }), "no message");
          ends.acceptor.reset();
          require(eventually([] { return plugin::count_draining() == 0; }), "they do not close");
          require(test::send_one(*others.dialler, 500, 1, 0), "no slot");
          require(test::arrives(*others.dialler, *others.acceptor), "no message");
        }) == "");
}

TEST_CASE("a forked child leaves its parent's connection alone, and makes its own") {
  CHECK(in_process(with_fault(""), [] {
          Ends ends = connected_ends();
          require(test::send_one(*ends.dialler, 100, 1, 0), "no slot");
          test::Process child([&] {
            ends.dialler.reset();
            ends.acceptor.reset();
            Ends own = connected_ends();
            require(test::send_one(*own.dialler, 100, 2, 0), "no slot");
            require(test::arrives(*own.dialler, *own.acceptor), "no message");
          });
          const std::string failure = child.wait().failure();
          require(failure.empty(), failure);
          require(test::arrives(*ends.dialler, *ends.acceptor), "no message");
          require(test::fault(*ends.acceptor->peek(), 100, 1, 0).empty(), "a wrong message");
        }) == "");
}

TEST_CASE("more slots than a comm may have requests are used all the same") {
  CHECK(in_process(with_fault(""), [] {
          std::vector<Ends> all;
          all.push_back(connected_ends(test::small_params(200, 100)));
          uint64_t sent = 0;
          while (sent != 100 && test::send_one(*all[0].dialler, 100, 5, sent)) ++sent;
          require(sent == 100, "only so few slots: " + std::to_string(sent));
          for (uint64_t i = 0; i < sent; ++i) {
            require(test::arrives(*all[0].dialler, *all[0].acceptor), "no message");
            require(test::fault(*all[0].acceptor->peek(), 100, 5, i).empty(), "a wrong message");
            all[0].acceptor->release();
          }
        }) == "");
}

}  // namespace
}  // namespace rondo::plugin_test
