// SPDX-License-Identifier: Apache-2.0
// How connections over verbs begin and end: devices that are slow or missing, peers that talk nonsense, close
// or die.
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <cstdlib>
#include <functional>

#include "../../transports/ends.h"
#include "clock.h"
#include "folder.h"
#include "in_process.h"
#include "process.h"
#include "raw_ends.h"
#include "verbs/gid_choice.h"
#include "verbs/path_attempt.h"

namespace rondo::verbs_test {
namespace {

using test::Ends;
using test::eventually;
using test::Process;
using test::require;
using test::small_params;

const Transport& verbs_row() { return *transport_by_name("verbs").value(); }

std::unique_ptr<Connection> connected(Ends& ends, bool dials,
                                      const ConnectionParams& params = small_params()) {
  auto made = ends.connect(verbs_row(), params, dials);
  require(made.ok(), made.status().message());
  return made.take();
}

/// Both ends, connected as far as they are at once.
Ends two_ends() {
  Ends ends;
  ends.dialler = connected(ends, true);
  ends.acceptor = connected(ends, false);
  return ends;
}

void await_connected(Ends& ends) {
  require(
      eventually([&] { return ends.dialler->acquire() != nullptr && ends.acceptor->acquire() != nullptr; }),
      "not connected: " + ends.dialler->status().message());
}

Status await_failure(Connection& end) {
  require(eventually([&] {
            end.peek();
            return !end.status().ok();
          }),
          "no failure");
  return end.status();
}

void require_words(const Status& status, Code code, const std::string& words) {
  require(status.code() == code && status.message().find(words) != std::string::npos, status.message());
}

TEST_CASE("a kernel that takes its time to resolve an address blocks no call") {
  CHECK(in_process({{"_RTR_MS", "300"}}, [] {
          Ends ends = two_ends();
          require(ends.dialler->acquire() == nullptr, "connected at once");
          require(!ends.acceptor->peek() && ends.acceptor->flushed(), "connected at once");
          await_connected(ends);
        }) == "");
}

TEST_CASE("a kernel may take longer than a path has to be proved") {
  CHECK(in_process({{"_RTR_MS", "1200"}, {"_GIDS", "v2 10.1.%p.%h lo"}}, [] {
          Ends ends = two_ends();
          await_connected(ends);
        }) == "");
}

TEST_CASE("an end can be closed while the kernel resolves its address") {
  CHECK(in_process({{"_RTR_MS", "300"}}, [] {
          Ends ends = two_ends();
          ends.dialler.reset();
          require_words(await_failure(*ends.acceptor), Code::RemoteError, "closed the connection");
        }) == "");
}

TEST_CASE("an end that cannot connect tells the other why") {
  const auto both_say = [](const Variables& variables, const std::string& words) {
    CHECK(in_process(variables, [&] {
            Ends ends = two_ends();
            for (const auto& end : {ends.dialler.get(), ends.acceptor.get()}) {
              const Status status = await_failure(*end);
              require(status.message().find(words) != std::string::npos, status.message());
            }
          }) == "");
  };
  both_say({{"_FAIL", "register:1"}, {"_GIDS", "v2 10.1.%p.%h lo"}}, "registering ");
  both_say({{"_FAIL", "rtr:1"}, {"_GIDS", "v2 10.1.%p.%h lo"}},
           "moving a queue pair to RTR on rondo_0: Connection timed out");
  both_say({{"_DEVICES", "none"}}, "this host has no device");
  both_say({{"_GIDS", "v1 fe80::%h:%p lo"}}, "no InfiniBand or RoCE port of this host reaches one of rank");
  both_say({{"_GIDS", "v1 fe80::%h:%p lo"}}, "rondo_0:1 here has no GID to offer");
}

TEST_CASE("a limit on locked memory that is too low is named, with the cures, at both ends and once") {
  CHECK(in_process({{"_MEMLOCK", "65536"}}, [] {
          const rlimit limit{65536, 65536};
          require(::setrlimit(RLIMIT_MEMLOCK, &limit) == 0, "setrlimit");
          Ends ends;
          ends.dialler = connected(ends, true, small_params(100'000));
          ends.acceptor = connected(ends, false, small_params(100'000));
          for (const auto& end : {ends.dialler.get(), ends.acceptor.get()}) {
            const std::string text = await_failure(*end).message();
            for (const char* words : {"registering ", "RLIMIT_MEMLOCK, is 64 KiB", "--ulimit memlock=-1"})
              require(text.find(words) != std::string::npos, text);
            require(text.find("RLIMIT_MEMLOCK") == text.rfind("RLIMIT_MEMLOCK"), "more than once: " + text);
          }
        }) == "");
}

TEST_CASE("an end learns why the other one alone cannot connect") {
  for (const bool other_dials : {true, false}) {
    const test::Folder folder;
    CHECK(in_process({{"", folder.path()}}, [&] {
            Ends ends;
            ends.wire->prepare(Route::Tcp, 1);
            Process other_host([&] {
              ::setenv("RONDO_STANDIN_VERBS_DEVICES", "none", 1);
              auto& end = other_dials ? ends.dialler : ends.acceptor;
              end = connected(ends, other_dials);
              require_words(await_failure(*end), Code::Unsupported, "this host has no device");
            });
            auto& end = other_dials ? ends.acceptor : ends.dialler;
            end = connected(ends, !other_dials);
            require_words(
                await_failure(*end), Code::Unsupported,
                fmt::format("rank {} cannot connect over verbs: InfiniBand verbs cannot be used: this "
                            "host has no device",
                            other_dials ? 0 : 1));
            require(other_host.wait().failure().empty(), "the other end");
          }) == "");
  }
}

/// What the accepting end makes of bytes from a dialling one.
Status failure_after(const void* bytes, size_t count) {
  Ends ends;
  auto [own, peers] = test::connected_sockets(Route::Tcp);
  ends.wire->put(0, std::move(peers));
  ends.acceptor = connected(ends, false);
  require(::send(own.get(), bytes, count, 0) == static_cast<ssize_t>(count), "sent");
  if (count < sizeof(verbs::PortOffer)) own = Fd();  // the rest never comes
  return await_failure(*ends.acceptor);
}

TEST_CASE("a peer that talks nonsense while it connects is found out") {
  CHECK(in_process({}, [] {
          verbs::PortOffer offer;
          offer.slot_bytes = small_params().slot_bytes;
          offer.slots = static_cast<uint64_t>(small_params().slots);
          offer.magic = 1;
          require_words(failure_after(&offer, sizeof offer), Code::RemoteError, "magic of the offer");
          require_words(failure_after(&offer, 100), Code::RemoteError, "rank 0 closed the connection");
          struct {
            verbs::PortOffer offer;
            std::array<uint8_t, 8> ports{1, 0, 0, 0, 0, 0, 0, 0};  // one, without a name
          } no_ports;
          no_ports.offer.slot_bytes = offer.slot_bytes;
          no_ports.offer.slots = offer.slots;
          no_ports.offer.port_bytes = sizeof no_ports.ports;
          require_words(failure_after(&no_ports, sizeof no_ports), Code::RemoteError,
                        "a list of ports that is none");
          struct {
            verbs::PortOffer offer;
            std::array<uint8_t, 8> ports{};  // none, and room to align what follows
            verbs::PathProposal proposal;
          } no_path;
          no_path.offer = no_ports.offer;
          no_path.proposal.contact = {.queue_pair = 1, .slots_at = 4096};
          require_words(failure_after(&no_path, sizeof no_path), Code::RemoteError,
                        "0 in the field dialler's port");
          no_path.proposal.follow = verbs::kNoMore;  // before the first
          require_words(failure_after(&no_path, sizeof no_path), Code::RemoteError, "2 in the field follow");
          no_path.proposal.follow = 3;
          require_words(failure_after(&no_path, sizeof no_path), Code::RemoteError, "3 in the field follow");
          no_path.proposal.magic = 1;
          require_words(failure_after(&no_path, sizeof no_path), Code::RemoteError, "magic of the proposal");
        }) == "");
}

/// Proves one queue pair after the other to an accepting end, which never hears that they are all. How many
/// until it refuses one, at most `most`.
size_t pairs_proved_to(Ends& ends, size_t most) {
  auto [own, peers] = test::connected_sockets(Route::Tcp);
  ends.wire->put(0, std::move(peers));
  ends.acceptor = connected(ends, false);
  const verbs::VerbsTerms terms{.params = agreed(small_params()), .peer = 1, .dials = true};
  const verbs::ConnectionPages pages{taken(verbs::SlotPages::make(terms.layout())),
                                     taken(verbs::SlotPages::make(terms.layout()))};
  const auto devices = taken(verbs::Devices::open());
  const auto ports = taken(devices->ports());
  const verbs::VerbsPort& port = ports.front();
  const auto addresses = verbs::address_pairs(port, port).front();
  const verbs::VerbsPath path{{0, addresses.here}, {0, addresses.there}, port.mtu};
  const auto gid = static_cast<size_t>(addresses.here);
  const verbs::Path view{.port = port.number,
                         .gid_index = port.gids[gid].index,
                         .peer_gid = port.gids[gid].raw,
                         .mtu = port.mtu};
  verbs::Conversation conversation(terms.params, terms.peer);
  succeed(conversation.begin(std::move(own)));
  ByteWriter list;
  verbs::write_ports(list, ports);
  succeed(conversation.send(verbs::PortOffer{.port_bytes = static_cast<uint32_t>(list.bytes().size()),
                                             .slot_bytes = terms.params.slot_bytes,
                                             .slots = terms.params.slots}));
  std::vector<std::byte> peers_list(taken(conversation.receive<verbs::PortOffer>()).port_bytes);
  succeed(conversation.send_bytes(list.bytes().data(), list.bytes().size()));
  succeed(conversation.receive_bytes(peers_list.data(), peers_list.size()));
  std::vector<verbs::PairEnd> proved;
  while (proved.size() < most) {
    const auto attempt = taken(verbs::PathAttempt::make(devices, port, terms, pages, proved));
    succeed(conversation.send(
        verbs::PathProposal{.path = path, .follow = verbs::kMorePairs, .contact = attempt->contact()}));
    const auto answer = conversation.receive<verbs::PathAnswer>();
    if (!answer.ok()) break;
    const auto result = taken(attempt->prove(conversation, attempt->connect(view, answer.value().contact)));
    require(result.failure.empty(), result.failure);
    proved.push_back(attempt->take_end());
  }
  return proved.size();
}

TEST_CASE("a peer that goes on with more queue pairs than a connection may have is found out") {
  CHECK(in_process({}, [] {
          Ends ends;
          require(pairs_proved_to(ends, verbs::kMaxPairs + 1) == verbs::kMaxPairs, "one too many is proved");
          require_words(await_failure(*ends.acceptor), Code::RemoteError, "1 in the field follow");
        }) == "");
}

TEST_CASE("a peer that closes its end has left once all its messages have arrived") {
  for (const char* seed : {"0", "1", "2", "3", "4"})
    CHECK(in_process({{"_SEED", seed}}, [] {
            Ends ends = two_ends();
            await_connected(ends);
            for (uint64_t i = 0; i < 3; ++i) require(test::send_one(*ends.dialler, 900, 1, i), "sent");
            require(eventually([&] { return ends.dialler->flushed(); }), "flushed");
            ends.dialler.reset();
            for (int i = 0; i < 100; ++i)
              require(ends.acceptor->status().ok(), "left before its messages were read");
            for (uint64_t i = 0; i < 3; ++i) {
              while (!ends.acceptor->peek()) require(ends.acceptor->status().ok(), "left too early");
              require(test::fault(*ends.acceptor->peek(), 900, 1, i).empty(), "wrong");
              ends.acceptor->release();
            }
            require_words(await_failure(*ends.acceptor), Code::RemoteError, "rank 0 closed its end");
            require(ends.acceptor->has_left(), "has left");
          }) == "");
}

TEST_CASE(
    "the last message of a peer that has left arrives on all pairs, though credits no longer reach it") {
  for (const char* seed : {"0", "1", "2"})
    CHECK(in_process({{"_SEED", seed}}, [] {
            ::setenv("RONDO_IB_QPS", "4", 1);
            ::setenv("RONDO_IB_TIMEOUT", "12", 1);
            ::setenv("RONDO_IB_RETRY", "2", 1);
            constexpr size_t kBytes[] = {100, 100, 256 * 1024};
            Ends ends;
            ends.dialler = connected(ends, true, small_params(256 * 1024, 4));
            ends.acceptor = connected(ends, false, small_params(256 * 1024, 4));
            await_connected(ends);
            // So that credits travel by the pair on which the last message begins.
            for (uint64_t i = 0; i < 2; ++i) require(test::send_one(*ends.acceptor, 100, 1, i), "sent");
            require(eventually([&] { return ends.acceptor->flushed(); }), "flushed");
            for (uint64_t i = 0; i < 3; ++i) require(test::send_one(*ends.dialler, kBytes[i], 1, i), "sent");
            require(eventually([&] { return ends.dialler->flushed(); }), "flushed");
            ends.dialler.reset();
            for (uint64_t i = 0; i < 3; ++i) {
              while (!ends.acceptor->peek()) require(ends.acceptor->status().ok(), "left too early");
              require(test::fault(*ends.acceptor->peek(), kBytes[i], 1, i).empty(), "wrong");
              ends.acceptor->release();
              if (i == 1) test::sleep_ms(200);  // until the write that carries credits has failed
            }
            require_words(await_failure(*ends.acceptor), Code::RemoteError, "rank 0 closed its end");
          }) == "");
}

TEST_CASE("the end of a peer that was killed wakes a thread that sleeps, and is an error") {
  const test::Folder folder;
  CHECK(in_process({{"", folder.path()}}, [] {
          Ends ends;
          ends.wire->prepare(Route::Tcp, 1);
          Process child([&] {
            ends.acceptor = connected(ends, false);
            require(eventually([&] { return test::send_one(*ends.acceptor, 10, 1, 0); }), "not connected");
            eventually([] { return false; });
          });
          ends.wire->take(0);
          ends.dialler = connected(ends, true);
          require(eventually([&] { return ends.dialler->peek() != nullptr; }), "no message");
          ends.dialler->release();
          Awaited awaited;
          require(eventually([&] {
                    awaited = ends.dialler->awaited(Connection::Awaiting::Arrival);
                    return std::holds_alternative<AwaitedSockets>(awaited);
                  }),
                  "nothing to sleep on");
          ::kill(child.pid(), SIGKILL);
          AwaitedSockets sockets = std::get<AwaitedSockets>(awaited);
          require(::poll(sockets.sockets.data(), sockets.sockets.size(), 10'000) > 0, "not woken");
          require_words(await_failure(*ends.dialler), Code::RemoteError, "rank 1 ended without closing");
          require(!ends.dialler->has_left(), "has left");
        }) == "");
}

/// One end of an exchange of a message of 9000 bytes each way.
void exchange(Connection& end) {
  require(eventually([&] { return test::send_one(end, 9000, 1, 0); }), "no slot: " + end.status().message());
  require(eventually([&] { return end.peek() != nullptr; }), "no message: " + end.status().message());
  require(test::fault(*end.peek(), 9000, 1, 0).empty(), "wrong");
  end.release();
  require(eventually([&] { return end.flushed(); }), "not flushed: " + end.status().message());
}

TEST_CASE("hosts whose ports differ in MTU use the lesser one") {
  const test::Folder folder;
  for (const char* mtu : {"256", "2048"})
    CHECK(in_process({{"", folder.path()}, {"_MTU", "1024"}}, [&] {
            Ends ends;
            ends.wire->prepare(Route::Tcp, 1);
            Process other_host([&] {
              ::setenv("RONDO_STANDIN_VERBS_HOST", "1", 1);
              ::setenv("RONDO_STANDIN_VERBS_MTU", mtu, 1);
              ends.acceptor = connected(ends, false, small_params(9000));
              exchange(*ends.acceptor);
            });
            ends.dialler = connected(ends, true, small_params(9000));
            exchange(*ends.dialler);
            require(other_host.wait().failure().empty(), "the other end");
          }) == "");
}

TEST_CASE("a forked child that ends leaves its parent's connections alone") {
  CHECK(in_process({}, [] {
          Ends ends = two_ends();
          await_connected(ends);
          const std::string failure = in_process({}, [&] {
            ends.dialler.reset();
            ends.acceptor.reset();
          });
          require(failure.empty(), failure);
          require(test::send_one(*ends.dialler, 10, 1, 0), "no slot");
          require(test::arrives(*ends.dialler, *ends.acceptor), "nothing arrives");
        }) == "");
}

}  // namespace
}  // namespace rondo::verbs_test
