// SPDX-License-Identifier: Apache-2.0
// Guarantees of transports whose receiver reads the sender's own memory, and cancelling such messages.
#include <atomic>
#include <cstring>
#include <thread>

#include "ends.h"
#include "transports/zero_copy.h"

namespace rondo::test {
namespace {

const Transport& local() { return *transport_by_name("local").value(); }

/// Both ends of a transport that posts in shared memory, with memory that the dialler has exported.
struct Posting {
  explicit Posting(size_t bytes) : mine(bytes) {
    ends.dialler->zero_copy()->export_memory(mine.exportable());
    ends.acceptor->peek();  // lets its memory arrive, then learns of the export
    REQUIRE(ends.dialler->zero_copy()->can_post(mine.data(), mine.size()));
  }
  Ends ends = connect_ends(*transport_by_name(GENERATE("local", "shm")).value(), small_params());
  ExportedMemory mine;
};

TEST_CASE("the receiver sees the posted memory itself") {
  Posting posting(1000);
  auto& [ends, mine] = posting;
  REQUIRE(ends.dialler->zero_copy()->post(mine.data(), mine.size(), {}));
  const std::byte* const seen = ends.acceptor->peek()->data;
  mine.data()[999] = std::byte{77};
  REQUIRE(seen[999] == std::byte{77});
  REQUIRE_FALSE(ends.dialler->flushed());
  ends.acceptor->release();
  REQUIRE(ends.dialler->flushed());
}

TEST_CASE("a copied message after a posted one does not wait for its reader") {
  Posting posting(10);
  auto& [ends, mine] = posting;
  REQUIRE(ends.dialler->zero_copy()->post(mine.data(), mine.size(), {}));
  REQUIRE(send_one(*ends.dialler, 10, 1, 1));
  ends.acceptor->peek();
  ends.acceptor->release();
  REQUIRE(ends.dialler->flushed());
  REQUIRE(fault(*ends.acceptor->peek(), 10, 1, 1) == "");
}

TEST_CASE("a cancelled posted message is never read") {
  Posting posting(1000);
  auto& [ends, mine] = posting;
  REQUIRE(ends.dialler->zero_copy()->post(mine.data(), mine.size(), {}));
  ends.dialler->zero_copy()->cancel();
  REQUIRE(ends.acceptor->peek() == nullptr);
  REQUIRE(ends.acceptor->status().code() == Code::RemoteError);
}

TEST_CASE("a cancelled offer is not fetched, and one that is over stands in no way of others") {
  Posting posting(1000);
  auto& [ends, mine] = posting;
  std::vector<std::byte> place(mine.size());
  const uint64_t offer = ends.dialler->zero_copy()->offer(mine.data(), mine.size());
  REQUIRE(offer != 0);
  fill(mine.data(), mine.size(), 1, 0);
  REQUIRE(ends.acceptor->zero_copy()->fetch(offer, 0, place.data(), mine.size()) == ZeroCopy::Fetched::Done);
  REQUIRE(std::memcmp(place.data(), mine.data(), mine.size()) == 0);
  const bool is_over = GENERATE(true, false);
  if (is_over) ends.dialler->zero_copy()->end_offer();
  REQUIRE(send_one(*ends.dialler, 10, 1, 1));
  ends.dialler->zero_copy()->cancel();
  REQUIRE(ends.acceptor->zero_copy()->fetch(offer, 0, place.data(), 1) ==
          (is_over ? ZeroCopy::Fetched::Done : ZeroCopy::Fetched::Cancelled));
  if (is_over) REQUIRE(fault(*ends.acceptor->peek(), 10, 1, 1) == "");
}

TEST_CASE("destroying an end cancels its posted messages") {
  Posting posting(1000);
  auto& [ends, mine] = posting;
  REQUIRE(ends.dialler->zero_copy()->post(mine.data(), mine.size(), {}));
  ends.dialler.reset();
  REQUIRE(ends.acceptor->peek() == nullptr);
  REQUIRE_FALSE(ends.acceptor->status().ok());
}

TEST_CASE("a reader that releases a message it could not use does not block the sender") {
  Posting posting(1000);
  auto& [ends, mine] = posting;
  REQUIRE(ends.dialler->zero_copy()->post(mine.data(), mine.size(), {}));
  REQUIRE(ends.acceptor->peek() != nullptr);
  ends.acceptor->zero_copy()->stop_reading();
  const int64_t before_ns = now_ns();
  ends.dialler->zero_copy()->cancel();
  REQUIRE(now_ns() - before_ns < ZeroCopy::kCancelMs * 1'000'000 / 2);
}

TEST_CASE("a message cancelled while it was read is known to be incomplete") {
  Posting posting(1000);
  auto& [ends, mine] = posting;
  REQUIRE(ends.dialler->zero_copy()->post(mine.data(), mine.size(), {}));
  REQUIRE(ends.acceptor->peek() != nullptr);
  REQUIRE(ends.acceptor->zero_copy()->intact());
  ends.dialler->zero_copy()->cancel();
  REQUIRE_FALSE(ends.acceptor->zero_copy()->intact());
}

TEST_CASE("cancel waits for a peer that is reading, but not forever") {
  Posting posting(1000);
  auto& [ends, mine] = posting;
  REQUIRE(ends.dialler->zero_copy()->post(mine.data(), mine.size(), {}));
  REQUIRE(ends.acceptor->peek() != nullptr);
  const int64_t before_ns = now_ns();
  SECTION("a peer that never ends") {
    ends.dialler->zero_copy()->cancel();
    REQUIRE(now_ns() - before_ns >= ZeroCopy::kCancelMs * 1'000'000);
  }
  SECTION("a peer that ends soon") {
    std::atomic<bool> released = false;
    std::thread reader([&released, &ends = posting.ends] {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
      released = true;
      ends.acceptor->release();
    });
    ends.dialler->zero_copy()->cancel();
    REQUIRE(released);
    reader.join();
  }
}

// Under ThreadSanitizer this also shows that the peer's last read happens before the owner's next write.
TEST_CASE("after cancel, the memory belongs to its owner again") {
  const uint64_t seed = GENERATE(range(uint64_t{0}, uint64_t{100}));
  CAPTURE(seed);
  Posting posting(64);
  auto& [ends, mine] = posting;
  fill(mine.data(), mine.size(), seed, 0);
  REQUIRE(ends.dialler->zero_copy()->post(mine.data(), mine.size(), signature_of(seed, 0)));
  std::string seen;
  std::thread reader([&seen, &ends = posting.ends, seed] {
    for (int i = 0; i < 1000; ++i) {
      const auto arrival = ends.acceptor->peek();
      if (!arrival) continue;
      seen = fault(*arrival, 64, seed, 0);
      ends.acceptor->release();
    }
  });
  for (uint64_t i = 0; i < mix(seed, 0) % 2000; ++i) ends.dialler->flushed();
  ends.dialler->zero_copy()->cancel();
  fill(mine.data(), mine.size(), seed, 1);
  reader.join();
  REQUIRE(seen == "");
}

TEST_CASE("one end of a connection cannot be created twice") {
  Ends ends;
  ends.dialler = require_connection(ends.connect(local(), small_params(), true));
  const auto again = ends.connect(local(), small_params(), true);
  REQUIRE(again.status().code() == Code::InvalidUsage);
  REQUIRE(again.status().message() == "rank 0 connects port 0 to rank 1 twice");
}

}  // namespace
}  // namespace rondo::test
