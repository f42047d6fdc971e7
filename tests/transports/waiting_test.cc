// SPDX-License-Identifier: Apache-2.0
// How ends wait for one another, for every row of the table.
#include <atomic>
#include <functional>
#include <thread>

#include "base/park.h"
#include "ends.h"
#include "transports/hints.h"

namespace rondo::test {
namespace {

bool shares_memory(const Transport& transport) {
  return transport.medium == Medium::ProcessMemory || transport.medium == Medium::HostMemory;
}

bool poll_briefly(const Connection& connection) {
  const WaitHints* const hints = connection.wait_hints();
  return hints != nullptr && hints->poll_briefly();
}

TEST_CASE("a lingering poll ends whether or not a message arrives, and consumes none") {
  FOR_EACH_TRANSPORT();
  Ends ends = connect_ends(transport, small_params());
  REQUIRE(!poll_briefly(*ends.acceptor));
  REQUIRE(!ends.acceptor->peek());
  REQUIRE(eventually([&] { return send_one(*ends.dialler, 100, 5, 0); }));
  if (shares_memory(transport)) REQUIRE(eventually([&] { return poll_briefly(*ends.acceptor); }));
  REQUIRE(arrives(*ends.dialler, *ends.acceptor));
  REQUIRE(fault(*ends.acceptor->peek(), 100, 5, 0) == "");
}

TEST_CASE("ends in shared memory notice when their peer yields and when it is back") {
  FOR_EACH_TRANSPORT();
  Ends ends = connect_ends(transport, small_params());
  REQUIRE(eventually([&] { return send_one(*ends.dialler, 100, 5, 0); }));
  REQUIRE(arrives(*ends.dialler, *ends.acceptor));
  const bool dialler_says = GENERATE(true, false);
  WaitHints* const teller = (dialler_says ? ends.dialler : ends.acceptor)->wait_hints();
  const WaitHints* const hearer = (dialler_says ? ends.acceptor : ends.dialler)->wait_hints();
  if (!shares_memory(transport)) return;
  REQUIRE((teller != nullptr && hearer != nullptr));
  REQUIRE(!hearer->is_peer_yielding());
  teller->set_yielding(true);
  REQUIRE(hearer->is_peer_yielding());
  REQUIRE(!teller->is_peer_yielding());
  teller->set_yielding(false);
  REQUIRE(!hearer->is_peer_yielding());
}

/// Network plugins name nothing that a thread could sleep on: it polls in between.
bool can_wake(const Transport& transport) { return std::string_view(transport.name) != "plugin"; }

constexpr int64_t kNap_ns = 900'000'000;

/// Whether a thread that polls and sleeps in turn is woken long before the sleep is over by what another
/// thread repeats meanwhile. A wake-up may be missed, but rarely, and the machine may be busy.
bool is_woken(Connection& connection, Connection::Awaiting what, const std::function<bool()>& there,
              const std::function<void()>& bring) {
  const int64_t before_ns = now_ns();
  std::atomic<bool> is_there = false;
  std::thread other([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    while (!is_there) bring();
  });
  const bool came = eventually([&] {
    if (!there()) park(connection.awaited(what), kNap_ns);
    return there();
  });
  const int64_t took_ns = now_ns() - before_ns;
  is_there = true;
  other.join();
  REQUIRE(came);
  return took_ns < kNap_ns / 2;
}

TEST_CASE("an end that sleeps for a message is woken by it") {
  FOR_EACH_TRANSPORT();
  if (!can_wake(transport)) return;
  Ends ends = connect_ends(transport, small_params());
  uint64_t sent = 0;
  REQUIRE(eventually([&] {
    bool is_sent = false;
    const bool woken = is_woken(
        *ends.acceptor, Connection::Awaiting::Arrival, [&] { return ends.acceptor->peek() != nullptr; },
        [&] {
          is_sent = is_sent || send_one(*ends.dialler, 100, 1, sent);
          ends.dialler->flushed();
        });
    REQUIRE(fault(*ends.acceptor->peek(), 100, 1, sent++) == "");
    ends.acceptor->release();
    return woken;
  }));
}

TEST_CASE("an end that sleeps for a slot is woken when the peer frees one") {
  FOR_EACH_TRANSPORT();
  if (!can_wake(transport)) return;
  Ends ends = connect_ends(transport, small_params(64 * 1024, 2));
  REQUIRE(eventually([&] { return ends.dialler->acquire() != nullptr; }));
  uint64_t sent = 0;
  REQUIRE(eventually([&] {
    while (send_one(*ends.dialler, 64 * 1024, 3, sent)) ++sent;
    return is_woken(
        *ends.dialler, Connection::Awaiting::Room, [&] { return ends.dialler->acquire() != nullptr; },
        // One message may not do: tcp's sockets report room only when much of their buffers is free.
        [&] {
          if (ends.acceptor->peek()) ends.acceptor->release();
        });
  }));
}

TEST_CASE("a sleep without a wake-up lasts for the requested time") {
  FOR_EACH_TRANSPORT();
  constexpr int64_t kShort_ns = 5'000'000;
  constexpr int kNaps = 20;
  constexpr size_t kBytes = size_t{64} * 1024;
  Ends ends = connect_ends(transport, small_params(kBytes, 1));
  REQUIRE(eventually([&] { return send_one(*ends.dialler, kBytes, 1, 0); }));
  REQUIRE(arrives(*ends.dialler, *ends.acceptor));
  ends.acceptor->release();
  const auto what = GENERATE(Connection::Awaiting::Arrival, Connection::Awaiting::Room);
  const bool for_room = what == Connection::Awaiting::Room;
  uint64_t sent = 1;
  const auto ask_in_vain = [&] {
    while (for_room && send_one(*ends.dialler, kBytes, 1, sent)) ++sent;
    if (!for_room) REQUIRE(ends.acceptor->peek() == nullptr);
  };
  ask_in_vain();
  const int64_t before_ns = now_ns();
  for (int nap = 0; nap != kNaps; ++nap) {
    ask_in_vain();
    park((for_room ? ends.dialler : ends.acceptor)->awaited(what), kShort_ns);
  }
  const int64_t took_ns = now_ns() - before_ns;
  REQUIRE(took_ns >= kNaps / 2 * kShort_ns);
  REQUIRE(took_ns < kNaps * (kShort_ns + 500'000'000));
}

}  // namespace
}  // namespace rondo::test
