// SPDX-License-Identifier: Apache-2.0
// Ends that cannot be connected over the plugin: both know, and may use another transport.
#include "../transports/ends.h"
#include "catch.h"
#include "in_process.h"
#include "plugin/connection.h"
#include "process.h"
#include "transports/fallback.h"

namespace rondo::plugin_test {
namespace {

using test::Ends;
using test::eventually;
using test::require;

bool says(const Status& status, const std::string& words) {
  return status.message().find(words) != std::string::npos;
}

/// Both ends are refused: one says `own` words, the other the same after the rank that said them.
void check_refused(const std::string& fault, const std::string& words) {
  for (const bool dialler_first : {true, false}) {
    CAPTURE(fault, dialler_first);
    CHECK(in_process(with_fault(fault), [&] {
            Ends ends = test::connect_ends(plugin_transport(), test::small_params(), dialler_first);
            const bool both = eventually([&] {
              require(ends.dialler->acquire() == nullptr && !ends.acceptor->peek(), "it connects");
              return ends.dialler->is_refused() && ends.acceptor->is_refused();
            });
            const Status first = ends.dialler->status();
            const Status second = ends.acceptor->status();
            const std::string all = first.message() + " | " + second.message();
            require(both, "no refusal at both: " + all);
            require(first.code() == Code::Unsupported && second.code() == Code::Unsupported, all);
            require(says(first, words) && says(second, words), all);
            require(first.id() == second.id(), all + " have the ids " + first.id() + " and " + second.id());
            const std::string reported = "cannot connect over the network plugin TestNet: ";
            require(says(first, "rank 1 " + reported) != says(second, "rank 0 " + reported), all);
          }) == "");
  }
}

TEST_CASE("a failure of the plugin while an end connects is known to both ends") {
  const std::string failed = "() of the network plugin TestNet failed: ";
  for (const char* const nth : {":1", ":2"}) {
    check_refused(std::string("listen") + nth, "listen" + failed + "ncclSystemError (2)");
    check_refused(std::string("connect") + nth, "connect" + failed + "ncclRemoteError (6)");
    check_refused(std::string("accept") + nth, "accept" + failed + "ncclSystemError (2)");
  }
  for (const char* const nth : {":1", ":2", ":3", ":4"})
    check_refused(std::string("register") + nth, "regMr" + failed + "ncclSystemError (2)");
}

TEST_CASE("a plugin whose messages are shorter than a slot is refused") {
  CHECK(in_process(with_fault("short"), [&] {
          Ends ends = test::connect_ends(plugin_transport(), test::small_params(1000));
          require(eventually([&] {
                    ends.dialler->peek();
                    ends.acceptor->peek();
                    return ends.dialler->is_refused() && ends.acceptor->is_refused();
                  }),
                  "no refusal");
          require(says(ends.dialler->status(), "a slot and its header have 1064 bytes; messages of fast0"),
                  ends.dialler->status().message());
          require(says(ends.acceptor->status(), "have at most 500"), ends.acceptor->status().message());
        }) == "");
}

TEST_CASE("what the plugin cannot connect goes over tcp, in order and complete") {
  for (const char* const fault :
       {"listen:1", "listen:2", "connect:1", "connect:2", "accept:1", "register:3"}) {
    CAPTURE(fault);
    CHECK(in_process(with_fault(fault), [&] {
            const ConnectionParams params = test::small_params();
            auto wires = std::make_shared<Ends>();
            std::vector<Ends> all(1);
            const auto connect = [&](bool dials) {
              auto first = all[0].connect(plugin_transport(), params, dials);
              require(first.ok(), first.status().message());
              return std::make_unique<FallbackConnection>(first.take(), [=](const Status&) {
                return wires->connect(*transport_by_name("tcp").value(), params, dials);
              });
            };
            all[0].dialler = connect(true);
            all[0].acceptor = connect(false);
            const std::string fault_found = test::converse_together(all, {.messages = 300});
            require(fault_found.empty(), fault_found);
          }) == "");
  }
}

TEST_CASE("a peer that ends while it connects is an error at the other end, and no refusal") {
  const bool dialler_goes = GENERATE(true, false);
  const int polls = GENERATE(0, 1, 5);
  CAPTURE(dialler_goes, polls);
  CHECK(in_process(with_fault("never_connects"), [&] {
          Ends ends = test::connect_ends(plugin_transport(), test::small_params());
          for (int i = 0; i < polls; ++i) {
            ends.dialler->peek();
            ends.acceptor->peek();
          }
          auto& goes = dialler_goes ? ends.dialler : ends.acceptor;
          auto& stays = dialler_goes ? ends.acceptor : ends.dialler;
          goes.reset();
          const bool found = eventually([&] {
            stays->peek();
            return !stays->status().ok();
          });
          const Status status = stays->status();
          require(found && status.code() == Code::RemoteError && !stays->is_refused(), status.message());
          require(says(status, "closed the connection while it connected"), status.message());
        }) == "");
}

/// An end whose plugin has this long to connect.
std::unique_ptr<Connection> impatient_end(const Ends& ends, bool dials, int64_t connect_ms) {
  auto loaded = plugin::loaded_plugin(plugin::wanted_file());
  require(loaded.ok(), loaded.status().message());
  auto end =
      std::make_unique<plugin::PluginConnection>(plugin::PluginTerms{.params = agreed(test::small_params()),
                                                                     .plugin = loaded.take(),
                                                                     .peer = dials ? 1 : 0,
                                                                     .connect_ms = connect_ms});
  const Status begun = end->begin(std::make_unique<test::FakeLink>(ends.wire, ends.key, dials));
  require(begun.ok(), begun.message());
  return end;
}

TEST_CASE("a plugin that never connects is refused in time; until then there are no slots and no errors") {
  CHECK(in_process(with_fault("never_connects"), [] {
          Ends ends;
          ends.dialler = impatient_end(ends, true, 300);
          ends.acceptor = impatient_end(ends, false, 60'000);
          const int64_t before_ns = now_ns();
          while (!ends.dialler->is_refused() || !ends.acceptor->is_refused()) {
            require(now_ns() - before_ns < 20'000'000'000, "no refusal");
            require(ends.dialler->flushed(), "something is to be flushed");
            require(ends.dialler->acquire() == nullptr && !ends.acceptor->peek(), "it connects");
            const bool has_failed = !ends.dialler->status().ok() || !ends.acceptor->status().ok();
            require(!has_failed || now_ns() - before_ns > 200'000'000, "an early error");
          }
          const std::string words =
              "the network plugin TestNet has not connected rank 1 in 0.3 s, as connect() returns no comm";
          require(ends.dialler->status().message() == words, ends.dialler->status().message());
          require(says(ends.acceptor->status(), words), ends.acceptor->status().message());
        }) == "");
}

}  // namespace
}  // namespace rondo::plugin_test
