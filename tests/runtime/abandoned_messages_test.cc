// SPDX-License-Identifier: Apache-2.0
// Messages that are given up: what a connection may still read or write of them is withdrawn.
#include <vector>

#include "catch.h"
#include "p2p/point_to_point.h"
#include "transports/hints.h"
#include "transports/zero_copy.h"

namespace rondo::test {
namespace {

/// Its peer waits for the next message and is about to read what is posted, but never has.
class PostingConnection final : public Connection, public ZeroCopy, public WaitHints {
 public:
  PostingConnection() : Connection(65'536, {.zero_copy = this, .wait_hints = this}), slot_(65'536) {}

  std::byte* acquire(size_t /*bytes*/) override { return slot_.data(); }
  void commit(size_t /*bytes*/, const Signature& /*signature*/) override { ++committed; }
  bool flushed() override { return posted == 0; }
  const Arrival* peek() override { return nullptr; }
  void release() override {}
  Status status() const override { return {}; }
  Awaited awaited(Awaiting /*what*/) const override { return {}; }

  PostMode post_mode(const std::byte* /*data*/, size_t /*bytes*/) const override { return PostMode::Read; }
  bool post(const std::byte* /*data*/, size_t /*bytes*/, const Signature& /*signature*/) override {
    ++posted;
    return true;
  }
  uint64_t offer(const std::byte* /*data*/, size_t /*bytes*/) override { return 1; }
  void expect(std::byte* /*place*/, size_t /*bytes*/, const Signature& /*signature*/) override { ++expected; }
  void cancel() override { ++cancelled; }

  bool poll_briefly() const override { return false; }
  bool is_peer_waiting() const override { return true; }

  int committed = 0, posted = 0, expected = 0, cancelled = 0;

 private:
  std::vector<std::byte> slot_;
};

/// Rank 0 of two.
struct Abandoning {
  PostingConnection connection;
  PointToPoint engine{0, 2, [this](int, int) -> Result<Connection*> { return &connection; }};
  std::vector<std::byte> data = std::vector<std::byte>(200'000);

  /// Tries a send once, then gives it up.
  void try_and_abandon(size_t bytes, Progress expected) {
    SendRequest request = send(bytes);
    REQUIRE(engine.reach(request).ok());
    REQUIRE(engine.try_now(request) == expected);
    engine.abandon(request);
  }
  SendRequest send(size_t bytes) { return {.data = data.data(), .bytes = bytes, .peer = 1}; }
  RecvRequest recv(size_t bytes) { return {.data = data.data(), .capacity = bytes, .peer = 1}; }
};

TEST_CASE("a short message that was posted at once is withdrawn when its call has failed") {
  Abandoning rank;
  rank.try_and_abandon(20'000, Progress::Stuck);
  REQUIRE(rank.connection.posted == 1);
  REQUIRE(rank.connection.cancelled == 1);
}

TEST_CASE("a message that was copied to its slot needs no withdrawal") {
  Abandoning rank;
  rank.try_and_abandon(100, Progress::Done);
  REQUIRE(rank.connection.committed == 1);
  REQUIRE(rank.connection.cancelled == 0);
}

TEST_CASE("a long message that was offered is withdrawn when its call has failed") {
  Abandoning rank;
  const auto request = std::make_shared<SendRequest>(rank.send(200'000));
  REQUIRE(rank.engine.start(request).ok());
  rank.engine.progress();
  REQUIRE(request->offered);
  rank.engine.abandon(*request);
  REQUIRE(rank.connection.cancelled == 1);
}

TEST_CASE("a place that was named at once is taken back when its call has failed") {
  Abandoning rank;
  RecvRequest request = rank.recv(20'000);
  REQUIRE(rank.engine.reach(request).ok());
  REQUIRE(rank.engine.try_now(request, 1) == Progress::Stuck);
  REQUIRE(rank.connection.expected == 1);
  rank.engine.abandon(request);
  REQUIRE(rank.connection.cancelled == 1);
}

}  // namespace
}  // namespace rondo::test
