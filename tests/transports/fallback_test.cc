// SPDX-License-Identifier: Apache-2.0
// FallbackConnection between two ends whose first transport is refused, at moments of each end's own.
#include "transports/fallback.h"

#include <deque>

#include "catch.h"
#include "ends.h"
#include "refused_connection.h"

namespace rondo::test {
namespace {

/// Passes messages to its peer directly, three at a time, until it is refused after the last of its calls.
/// What it has not passed then stays, as what it has received does.
class BreakingConnection final : public Connection {
 public:
  BreakingConnection(size_t slot_bytes, int calls) : Connection(slot_bytes), calls_(calls) {}
  void join(BreakingConnection& peer) { peer_ = &peer; }

  std::byte* acquire(size_t /*bytes*/) override {
    if (filling_.empty() && !works()) return nullptr;
    filling_.resize(slot_bytes());
    return filling_.data();
  }
  void commit(size_t bytes, const Signature& signature) override {
    queue_.push_back(
        {std::vector<std::byte>(filling_.begin(), filling_.begin() + static_cast<ptrdiff_t>(bytes)),
         signature});
    filling_.clear();
    pass();
  }
  bool flushed() override {
    pass();
    return queue_.empty();
  }
  const Arrival* peek() override {
    if (arrived_.empty() && (!works() || arrived_.empty())) return nullptr;
    oldest_ = {arrived_.front().bytes.data(), arrived_.front().bytes.size(), &arrived_.front().signature};
    return &oldest_;
  }
  void release() override { arrived_.pop_front(); }
  Status status() const override { return is_refused() ? error(Code::Unsupported, "no path") : Status(); }
  bool is_refused() const override { return calls_ <= 0 || peer_->calls_ <= 0; }
  std::optional<Unsent> unsent(size_t nth) const override {
    if (nth >= queue_.size()) return std::nullopt;
    return Unsent{queue_[nth].bytes.data(), queue_[nth].bytes.size(), &queue_[nth].signature};
  }
  Awaited awaited(Awaiting /*what*/) const override { return {}; }

 private:
  struct Held {
    std::vector<std::byte> bytes;
    Signature signature;
  };
  bool works() {
    --calls_;
    return !is_refused();
  }
  void pass() {
    if (!works() || queue_.size() < 3) return;
    peer_->arrived_.insert(peer_->arrived_.end(), queue_.begin(), queue_.end());
    queue_.clear();
  }

  int calls_;
  BreakingConnection* peer_ = nullptr;
  std::vector<std::byte> filling_;
  std::deque<Held> queue_;
  std::deque<Held> arrived_;
  Arrival oldest_;
};

struct FallbackEnds {
  Ends ends;
  std::vector<std::string> refusals;

  std::unique_ptr<Connection> connect(bool dials, int calls) {
    const ConnectionParams params = small_params();
    return std::make_unique<FallbackConnection>(std::make_unique<RefusedConnection>(params.slot_bytes, calls),
                                                [this, dials, params](const Status& why) {
                                                  refusals.push_back(why.message());
                                                  return ends.connect(*transport_by_name("tcp").value(),
                                                                      params, dials);
                                                });
  }
};

TEST_CASE("what the first transport cannot carry goes over the second, in order and complete") {
  const auto [dialler_calls, acceptor_calls] = GENERATE(std::pair(1, 1), std::pair(1, 40), std::pair(40, 1));
  FallbackEnds made;
  std::vector<Ends> all(1);
  all[0].dialler = made.connect(true, dialler_calls);
  all[0].acceptor = made.connect(false, acceptor_calls);
  CHECK(all[0].dialler->zero_copy() != nullptr);
  CHECK(all[0].dialler->zero_copy()->post_mode(nullptr, 1) == ZeroCopy::PostMode::None);
  CHECK(converse_together(all, {.messages = 300, .post = true, .expect = true}) == "");
  CHECK(made.refusals == std::vector<std::string>{"no path", "no path"});
  CHECK(all[0].dialler->status().ok());
  CHECK(all[0].dialler->zero_copy()->post_mode(nullptr, 1) != ZeroCopy::PostMode::None);
}

TEST_CASE("what a transport that breaks has not carried goes over the second, once and in order") {
  const ConnectionParams params = small_params();
  for (int calls = 1; calls < 400; calls += 7) {
    INFO("after " << calls << " calls");
    auto one = std::make_unique<BreakingConnection>(params.slot_bytes, calls);
    auto other = std::make_unique<BreakingConnection>(params.slot_bytes, calls / 2 + 100);
    one->join(*other);
    other->join(*one);
    Ends second;
    const auto connect = [&](bool dials) {
      return [&second, &params, dials](const Status&) {
        return second.connect(*transport_by_name("tcp").value(), params, dials);
      };
    };
    std::vector<Ends> all(1);
    all[0].dialler = std::make_unique<FallbackConnection>(std::move(one), connect(true));
    all[0].acceptor = std::make_unique<FallbackConnection>(std::move(other), connect(false));
    CHECK(converse_together(all, {.messages = 200, .post = true, .expect = true}) == "");
  }
}

TEST_CASE("a first transport that connects is kept") {
  Ends inner = connect_ends(*transport_by_name("tcp").value(), small_params());
  const auto never = [](const Status&) -> Result<std::unique_ptr<Connection>> {
    return error(Code::InternalError, "it was not refused");
  };
  std::vector<Ends> all(1);
  all[0].dialler = std::make_unique<FallbackConnection>(std::move(inner.dialler), never);
  all[0].acceptor = std::make_unique<FallbackConnection>(std::move(inner.acceptor), never);
  CHECK(converse_together(all, {.messages = 100}) == "");
}

TEST_CASE("a second transport that cannot begin fails the connection") {
  FallbackConnection connection(std::make_unique<RefusedConnection>(1000, 2),
                                [](const Status&) -> Result<std::unique_ptr<Connection>> {
                                  return error(Code::SystemError, "nothing listens");
                                });
  CHECK(connection.peek() == nullptr);
  CHECK(connection.status().ok());
  CHECK(connection.peek() == nullptr);
  CHECK(connection.status().message() == "nothing listens");
  CHECK(connection.peek() == nullptr);
}

}  // namespace
}  // namespace rondo::test
