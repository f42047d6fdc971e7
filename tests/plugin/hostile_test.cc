// SPDX-License-Identifier: Apache-2.0
// A peer that says or sends what no connection does: it gets an error at this end, and reaches nothing but
// its slots.
#include <sys/socket.h>

#include <cstring>
#include <functional>

#include "../transports/ends.h"
#include "catch.h"
#include "in_process.h"
#include "plugin/loaded.h"
#include "plugin/wire.h"
#include "process.h"
#include "schedule/fifo_layout.h"

namespace rondo::plugin_test {
namespace {

using plugin::PluginOffer;
using plugin::PluginVerdict;
using test::eventually;
using test::require;

const ConnectionParams kSlots = test::small_params(1000, 3);

void succeed(const Status& status) { require(status.ok(), status.message()); }

/// The dialling end, played by the test; the accepting one is a connection.
struct RawPeer {
  test::Ends ends;
  std::shared_ptr<const plugin::LoadedPlugin> loaded;
  Fd socket;
  void* listener = nullptr;
  void* out = nullptr;
  void* in = nullptr;
  void* region = nullptr;
  std::vector<std::byte> memory = std::vector<std::byte>(4096);

  RawPeer() {
    auto [near, far] = test::connected_sockets(Route::Tcp);
    socket = std::move(near);
    ends.wire->put(0, std::move(far));
    auto found = plugin::loaded_plugin(plugin::wanted_file());
    succeed(found.status());
    loaded = found.take();
    auto made = ends.connect(plugin_transport(), kSlots, false);
    succeed(made.status());
    ends.acceptor = made.take();
  }
  plugin::NetPlugin& net() const { return *loaded->net; }

  template <class Message>
  void say(const Message& message) {
    require(::send(socket.get(), &message, sizeof message, MSG_NOSIGNAL) == sizeof message, "not sent");
  }
  template <class Message>
  Message hear() {
    Message message;
    require(eventually([&] {
              ends.acceptor->peek();
              return ::recv(socket.get(), &message, sizeof message, MSG_PEEK | MSG_DONTWAIT) ==
                     sizeof message;
            }),
            "nothing is said");
    ::recv(socket.get(), &message, sizeof message, 0);
    return message;
  }
  PluginOffer offer() {
    PluginOffer made{.slot_bytes = kSlots.slot_bytes, .slots = static_cast<uint64_t>(kSlots.slots)};
    made.plugin = wire_text(net().name());
    succeed(net().listen(loaded->devices[0].number, made.handle.data(), listener));
    return made;
  }
  /// Connects as an honest peer does.
  void meet() {
    say(offer());
    PluginOffer other = hear<PluginOffer>();
    require(eventually([&] {
              ends.acceptor->peek();
              if (out == nullptr) succeed(net().connect(loaded->devices[0].number, other.handle.data(), out));
              if (in == nullptr) succeed(net().accept(listener, in));
              return out != nullptr && in != nullptr;
            }),
            "it does not connect");
    succeed(net().register_memory(out, memory.data(), memory.size(), region));
    say(PluginVerdict{});
    require(hear<PluginVerdict>().gives_up == kGoesOn, "it gives up");
  }
  /// Sends what is in memory.
  void send(size_t bytes) {
    void* request = nullptr;
    bool is_done = false;
    int sent = 0;
    require(eventually([&] {
              if (request == nullptr) succeed(net().send(out, memory.data(), bytes, region, request));
              if (request != nullptr) succeed(net().test(request, is_done, sent));
              return is_done;
            }),
            "it is not sent");
  }
  void send_message(uint64_t number, uint32_t said_bytes, size_t bytes) {
    SlotHeader header;
    header.ready = number;
    header.bytes = said_bytes;
    std::memcpy(memory.data(), &header, sizeof header);
    send(sizeof header + bytes);
  }
  Status failure(int* messages = nullptr) {
    require(eventually([&] {
              if (ends.acceptor->peek()) {
                ends.acceptor->release();
                if (messages != nullptr) ++*messages;
              }
              return !ends.acceptor->status().ok();
            }),
            "no failure");
    require(!ends.acceptor->peek() && ends.acceptor->acquire() == nullptr, "it goes on");
    return ends.acceptor->status();
  }
};

void check_failure(const std::string& words, const std::function<void(RawPeer&)>& attack,
                   Code code = Code::RemoteError) {
  CAPTURE(words);
  CHECK(in_process(with_fault(""), [&] {
          RawPeer peer;
          attack(peer);
          const Status status = peer.failure();
          require(status.code() == code && status.message().find(words) != std::string::npos,
                  status.message());
        }) == "");
}

TEST_CASE("nonsense in an offer is an error that names the field") {
  const auto check_offer = [](const std::string& words, const std::function<void(PluginOffer&)>& change,
                              Code code = Code::RemoteError) {
    check_failure(
        words,
        [&](RawPeer& peer) {
          PluginOffer offer = peer.offer();
          change(offer);
          peer.say(offer);
        },
        code);
  };
  check_offer("5 in the field magic of the offer", [](PluginOffer& offer) { offer.magic = 5; });
  check_offer("9 in the field version", [](PluginOffer& offer) { offer.version = 9; });
  check_offer("7 in the field gives_up", [](PluginOffer& offer) { offer.gives_up = 7; });
  check_offer("120 in the field reason", [](PluginOffer& offer) { offer.reason.fill('x'); });
  check_offer("10 in the field reason", [](PluginOffer& offer) { offer.plugin[0] = '\n'; });
  check_offer(
      "slots is 3 at this end and 4 at the other", [](PluginOffer& offer) { offer.slots = 4; },
      Code::Mismatch);
  check_offer(
      "rank 0 cannot connect over the network plugin TestNet: no cable",
      [](PluginOffer& offer) {
        offer.gives_up = kFails;
        offer.reason = wire_text("no cable");
      },
      Code::Unsupported);
}

TEST_CASE("a peer whose plugin has another name is refused") {
  CHECK(in_process(with_fault(""), [] {
          RawPeer peer;
          PluginOffer offer = peer.offer();
          offer.plugin = wire_text("OtherNet");
          peer.say(offer);
          const Status status = peer.failure();
          require(status.message() == "the network plugin of rank 0 is OtherNet, that of this rank TestNet",
                  status.message());
          require(peer.ends.acceptor->is_refused(), "it is not refused");
        }) == "");
}

TEST_CASE("nonsense instead of a verdict is an error") {
  check_failure("0 in the field magic of the verdict", [](RawPeer& peer) {
    peer.say(peer.offer());
    peer.hear<PluginOffer>();
    peer.say(PluginVerdict{.magic = 0});
  });
}

TEST_CASE("a message that is none is an error") {
  check_failure("rank 0 sent 10 bytes, which is no message", [](RawPeer& peer) {
    peer.meet();
    peer.send(10);
  });
  check_failure("the slot of message 1 from rank 0 holds message 2", [](RawPeer& peer) {
    peer.meet();
    peer.send_message(2, 100, 100);
  });
  check_failure("the header of message 1 from rank 0 says 4000000000 bytes; 100 came", [](RawPeer& peer) {
    peer.meet();
    peer.send_message(1, 4'000'000'000, 100);
  });
  check_failure("the header of message 1 from rank 0 says 99 bytes; 100 came", [](RawPeer& peer) {
    peer.meet();
    peer.send_message(1, 99, 100);
  });
  // The plugin itself refuses what is longer than the receive.
  check_failure("test() of the network plugin TestNet failed: ncclInternalError (3)", [](RawPeer& peer) {
    peer.meet();
    peer.send_message(1, 1001, 1001);
  });
}

TEST_CASE("messages before one that is none arrive") {
  CHECK(in_process(with_fault(""), [] {
          RawPeer peer;
          peer.meet();
          for (uint64_t i = 1; i <= 3; ++i) peer.send_message(i, 10, 10);
          peer.send_message(9, 10, 10);
          int messages = 0;
          const Status status = peer.failure(&messages);
          require(messages == 3, std::to_string(messages) + " messages");
          require(status.message() == "the slot of message 4 from rank 0 holds message 9", status.message());
        }) == "");
}

TEST_CASE("a farewell of nonsense is that of a peer that was killed") {
  CHECK(in_process(with_fault(""), [] {
          RawPeer peer;
          peer.meet();
          peer.say(PluginVerdict{});
          peer.socket = Fd();
          Connection& end = *peer.ends.acceptor;
          require(eventually([&] { return !end.peek() && !end.status().ok(); }), "no failure");
          require(end.status().message() == "rank 0 ended without closing its connection",
                  end.status().message());
          require(!end.has_left(), "it has left");
        }) == "");
}

}  // namespace
}  // namespace rondo::plugin_test
