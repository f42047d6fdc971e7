// What only the local transport promises: the receiver reads the sender's memory, which can be taken back.
#include <atomic>
#include <thread>

#include "ends.h"

namespace rondo::test {
namespace {

const Transport& local() { return *transport_by_name("local").value(); }

TEST_CASE("the receiver sees the very memory that was posted") {
  Ends ends = connect_ends(local(), small_params());
  std::vector<std::byte> mine(1000);
  REQUIRE(ends.dialler->posts_by_reference());
  REQUIRE(ends.dialler->post(mine.data(), mine.size(), {}));
  REQUIRE(ends.acceptor->peek()->data == mine.data());
  REQUIRE_FALSE(ends.dialler->flushed());
  ends.acceptor->release();
  REQUIRE(ends.dialler->flushed());
}

TEST_CASE("a copied message behind a posted one does not wait for its reader") {
  Ends ends = connect_ends(local(), small_params());
  std::vector<std::byte> mine(10);
  REQUIRE(ends.dialler->post(mine.data(), mine.size(), {}));
  REQUIRE(send_one(*ends.dialler, 10, 1, 1));
  ends.acceptor->peek();
  ends.acceptor->release();
  REQUIRE(ends.dialler->flushed());
  REQUIRE(fault(*ends.acceptor->peek(), 10, 1, 1) == "");
}

TEST_CASE("a posted message that was taken back is never read") {
  Ends ends = connect_ends(local(), small_params());
  {
    const std::vector<std::byte> mine(1000);
    REQUIRE(ends.dialler->post(mine.data(), mine.size(), {}));
    ends.dialler->withdraw();
  }
  REQUIRE_FALSE(ends.acceptor->peek().has_value());
  REQUIRE(ends.acceptor->status().code() == Code::RemoteError);
}

TEST_CASE("an end that goes takes its posted messages with it") {
  Ends ends = connect_ends(local(), small_params());
  {
    const std::vector<std::byte> mine(1000);
    REQUIRE(ends.dialler->post(mine.data(), mine.size(), {}));
    ends.dialler.reset();
  }
  REQUIRE_FALSE(ends.acceptor->peek().has_value());
  REQUIRE_FALSE(ends.acceptor->status().ok());
}

TEST_CASE("taking back waits for a peer in the middle of reading, but not for ever") {
  Ends ends = connect_ends(local(), small_params());
  const std::vector<std::byte> mine(1000);
  REQUIRE(ends.dialler->post(mine.data(), mine.size(), {}));
  REQUIRE(ends.acceptor->peek().has_value());
  const int64_t before_ns = now_ns();
  SECTION("a peer that never ends") {
    ends.dialler->withdraw();
    REQUIRE(now_ns() - before_ns >= Connection::kWithdrawMs * 1'000'000);
  }
  SECTION("a peer that ends soon") {
    std::atomic<bool> released = false;
    std::thread reader([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
      released = true;
      ends.acceptor->release();
    });
    ends.dialler->withdraw();
    REQUIRE(released);
    reader.join();
  }
}

// Under ThreadSanitizer this also shows that no read of the peer comes after the owner's next write.
TEST_CASE("memory that was taken back belongs to its owner again") {
  const uint64_t seed = GENERATE(range(uint64_t{0}, uint64_t{200}));
  CAPTURE(seed);
  Ends ends = connect_ends(local(), small_params());
  std::vector<std::byte> mine(64);
  fill(mine.data(), mine.size(), seed, 0);
  REQUIRE(ends.dialler->post(mine.data(), mine.size(), signature_of(seed, 0)));
  std::string seen;
  std::thread reader([&] {
    for (int i = 0; i < 1000; ++i) {
      const auto arrival = ends.acceptor->peek();
      if (!arrival) continue;
      seen = fault(*arrival, 64, seed, 0);
      ends.acceptor->release();
    }
  });
  for (uint64_t i = 0; i < mix(seed, 0) % 2000; ++i) ends.dialler->flushed();
  ends.dialler->withdraw();
  fill(mine.data(), mine.size(), seed, 1);
  reader.join();
  REQUIRE(seen == "");
}

TEST_CASE("one end of a connection cannot come twice") {
  Ends ends;
  ends.dialler = require_connection(ends.connect(local(), small_params(), true));
  const auto again = ends.connect(local(), small_params(), true);
  REQUIRE(again.status().code() == Code::InvalidUsage);
  REQUIRE(again.status().message() == "rank 0 connects port 0 to rank 1 twice");
}

}  // namespace
}  // namespace rondo::test
