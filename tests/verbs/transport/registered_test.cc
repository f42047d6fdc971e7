// SPDX-License-Identifier: Apache-2.0
// Messages that leave from registered memory of the user's.
#include <unistd.h>

#include <sys/mman.h>
#include <cstdlib>

#include <cstring>
#include <vector>

#include "../../transports/ends.h"
#include "../../transports/exported_memory.h"
#include "common/fifo.h"
#include "in_process.h"
#include "raw_ends.h"
#include "transports/relay.h"
#include "transports/zero_copy.h"

namespace rondo::verbs_test {
namespace {

using test::Ends;
using test::ExportedMemory;

constexpr size_t kPostedBytes = 5000;
constexpr RingLayout kPostLayout{.slots = 4, .slot_bytes = 8192};

/// Two connected ends, and memory of which the dialling one may post messages.
struct Posting {
  explicit Posting(std::byte* begin, size_t bytes) {
    const Transport& verbs = *transport_by_name("verbs").value();
    ends.dialler = ends.connect(verbs, test::small_params(8192), true).take();
    ends.acceptor = ends.connect(verbs, test::small_params(8192), false).take();
    require(test::eventually([&] { return ends.dialler->acquire() && ends.acceptor->acquire(); }),
            "not connected");
    test::fill(begin, bytes, 1, 0);
    offer(begin);
  }
  void offer(const std::byte* at) const { ends.dialler->zero_copy()->export_memory(*find_accessible(at, 1)); }
  /// A slot first, as executors take one: that looks for what the peer has given back.
  bool post(const std::byte* at, size_t bytes) const {
    return ends.dialler->acquire() != nullptr && ends.dialler->zero_copy()->can_post(at, bytes) &&
           ends.dialler->zero_copy()->post(at, bytes, test::signature_of(1, 0));
  }
  void check_arrival(size_t bytes) const {
    const auto has_arrived = [&] {
      ends.dialler->look();
      ends.acceptor->look();
      return ends.acceptor->peek() != nullptr;
    };
    require(test::eventually(has_arrived), "nothing has arrived");
    const std::string fault = test::fault(*ends.acceptor->peek(), bytes, 1, 0);
    require(fault.empty(), fault);
    ends.acceptor->release();
    require(test::eventually([&] { return ends.acceptor->flushed() && ends.dialler->flushed(); }),
            "not flushed");
  }
  Ends ends;
};

std::byte* allocate(size_t bytes) { return allocate_exportable(bytes).value(); }

TEST_CASE("memory is registered once, and until it is freed") {
  CHECK(in_process({}, [] {
          std::byte* const memory = allocate(3 * kPostedBytes);
          const Posting posting(memory, kPostedBytes);
          const uint64_t regions = calls("reg_mr"), ended = calls("dereg_mr");
          for (int i = 0; i < 20; ++i) {
            posting.offer(memory + kPostedBytes);
            require(test::eventually([&] { return posting.post(memory, kPostedBytes); }), "not posted");
            posting.check_arrival(kPostedBytes);
          }
          require(calls("reg_mr") == regions, "registered again");
          free_exportable(memory);
          require(calls("dereg_mr") == ended + 1, "still registered");
          require(!posting.ends.dialler->zero_copy()->can_post(memory, 1000), "freed memory can be posted");
        }) == "");
}

TEST_CASE("the parts of a striped message leave from where it is, on all devices") {
  for (const char* seed : {"0", "1"})
    CHECK(in_process({{"_DEVICES", "roce,roce"}, {"_SEED", seed}}, [] {
            constexpr RingLayout kLongLayout{.slots = 2, .slot_bytes = 256 * 1024};
            RawEnd one(kLongLayout, 3), other(kLongLayout, 3);
            connect(one, other);
            SlotChannel from(one.take_parts()), to(other.take_parts());
            std::byte* const memory = allocate(kLongLayout.slot_bytes);
            test::fill(memory, kLongLayout.slot_bytes, 1, 0);
            from.export_memory(*find_exportable(memory, 1));
            const uint64_t sends = calls("post_send");
            require(from.can_post(memory, kLongLayout.slot_bytes), "cannot be posted");
            require(from.post(memory, kLongLayout.slot_bytes, test::signature_of(1, 0)), "not posted");
            require(calls("post_send") == sends + 3, "three parts");
            require(test::eventually([&] { return to.peek() != nullptr; }), "nothing has arrived");
            const std::string fault = test::fault(*to.peek(), kLongLayout.slot_bytes, 1, 0);
            require(fault.empty(), fault);
          }) == "");
}

TEST_CASE("a message is copied if one of the devices has not registered where it is") {
  for (const char* nth : {"register:9", "register:10"})  // eight are of slots
    CHECK(in_process({{"_DEVICES", "roce,roce"}, {"_FAIL", nth}}, [] {
            RawEnd one(kPostLayout, 2), other(kPostLayout, 2);
            connect(one, other);
            SlotChannel from(one.take_parts()), to(other.take_parts());
            std::byte* const memory = allocate(kPostedBytes);
            from.export_memory(*find_exportable(memory, 1));
            require(!from.can_post(memory, kPostedBytes), "can be posted");
            for (uint64_t i = 0; i < 2; ++i) {  // on each device
              test::fill(memory, kPostedBytes, 1, i);
              require(from.post(memory, kPostedBytes, test::signature_of(1, i)), "not posted");
              std::memset(memory, 0, kPostedBytes);
              require(!from.has_posted(), "it may still be read");
              require(test::eventually([&] { return to.peek() != nullptr; }), "nothing has arrived");
              const std::string fault = test::fault(*to.peek(), kPostedBytes, 1, i);
              require(fault.empty(), fault);
              to.release();
            }
          }) == "");
}

TEST_CASE("ordinary memory can be posted while it is registered") {
  CHECK(in_process({}, [] {
          std::vector<std::byte> memory(kPostedBytes);
          std::optional<AccessibleMemory> registered(std::in_place, memory.data(), memory.size());
          const Posting posting(memory.data(), memory.size());
          require(posting.post(memory.data(), memory.size()), "not posted");
          posting.check_arrival(memory.size());
          require(!posting.post(memory.data() + 1, memory.size()), "posted beyond its end");
          registered.reset();
          require(!posting.post(memory.data(), memory.size()), "posted after its registration");
        }) == "");
}

TEST_CASE("a message whose path was lost before it was posted is copied") {
  CHECK(in_process({{"_DEVICES", "roce,roce"}}, [] {
          std::byte* const memory = allocate(kPostedBytes);
          const Posting posting(memory, kPostedBytes);
          ZeroCopy& sender = *posting.ends.dialler->zero_copy();
          require(sender.can_post(memory, kPostedBytes), "cannot be posted");
          command("fatal 0/rondo_0");
          require(test::eventually([&] {
                    posting.ends.dialler->look();
                    return !sender.can_post(memory, kPostedBytes);
                  }),
                  "still works");
          require(sender.post(memory, kPostedBytes, test::signature_of(1, 0)), "not posted");
          std::memset(memory, 0, kPostedBytes);
          posting.check_arrival(kPostedBytes);
        }) == "");
}

TEST_CASE("a cancelled message is not read any more") {
  for (const char* seed : {"0", "1", "2"})
    CHECK(
        in_process({{"_AT", "0 loss 20"}, {"_SEED", seed}}, [] {
          std::byte* const memory = allocate(kPostedBytes);
          const Posting posting(memory, kPostedBytes);
          const uint64_t ended = calls("dereg_mr");
          require(posting.post(memory, kPostedBytes), "not posted");
          posting.ends.dialler->zero_copy()->cancel();
          require(calls("dereg_mr") > ended, "still registered for the message");
          std::memset(memory, 0, kPostedBytes);
          const bool arrives = test::eventually([&] {
            return posting.ends.acceptor->peek() != nullptr || !posting.ends.acceptor->status().ok();
          });
          require(arrives, "the peer learns nothing");
          if (const auto arrival = posting.ends.acceptor->peek())
            require(test::fault(*arrival, kPostedBytes, 1, 0).empty(), "it was read after it was cancelled");
          require(!posting.ends.dialler->status().ok(), "the connection is usable");
          const uint64_t still_ended = calls("dereg_mr");
          free_exportable(memory);
          require(calls("dereg_mr") == still_ended + 1, "still registered for the message once it is freed");
        }) == "");
}

/// A GPU's FIFO, whose messages a Relay posts or copies.
struct Relaying {
  explicit Relaying(Connection& connection)
      : lines(Relay::host_bytes(params) / sizeof(ReleasedCounter) + 1),
        relay(std::in_place, connection, Relay::FifoMemory{reinterpret_cast<std::byte*>(lines.data())},
              params),
        gpu(relay->outgoing()) {}
  void send(size_t bytes) {
    require(gpu.has_room(), "no slot");
    gpu.publish(bytes, 0, test::signature_of(1, 0));
    require(relay->pump(), "not sent");
  }
  const ConnectionParams params = test::small_params(8192);
  std::vector<ReleasedCounter> lines;
  std::optional<Relay> relay;
  FifoSender gpu;
};

TEST_CASE("a slot of a GPU's FIFO is returned once its message was copied, or its receiver has taken it") {
  CHECK(in_process({}, [] {
          const Posting posting(allocate(kPostedBytes), kPostedBytes);
          Relaying relaying(*posting.ends.dialler);
          command("port_down 0/rondo_0:1");
          relaying.send(100);  // inline
          require(relaying.gpu.returned(1), "not returned, though it was copied");
          relaying.send(kPostedBytes);
          require(!relaying.gpu.returned(2), "returned before it has left");
          require(relaying.gpu.seen_returned() == 1, "no longer returned");
          command("port_up 0/rondo_0:1");
          Connection& peer = *posting.ends.acceptor;
          const auto take = [&] { peer.peek() ? peer.release() : static_cast<void>(peer.flushed()); };
          require(test::eventually([&] { return take(), relaying.relay->flushed(); }), "not flushed");
          require(relaying.gpu.returned(2), "not returned");
        }) == "");
}

TEST_CASE("messages that have not left a GPU's FIFO are withdrawn when it ends") {
  for (const size_t bytes : {size_t{100}, kPostedBytes})
    CHECK(in_process({}, [bytes] {
            ::setenv("RONDO_IB_TIMEOUT", "20", 1);  // the path does not fail meanwhile
            const Posting posting(allocate(kPostedBytes), kPostedBytes);
            Relaying relaying(*posting.ends.dialler);
            command("port_down 0/rondo_0:1");
            relaying.send(bytes);
            relaying.relay.reset();
            const bool is_usable = posting.ends.dialler->status().ok();
            require(is_usable == (bytes == 100), "copied: " + posting.ends.dialler->status().message());
          }) == "");
}

TEST_CASE("RONDO_IB_BYTES bounds what is registered, and messages are copied beyond it") {
  const std::string log = log_of({}, [] {
    ::setenv("RONDO_IB_BYTES", "1M", 1);
    ::setenv("RONDO_LOG", "info", 1);
    std::byte* const memory = allocate(size_t{1} << 20);
    const Posting posting(memory, kPostedBytes);
    require(!posting.post(memory, kPostedBytes), "posted");
    require(test::send_one(*posting.ends.dialler, 1000, 1, 0), "no slot");
    posting.check_arrival(1000);
  });
  INFO(log);
  CHECK(log.find("RONDO_IB_BYTES is 1048576, of which ") != std::string::npos);
}

TEST_CASE("with RONDO_IB_ODP any memory can be posted, as it is now, but is not open to peers") {
  CHECK(in_process({}, [] {
          ::setenv("RONDO_IB_ODP", "1", 1);
          const size_t bytes = 4 * kPostedBytes;
          const auto map = [&](void* at) {
            void* const made = ::mmap(at, bytes, PROT_READ | PROT_WRITE,
                                      MAP_PRIVATE | MAP_ANONYMOUS | (at != nullptr ? MAP_FIXED : 0), -1, 0);
            test::fill(static_cast<std::byte*>(made), bytes, 1, 0);
            return static_cast<std::byte*>(made);
          };
          std::byte* const memory = map(nullptr);
          const ExportedMemory known(kPostedBytes);
          const Posting posting(known.data(), kPostedBytes);
          const uint64_t regions = calls("reg_mr");
          for (int i = 0; i < 3; ++i) {
            require(posting.post(memory, kPostedBytes), "not posted");
            posting.check_arrival(kPostedBytes);
            ::munmap(memory, bytes);
            map(memory);
          }
          posting.ends.acceptor->zero_copy()->expect_all(memory, bytes, test::signature_of(1, 0));
          require(calls("reg_mr") == regions, "registered");
          posting.ends.acceptor->zero_copy()->cancel();
          require(posting.ends.acceptor->status().ok(), "a peer may write there");
        }) == "");
}

TEST_CASE("where the device does not page on demand, other memory is copied, and the log says so") {
  const std::string log = log_of({{"_ODP", "0"}}, [] {
    ::setenv("RONDO_IB_ODP", "1", 1);
    ::setenv("RONDO_LOG", "info", 1);
    const ExportedMemory known(kPostedBytes);
    const Posting posting(known.data(), kPostedBytes);
    const std::vector<std::byte> memory(kPostedBytes);
    require(!posting.post(memory.data(), kPostedBytes), "posted");
    require(posting.post(known.data(), kPostedBytes), "registered memory is not posted");
  });
  INFO(log);
  CHECK(log.find("rondo_0 cannot page all memory on demand") != std::string::npos);
}

TEST_CASE("memory of the user's gives way to slots") {
  CHECK(in_process({}, [] {
          const auto devices = taken(verbs::Devices::open());
          const std::string name = taken(devices->ports()).front().device;
          const auto domain = taken(taken(devices->named(name))->domain(1, size_t{96} << 10));
          std::byte* const memory = allocate(size_t{64} << 10);
          domain->user_regions().add(*find_exportable(memory, 1));
          require(domain->user_regions().find(memory, kPostedBytes) != nullptr, "not registered");
          const auto pages = taken(verbs::SlotPages::make(kPostLayout));  // 46 KiB
          const auto make = [&] { return SlotMemory::make(domain, pages, SlotMemory::WrittenBy::Peer); };
          const auto slots = taken(make());
          require(domain->user_regions().find(memory, kPostedBytes) == nullptr, "still registered");
          const auto more = taken(make());
          require(make().status().code() == Code::InvalidUsage, "beyond the bound");
        }) == "");
}

TEST_CASE("pieces that begin at the same address are each registered once") {
  CHECK(in_process({}, [] {
          std::vector<std::byte> memory(2 * kPostedBytes);
          const AccessibleMemory whole(memory.data(), memory.size());
          const AccessibleMemory half(memory.data(), kPostedBytes);
          const Posting posting(memory.data(), memory.size());
          const auto offer = [&](size_t bytes) {
            posting.ends.dialler->zero_copy()->export_memory(*find_accessible(memory.data(), bytes));
          };
          for (const size_t bytes : {memory.size(), kPostedBytes}) offer(bytes);
          const uint64_t regions = calls("reg_mr");
          for (int i = 0; i < 3; ++i)
            for (const size_t bytes : {memory.size(), kPostedBytes}) offer(bytes);
          require(calls("reg_mr") == regions, "registered again");
          require(posting.post(memory.data(), kPostedBytes + 1), "the longer one is hidden");
        }) == "");
}

TEST_CASE("a posted message that did not arrive is sent again, whether or not it was acknowledged") {
  for (const bool is_acknowledged : {true, false})
    CHECK(in_process({{"_FAIL", is_acknowledged ? "" : "retry:1"}}, [is_acknowledged] {
            RawEnd one(kPostLayout), other(kPostLayout);
            connect(one, other);
            std::byte* const memory = allocate(kPostedBytes);
            test::fill(memory, kPostedBytes, 1, 0);
            SlotChannel channel(one.take_parts());
            channel.export_memory(*find_exportable(memory, 1));
            require(channel.post(memory, kPostedBytes, test::signature_of(1, 0)), "not posted");
            const auto is_over = [&] {
              require(!channel.flushed(), "its bytes may change, though the peer has not read it");
              return is_acknowledged ? channel.delivered() == 1 : !channel.works();
            };
            require(test::eventually(is_over), "nothing completes");
            channel.suspend({});
            require(channel.abandon({}).ok(), channel.failure().message());
            require(!channel.has_posted(), "it may still be read");
            std::memset(memory, 0, kPostedBytes);
            const auto unsent = channel.unsent(0);
            const Arrival again{unsent->data, unsent->bytes, unsent->signature};
            const std::string fault = test::fault(again, kPostedBytes, 1, 0);
            require(fault.empty(), fault);
          }) == "");
}

TEST_CASE("the bytes of a posted message may change once its peer has released it, and not before") {
  CHECK(in_process({}, [] {
          std::byte* const memory = allocate(kPostedBytes);
          const Posting posting(memory, kPostedBytes);
          Connection& from = *posting.ends.dialler;
          Connection& to = *posting.ends.acceptor;
          require(posting.post(memory, kPostedBytes), "not posted");
          require(test::eventually([&] { return to.peek() != nullptr; }), "nothing has arrived");
          for (int i = 0; i < 1000; ++i) require(!from.flushed() && to.flushed(), "it is not released");
          require(from.zero_copy()->held() == size_t{1}, "it is not held");
          to.release();
          for (int i = 0; i < 1000; ++i) require(!from.flushed(), "its receiver has told nothing");
          require(to.flushed(), "it waits for something");
          require(test::eventually([&] { return from.flushed(); }), "not flushed");
          require(from.zero_copy()->held() == size_t{0}, "it is held");
        }) == "");
}

}  // namespace
}  // namespace rondo::verbs_test
