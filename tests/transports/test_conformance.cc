// One suite for all transports: each test runs over every row of the table.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <random>
#include <string_view>
#include <thread>

#include "ends.h"

namespace rondo::test {
namespace {

#define FOR_EACH_TRANSPORT()                                                                        \
  const Transport& transport =                                                                      \
      transports()[static_cast<size_t>(GENERATE(range(0, static_cast<int>(transports().size()))))]; \
  INFO("transport " << transport.name)

/// Kernel buffers hold more than the slots of a tcp connection.
bool counts_slots_exactly(const Transport& transport) { return std::string_view(transport.name) != "tcp"; }

void require_faultless(const Talker& talker) {
  INFO(talker.fault());
  REQUIRE(talker.fault().empty());
}

/// Drives both ends until the receiver sees something.
bool arrives(Connection& sender, Connection& receiver) {
  return eventually([&] {
    sender.flushed();
    return receiver.peek().has_value();
  });
}

/// Random steps of both ends in one thread.
void interleave(Ends& ends, const Conversation& conversation, int first_ops_of_low = 0) {
  CAPTURE(conversation.seed, conversation.messages);
  Talker low(*ends.low, conversation, true);
  Talker high(*ends.high, conversation, false);
  std::mt19937_64 random(conversation.seed);
  for (int i = 0; i < first_ops_of_low; ++i) low.send();
  const bool finished = eventually([&] {
    for (int i = 0; i < 100; ++i) {
      Talker& talker = random() % 2 == 0 ? low : high;
      random() % 2 == 0 ? talker.send() : talker.receive();
    }
    if (!low.fault().empty() || !high.fault().empty()) return true;
    const bool low_done = low.done();
    return high.done() && low_done;
  });
  require_faultless(low);
  require_faultless(high);
  INFO(ends.low->status().message() << " " << ends.high->status().message());
  REQUIRE(finished);
}

/// Both ends in threads of their own.
void converse(Ends& ends, const Conversation& conversation) {
  CAPTURE(conversation.seed, conversation.messages);
  Talker low(*ends.low, conversation, true);
  Talker high(*ends.high, conversation, false);
  std::thread other([&] { high.run(); });
  low.run();
  other.join();
  require_faultless(low);
  require_faultless(high);
}

TEST_CASE("messages arrive whole and in order, whatever the interleaving") {
  FOR_EACH_TRANSPORT();
  const bool post = GENERATE(false, true);
  const uint64_t seed = std::random_device()();
  const int slots = GENERATE(1, 2, 3, 8);
  CAPTURE(post, slots);
  Ends ends = connect_ends(transport, small_params(1 + seed % 5000, slots), seed % 2 == 0);
  interleave(ends, {.seed = seed, .messages = 300, .post = post});
  REQUIRE(ends.low->status().ok());
  REQUIRE(ends.high->status().ok());
}

TEST_CASE("two threads talk both ways through many rounds of the slots") {
  FOR_EACH_TRANSPORT();
  const bool post = GENERATE(false, true);
  const uint64_t seed = std::random_device()();
  Ends ends = connect_ends(transport, small_params(777, 2));
  converse(ends, {.seed = seed, .messages = 2000, .post = post});
}

TEST_CASE("both ends send more than all buffers hold and none waits for ever") {
  FOR_EACH_TRANSPORT();
  const uint64_t seed = std::random_device()();
  Ends ends = connect_ends(transport, small_params(256 * 1024, 2));
  converse(ends, {.seed = seed, .messages = 100, .full = true});
}

TEST_CASE("a slot has its size, is aligned, and stays the same until it is committed") {
  FOR_EACH_TRANSPORT();
  Ends ends = connect_ends(transport, small_params(4096, 3));
  REQUIRE(ends.low->slot_bytes() == 4096);
  REQUIRE(ends.high->slot_bytes() == 4096);
  REQUIRE(eventually([&] { return ends.low->acquire() != nullptr; }));
  for (uint64_t number = 0; number < 3; ++number) {
    std::byte* slot = ends.low->acquire();
    REQUIRE(slot != nullptr);
    REQUIRE(reinterpret_cast<uintptr_t>(slot) % 64 == 0);
    REQUIRE(ends.low->acquire() == slot);
    fill(slot, 4096, 1, number);
    ends.low->commit(4096, signature_of(1, number));
  }
}

TEST_CASE("a message that was peeked at stays until it is released") {
  FOR_EACH_TRANSPORT();
  Ends ends = connect_ends(transport, small_params());
  REQUIRE(eventually([&] { return send_one(*ends.low, 100, 5, 0); }));
  REQUIRE(arrives(*ends.low, *ends.high));
  const Arrival first = *ends.high->peek();
  REQUIRE(eventually([&] { return send_one(*ends.low, 50, 5, 1); }));
  REQUIRE(ends.high->peek()->data == first.data);
  REQUIRE(fault(*ends.high->peek(), 100, 5, 0) == "");
  ends.high->release();
  REQUIRE(arrives(*ends.low, *ends.high));
  REQUIRE(fault(*ends.high->peek(), 50, 5, 1) == "");
}

TEST_CASE("a sender without credits gets no slot, and gets one for each that is released") {
  FOR_EACH_TRANSPORT();
  const size_t slots = GENERATE(size_t{1}, size_t{4});
  ConnectionParams params = small_params(64 * 1024, static_cast<int>(slots));
  Ends ends = connect_ends(transport, params);
  REQUIRE(eventually([&] { return ends.low->acquire() != nullptr; }));
  size_t sent = 0;
  while (sent < 10'000 && send_one(*ends.low, 64 * 1024, 3, sent)) ++sent;
  REQUIRE(sent >= slots);
  REQUIRE(sent < 10'000);
  if (counts_slots_exactly(transport)) REQUIRE(sent == slots);
  for (size_t received = 0; received < sent; ++received) {
    REQUIRE(arrives(*ends.low, *ends.high));
    REQUIRE(fault(*ends.high->peek(), 64 * 1024, 3, received) == "");
    ends.high->release();
    if (!counts_slots_exactly(transport)) continue;
    REQUIRE(send_one(*ends.low, 0, 3, sent + received));
    REQUIRE(ends.low->acquire() == nullptr);
  }
}

TEST_CASE("what was sent is flushed in the end, and posted memory only when it has been read") {
  FOR_EACH_TRANSPORT();
  Ends ends = connect_ends(transport, small_params());
  REQUIRE(ends.low->flushed());
  REQUIRE(eventually([&] { return send_one(*ends.low, 100, 1, 0); }));
  REQUIRE(eventually([&] {
    ends.high->peek();  // lets it come
    return ends.low->flushed();
  }));
  if (!ends.low->posts_by_reference()) {
    REQUIRE_FALSE(ends.low->post(nullptr, 0, {}));
    return;
  }
  REQUIRE(eventually([&] { return ends.high->peek().has_value(); }));
  ends.high->release();
  std::vector<std::byte> mine(500);
  fill(mine.data(), mine.size(), 1, 1);
  REQUIRE(ends.low->post(mine.data(), mine.size(), signature_of(1, 1)));
  REQUIRE(arrives(*ends.low, *ends.high));
  const Arrival arrival = *ends.high->peek();
  REQUIRE(fault(arrival, 500, 1, 1) == "");
  if (arrival.data == mine.data()) REQUIRE_FALSE(ends.low->flushed());
  ends.high->release();
  REQUIRE(eventually([&] { return ends.low->flushed(); }));
}

TEST_CASE("no post is taken without credits") {
  FOR_EACH_TRANSPORT();
  Ends ends = connect_ends(transport, small_params(64 * 1024, 2));
  if (!ends.low->posts_by_reference()) return;
  std::vector<std::byte> mine(64 * 1024);
  int posted = 0;
  while (posted < 10'000 && ends.low->post(mine.data(), mine.size(), {})) ++posted;
  REQUIRE(posted >= 2);
  REQUIRE(posted < 10'000);
  REQUIRE(ends.low->acquire() == nullptr);
}

TEST_CASE("an end may come long after the other, and finds all in order") {
  FOR_EACH_TRANSPORT();
  const bool low_first = GENERATE(true, false);
  CAPTURE(low_first);
  const uint64_t seed = std::random_device()();
  const ConnectionParams params = small_params();
  Ends ends;
  auto& first = low_first ? ends.low : ends.high;
  auto& second = low_first ? ends.high : ends.low;
  first = require_connection(ends.connect(transport, params, low_first));
  for (int i = 0; i < 1000; ++i) {
    REQUIRE_FALSE(first->peek().has_value());
    first->flushed();
    REQUIRE(first->status().ok());
  }
  const Conversation conversation{.seed = seed, .messages = 50};
  Talker early(*first, conversation, low_first);
  while (early.send()) continue;
  second = require_connection(ends.connect(transport, params, !low_first));
  Talker late(*second, conversation, !low_first);
  std::thread other([&] { late.run(); });
  early.run();
  other.join();
  require_faultless(early);
  require_faultless(late);
}

TEST_CASE("an end waits for sockets that take their time") {
  FOR_EACH_TRANSPORT();
  Ends ends;
  ends.wire->hold(true);
  ends.low = require_connection(ends.connect(transport, small_params(), true));
  ends.high = require_connection(ends.connect(transport, small_params(), false));
  std::thread releaser([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    ends.wire->hold(false);
  });
  interleave(ends, {.seed = 11, .messages = 50});
  releaser.join();
}

TEST_CASE("an end can go at any time and the other stays usable") {
  FOR_EACH_TRANSPORT();
  const int sent_low = GENERATE(0, 1, 3);
  const int sent_high = GENERATE(0, 2);
  const bool low_goes_first = GENERATE(true, false);
  CAPTURE(sent_low, sent_high, low_goes_first);
  Ends ends = connect_ends(transport, small_params(2000, 3));
  ends.high->peek();
  ends.low->peek();
  for (int i = 0; i < sent_low; ++i) send_one(*ends.low, 2000, 1, static_cast<uint64_t>(i));
  for (int i = 0; i < sent_high; ++i) send_one(*ends.high, 2000, 2, static_cast<uint64_t>(i));
  if (sent_low == 3 && ends.high->peek()) ends.high->release();
  auto& stays = low_goes_first ? ends.high : ends.low;
  (low_goes_first ? ends.low : ends.high).reset();
  for (int i = 0; i < 10; ++i) {
    if (const auto arrival = stays->peek()) {
      REQUIRE(arrival->bytes == 2000);
      stays->release();
    }
    send_one(*stays, 10, 3, 0);
    stays->flushed();
  }
  stays.reset();
}

TEST_CASE("an end can go before the other one comes") {
  FOR_EACH_TRANSPORT();
  const bool low_end = GENERATE(true, false);
  Ends ends;
  auto end = require_connection(ends.connect(transport, small_params(), low_end));
  send_one(*end, 10, 1, 0);
  end.reset();
  auto other = require_connection(ends.connect(transport, small_params(), !low_end));
  for (int i = 0; i < 10; ++i) other->peek();
}

TEST_CASE("what was flushed arrives although the sender has gone") {
  FOR_EACH_TRANSPORT();
  Ends ends = connect_ends(transport, small_params(3000, 4));
  for (uint64_t i = 0; i < 4; ++i) REQUIRE(eventually([&] { return send_one(*ends.low, 3000, 9, i); }));
  bool flushed = false;
  REQUIRE(eventually([&] {
    ends.high->flushed();  // lets it come
    flushed = flushed || ends.low->flushed();
    return flushed;
  }));
  ends.low.reset();
  for (uint64_t i = 0; i < 4; ++i) {
    REQUIRE(eventually([&] { return ends.high->peek().has_value(); }));
    REQUIRE(fault(*ends.high->peek(), 3000, 9, i) == "");
    ends.high->release();
  }
}

TEST_CASE("ends with other numbers learn both of them") {
  FOR_EACH_TRANSPORT();
  const bool low_first = GENERATE(true, false);
  const bool other_slots = GENERATE(true, false);
  CAPTURE(low_first, other_slots);
  ConnectionParams of_low = small_params(4321, 3);
  ConnectionParams of_high = other_slots ? small_params(4321, 5) : small_params(1234, 3);
  Ends ends;
  Status low_status;
  Status high_status;
  const auto connect = [&](bool low) {
    auto made = ends.connect(transport, low ? of_low : of_high, low);
    (low ? low_status : high_status) = made.status();
    if (made.ok()) (low ? ends.low : ends.high) = made.take();
  };
  connect(low_first);
  connect(!low_first);
  REQUIRE(eventually([&] {
    for (auto& [end, status] : {std::pair{ends.low.get(), &low_status}, {ends.high.get(), &high_status}}) {
      if (end == nullptr || !status->ok()) continue;
      REQUIRE_FALSE(end->peek().has_value());
      *status = end->status();
    }
    return !low_status.ok() && !high_status.ok();
  }));
  for (const Status& status : {low_status, high_status}) {
    INFO(status.message());
    REQUIRE(status.code() == Code::Mismatch);
    REQUIRE(status.message().find(other_slots ? "slots is " : "slot_bytes is ") != std::string::npos);
    REQUIRE(status.message().find(other_slots ? "3" : "4321") != std::string::npos);
    REQUIRE(status.message().find(other_slots ? "5" : "1234") != std::string::npos);
  }
}

TEST_CASE("numbers out of range are refused by name") {
  FOR_EACH_TRANSPORT();
  const auto refusal = [&](const ConnectionParams& params) {
    Ends ends;
    const auto made = ends.connect(transport, params, true);
    REQUIRE_FALSE(made.ok());
    REQUIRE(made.status().code() == Code::InvalidArgument);
    return made.status().message();
  };
  REQUIRE(refusal(small_params(0, 3)).find("slot_bytes of a connection is 0") != std::string::npos);
  REQUIRE(refusal(small_params(10, 0)).find("slots of a connection is 0") != std::string::npos);
  REQUIRE(refusal(small_params(10, -1)).find("is -1; it must be 1 to 4096") != std::string::npos);
  ConnectionParams params;
  params.sockets = 1000;
  REQUIRE(refusal(params).find("sockets of a connection is 1000") != std::string::npos);
}

TEST_CASE("many connections at once keep their messages apart") {
  FOR_EACH_TRANSPORT();
  constexpr uint64_t kConnections = 40;
  std::vector<Ends> all;
  for (uint64_t i = 0; i < kConnections; ++i) {
    ConnectionKey key = new_key();
    key.port = static_cast<uint16_t>(i % 4);
    all.push_back(connect_ends(transport, small_params(500, 2), i % 2 == 0, key));
  }
  std::vector<Talker> talkers;
  for (uint64_t i = 0; i < kConnections; ++i) {
    const Conversation conversation{.seed = i, .messages = 40};
    talkers.emplace_back(*all[i].low, conversation, true);
    talkers.emplace_back(*all[i].high, conversation, false);
  }
  REQUIRE(eventually([&] {
    bool done = true;
    for (Talker& talker : talkers) {
      while (talker.send() || talker.receive()) continue;
      done = talker.done() && done;
    }
    return done;
  }));
  for (const Talker& talker : talkers) require_faultless(talker);
}

TEST_CASE("ends that come from two threads at the same time meet") {
  FOR_EACH_TRANSPORT();
  for (uint64_t round = 0; round < 20; ++round) {
    Ends ends;
    std::string other_fault = "not run";
    const Conversation conversation{.seed = round, .messages = 20};
    Result<std::unique_ptr<Connection>> high = Status();
    std::thread other([&] {
      high = ends.connect(transport, small_params(), false);
      if (!high.ok()) return;
      Talker talker(*high.value(), conversation, false);
      talker.run();
      other_fault = talker.fault();
    });
    auto low = ends.connect(transport, small_params(), true);
    std::string own_fault = low.status().message();
    if (low.ok()) {
      Talker talker(*low.value(), conversation, true);
      talker.run();
      own_fault = talker.fault();
    }
    other.join();
    REQUIRE(own_fault == "");
    REQUIRE(other_fault == "");
  }
}

// The child is a copy of this process with one thread; it only talks and leaves.
TEST_CASE("two processes talk over the transports that join processes") {
  FOR_EACH_TRANSPORT();
  const Endpoint here{.host = 1, .process = 1};
  const Endpoint there{.host = 1, .process = 2};
  if (!transport.reaches(here, there)) return;
  const Conversation conversation{.seed = 21, .messages = 500};
  Ends ends;
  ends.low = require_connection(ends.connect(transport, small_params(), true));
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    auto made = ends.connect(transport, small_params(), false);
    if (!made.ok()) ::_exit(2);
    Talker talker(*made.value(), conversation, false);
    talker.run();
    ::_exit(talker.fault().empty() ? 0 : 1);
  }
  Talker talker(*ends.low, conversation, true);
  talker.run();
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  require_faultless(talker);
  REQUIRE(status == 0);
}

}  // namespace
}  // namespace rondo::test
