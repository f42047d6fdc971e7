// SPDX-License-Identifier: Apache-2.0
// One suite for all transports: each test runs for every row of the table.
#include <algorithm>
#include <random>
#include <thread>

#include "ends.h"
#include "process.h"
#include "seed.h"
#include "transports/zero_copy.h"

namespace rondo::test {
namespace {

/// Kernel buffers hold more than the slots of a tcp connection.
bool counts_slots_exactly(const Transport& transport) { return transport.medium != Medium::Network; }

void require_faultless(const Talker& talker) {
  INFO(talker.fault());
  REQUIRE(talker.fault().empty());
}

/// Random steps of both ends in one thread.
void interleave(Ends& ends, const Conversation& conversation, int first_ops_of_dialler = 0) {
  CAPTURE(conversation.seed, conversation.messages);
  Talker dialler(*ends.dialler, conversation, true);
  Talker acceptor(*ends.acceptor, conversation, false);
  std::mt19937_64 random(test_seed(conversation.seed));
  for (int i = 0; i < first_ops_of_dialler; ++i) dialler.send();
  const bool finished = eventually([&] {
    for (int i = 0; i < 100; ++i) {
      Talker& talker = random() % 2 == 0 ? dialler : acceptor;
      random() % 2 == 0 ? talker.send() : talker.receive();
    }
    if (!dialler.fault().empty() || !acceptor.fault().empty()) return true;
    const bool dialler_done = dialler.done();
    return acceptor.done() && dialler_done;
  });
  require_faultless(dialler);
  require_faultless(acceptor);
  INFO(ends.dialler->status().message() << " " << ends.acceptor->status().message());
  REQUIRE(finished);
}

/// Each end in its own thread.
void converse(Ends& ends, const Conversation& conversation) {
  CAPTURE(conversation.seed, conversation.messages);
  Talker dialler(*ends.dialler, conversation, true);
  Talker acceptor(*ends.acceptor, conversation, false);
  std::thread other([&] { acceptor.run(); });
  dialler.run();
  other.join();
  require_faultless(dialler);
  require_faultless(acceptor);
}

TEST_CASE("messages arrive whole and in order, whatever the interleaving") {
  FOR_EACH_TRANSPORT();
  const bool post = GENERATE(false, true);
  const bool expect = GENERATE(false, true);
  const uint64_t seed = std::random_device()();
  const int slots = GENERATE(1, 2, 3, 8);
  CAPTURE(post, expect, slots);
  Ends ends = connect_ends(transport, small_params(1 + seed % 5000, slots), seed % 2 == 0);
  interleave(ends, {.seed = seed, .messages = 300, .post = post, .expect = expect});
  REQUIRE(ends.dialler->status().ok());
  REQUIRE(ends.acceptor->status().ok());
}

TEST_CASE("long messages arrive whole, wherever they are and go") {
  FOR_EACH_TRANSPORT();
  const uint64_t seed = test_seed(static_cast<uint64_t>(GENERATE(range(0, 4))));
  const int slots = GENERATE(1, 2, 5);
  CAPTURE(slots);
  Ends ends = connect_ends(transport, small_params(40'000, slots), seed % 2 == 0);
  interleave(ends, {.seed = seed, .messages = 100, .post = true, .expect = true});
  REQUIRE(ends.dialler->status().ok());
  REQUIRE(ends.acceptor->status().ok());
}

TEST_CASE("two threads exchange messages over many rounds of the slots") {
  FOR_EACH_TRANSPORT();
  const bool post = GENERATE(false, true);
  const uint64_t seed = std::random_device()();
  Ends ends = connect_ends(transport, small_params(777, 2));
  converse(ends, {.seed = seed, .messages = 2000, .post = post, .expect = post});
}

TEST_CASE("both ends send more than all buffers hold without deadlock") {
  FOR_EACH_TRANSPORT();
  const uint64_t seed = std::random_device()();
  Ends ends = connect_ends(transport, small_params(256 * 1024, 2));
  converse(ends, {.seed = seed, .messages = 100, .full = true, .expect = seed % 2 == 0});
}

TEST_CASE("a slot has the agreed size and alignment, and stays the same until it is committed") {
  FOR_EACH_TRANSPORT();
  Ends ends = connect_ends(transport, small_params(4096, 3));
  REQUIRE(ends.dialler->slot_bytes() == 4096);
  REQUIRE(ends.acceptor->slot_bytes() == 4096);
  REQUIRE(eventually([&] { return ends.dialler->acquire() != nullptr; }));
  for (uint64_t number = 0; number < 3; ++number) {
    std::byte* slot = ends.dialler->acquire();
    REQUIRE(slot != nullptr);
    REQUIRE(reinterpret_cast<uintptr_t>(slot) % 64 == 0);
    REQUIRE(ends.dialler->acquire() == slot);
    fill(slot, 4096, 1, number);
    ends.dialler->commit(4096, signature_of(1, number));
  }
}

TEST_CASE("a peeked message stays until it is released") {
  FOR_EACH_TRANSPORT();
  Ends ends = connect_ends(transport, small_params());
  REQUIRE(eventually([&] { return send_one(*ends.dialler, 100, 5, 0); }));
  REQUIRE(arrives(*ends.dialler, *ends.acceptor));
  const Arrival first = *ends.acceptor->peek();
  REQUIRE(eventually([&] { return send_one(*ends.dialler, 50, 5, 1); }));
  REQUIRE(ends.acceptor->peek()->data == first.data);
  REQUIRE(fault(*ends.acceptor->peek(), 100, 5, 0) == "");
  ends.acceptor->release();
  REQUIRE(arrives(*ends.dialler, *ends.acceptor));
  REQUIRE(fault(*ends.acceptor->peek(), 50, 5, 1) == "");
}

TEST_CASE("a sender without credits gets no slot, and one slot per released message") {
  FOR_EACH_TRANSPORT();
  const size_t slots = GENERATE(size_t{1}, size_t{4});
  ConnectionParams params = small_params(64 * 1024, static_cast<int>(slots));
  Ends ends = connect_ends(transport, params);
  REQUIRE(eventually([&] { return ends.dialler->acquire() != nullptr; }));
  size_t sent = 0;
  while (sent < 10'000 && send_one(*ends.dialler, 64 * 1024, 3, sent)) ++sent;
  REQUIRE(sent >= slots);
  REQUIRE(sent < 10'000);
  if (counts_slots_exactly(transport)) REQUIRE(sent == slots);
  for (size_t received = 0; received < sent; ++received) {
    REQUIRE(arrives(*ends.dialler, *ends.acceptor));
    REQUIRE(fault(*ends.acceptor->peek(), 64 * 1024, 3, received) == "");
    ends.acceptor->release();
    if (!counts_slots_exactly(transport)) continue;
    REQUIRE(send_one(*ends.dialler, 64 * 1024, 3, sent + received));
    REQUIRE(ends.dialler->acquire() == nullptr);
  }
}

TEST_CASE("sent messages are eventually flushed, posted memory only once it has been read") {
  FOR_EACH_TRANSPORT();
  Ends ends = connect_ends(transport, small_params());
  REQUIRE(ends.dialler->flushed());
  REQUIRE(eventually([&] { return send_one(*ends.dialler, 100, 1, 0); }));
  REQUIRE(eventually([&] {
    ends.acceptor->peek();  // lets it arrive
    return ends.dialler->flushed();
  }));
  ZeroCopy* const zero_copy = ends.dialler->zero_copy();
  if (zero_copy == nullptr) return;
  const ExportedMemory mine(500);
  zero_copy->export_memory(mine.exportable());
  ends.acceptor->peek();  // learns of the export
  if (!zero_copy->can_post(mine.data(), mine.size())) {
    REQUIRE_FALSE(zero_copy->post(mine.data(), mine.size(), {}));
    return;
  }
  REQUIRE(eventually([&] { return ends.acceptor->peek() != nullptr; }));
  ends.acceptor->release();
  fill(mine.data(), mine.size(), 1, 1);
  REQUIRE(zero_copy->post(mine.data(), mine.size(), signature_of(1, 1)));
  REQUIRE(arrives(*ends.dialler, *ends.acceptor));
  const Arrival arrival = *ends.acceptor->peek();
  REQUIRE(fault(arrival, 500, 1, 1) == "");
  if (arrival.data == mine.data()) REQUIRE_FALSE(ends.dialler->flushed());
  ends.acceptor->release();
  REQUIRE(ends.acceptor->flushed());
  REQUIRE(eventually([&] { return ends.dialler->flushed(); }));
}

TEST_CASE("a post without credits is refused") {
  FOR_EACH_TRANSPORT();
  Ends ends = connect_ends(transport, small_params(64 * 1024, 2));
  ZeroCopy* const zero_copy = ends.dialler->zero_copy();
  if (zero_copy == nullptr) return;
  const ExportedMemory mine(64 * 1024);
  zero_copy->export_memory(mine.exportable());
  ends.acceptor->peek();  // lets its memory arrive, then learns of the export
  if (!zero_copy->can_post(mine.data(), mine.size())) return;
  int posted = 0;
  while (posted < 10'000 && zero_copy->post(mine.data(), mine.size(), {})) ++posted;
  REQUIRE(posted >= 2);
  REQUIRE(posted < 10'000);
  REQUIRE(ends.dialler->acquire() == nullptr);
}

TEST_CASE("an end may be created long after the other and finds everything in order") {
  FOR_EACH_TRANSPORT();
  const bool dialler_first = GENERATE(true, false);
  CAPTURE(dialler_first);
  const uint64_t seed = std::random_device()();
  const ConnectionParams params = small_params();
  Ends ends;
  auto& first = dialler_first ? ends.dialler : ends.acceptor;
  auto& second = dialler_first ? ends.acceptor : ends.dialler;
  first = require_connection(ends.connect(transport, params, dialler_first));
  for (int i = 0; i < 1000; ++i) {
    REQUIRE(first->peek() == nullptr);
    first->flushed();
    REQUIRE(first->status().ok());
  }
  const Conversation conversation{.seed = seed, .messages = 50};
  Talker early(*first, conversation, dialler_first);
  while (early.send()) continue;
  second = require_connection(ends.connect(transport, params, !dialler_first));
  Talker late(*second, conversation, !dialler_first);
  std::thread other([&] { late.run(); });
  early.run();
  other.join();
  require_faultless(early);
  require_faultless(late);
}

TEST_CASE("an end waits for sockets that arrive late") {
  FOR_EACH_TRANSPORT();
  Ends ends;
  ends.wire->hold(true);
  ends.dialler = require_connection(ends.connect(transport, small_params(), true));
  ends.acceptor = require_connection(ends.connect(transport, small_params(), false));
  std::thread releaser([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    ends.wire->hold(false);
  });
  interleave(ends, {.seed = 11, .messages = 50});
  releaser.join();
}

TEST_CASE("an end can be destroyed at any time and the other stays usable") {
  FOR_EACH_TRANSPORT();
  const int sent_dialler = GENERATE(0, 1, 3);
  const int sent_acceptor = GENERATE(0, 2);
  const bool dialler_goes_first = GENERATE(true, false);
  CAPTURE(sent_dialler, sent_acceptor, dialler_goes_first);
  Ends ends = connect_ends(transport, small_params(2000, 3));
  ends.acceptor->peek();
  ends.dialler->peek();
  for (int i = 0; i < sent_dialler; ++i) send_one(*ends.dialler, 2000, 1, static_cast<uint64_t>(i));
  for (int i = 0; i < sent_acceptor; ++i) send_one(*ends.acceptor, 2000, 2, static_cast<uint64_t>(i));
  if (sent_dialler == 3 && ends.acceptor->peek()) ends.acceptor->release();
  auto& stays = dialler_goes_first ? ends.acceptor : ends.dialler;
  (dialler_goes_first ? ends.dialler : ends.acceptor).reset();
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

TEST_CASE("an end can be destroyed before the other is created") {
  FOR_EACH_TRANSPORT();
  const bool dials = GENERATE(true, false);
  Ends ends;
  auto end = require_connection(ends.connect(transport, small_params(), dials));
  send_one(*end, 10, 1, 0);
  end.reset();
  auto other = require_connection(ends.connect(transport, small_params(), !dials));
  for (int i = 0; i < 10; ++i) other->peek();
}

TEST_CASE("flushed messages arrive although the sender is gone") {
  FOR_EACH_TRANSPORT();
  Ends ends = connect_ends(transport, small_params(3000, 4));
  for (uint64_t i = 0; i < 4; ++i) REQUIRE(eventually([&] { return send_one(*ends.dialler, 3000, 9, i); }));
  bool flushed = false;
  REQUIRE(eventually([&] {
    ends.acceptor->flushed();  // lets it arrive
    flushed = flushed || ends.dialler->flushed();
    return flushed;
  }));
  ends.dialler.reset();
  for (uint64_t i = 0; i < 4; ++i) {
    REQUIRE(eventually([&] { return ends.acceptor->peek() != nullptr; }));
    REQUIRE(fault(*ends.acceptor->peek(), 3000, 9, i) == "");
    ends.acceptor->release();
  }
}

TEST_CASE("ends with different parameters learn both of them") {
  FOR_EACH_TRANSPORT();
  const bool dialler_first = GENERATE(true, false);
  const bool other_slots = GENERATE(true, false);
  CAPTURE(dialler_first, other_slots);
  ConnectionParams of_dialler = small_params(4321, 3);
  ConnectionParams of_acceptor = other_slots ? small_params(4321, 5) : small_params(1234, 3);
  Ends ends;
  Status dialler_status;
  Status acceptor_status;
  const auto connect = [&](bool dials) {
    auto made = ends.connect(transport, dials ? of_dialler : of_acceptor, dials);
    (dials ? dialler_status : acceptor_status) = made.status();
    if (made.ok()) (dials ? ends.dialler : ends.acceptor) = made.take();
  };
  connect(dialler_first);
  connect(!dialler_first);
  REQUIRE(eventually([&] {
    for (auto& [end, status] :
         {std::pair{ends.dialler.get(), &dialler_status}, {ends.acceptor.get(), &acceptor_status}}) {
      if (end == nullptr || !status->ok()) continue;
      REQUIRE(end->peek() == nullptr);
      *status = end->status();
    }
    return !dialler_status.ok() && !acceptor_status.ok();
  }));
  for (const Status& status : {dialler_status, acceptor_status}) {
    INFO(status.message());
    REQUIRE(status.code() == Code::Mismatch);
    REQUIRE(status.message().find(other_slots ? "slots is " : "slot_bytes is ") != std::string::npos);
    REQUIRE(status.message().find(other_slots ? "3" : "4321") != std::string::npos);
    REQUIRE(status.message().find(other_slots ? "5" : "1234") != std::string::npos);
  }
}

TEST_CASE("parameters out of range are refused by name") {
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

TEST_CASE("many concurrent connections keep their messages apart") {
  FOR_EACH_TRANSPORT();
  constexpr uint64_t kConnections = 40;
  std::vector<Ends> all;
  for (uint64_t i = 0; i < kConnections; ++i) {
    ConnectionKey key = new_key();
    key.port = static_cast<uint16_t>(i % 4);
    all.push_back(connect_ends(transport, small_params(500, 2), i % 2 == 0, key));
  }
  REQUIRE(converse_together(all, {.messages = 40}) == "");
}

TEST_CASE("ends created by two threads at the same time connect") {
  FOR_EACH_TRANSPORT();
  for (uint64_t round = 0; round < 20; ++round) {
    Ends ends;
    std::string other_fault = "not run";
    const Conversation conversation{.seed = round, .messages = 20};
    Result<std::unique_ptr<Connection>> acceptor = Status();
    std::thread other([&] {
      acceptor = ends.connect(transport, small_params(), false);
      if (!acceptor.ok()) return;
      Talker talker(*acceptor.value(), conversation, false);
      talker.run();
      other_fault = talker.fault();
    });
    auto dialler = ends.connect(transport, small_params(), true);
    std::string own_fault = dialler.status().message();
    if (dialler.ok()) {
      Talker talker(*dialler.value(), conversation, true);
      talker.run();
      own_fault = talker.fault();
    }
    other.join();
    REQUIRE(own_fault == "");
    REQUIRE(other_fault == "");
  }
}

// The child is a copy of this process, forked while it has one thread; it only talks and exits.
TEST_CASE("two processes talk over the transports that connect processes") {
  FOR_EACH_TRANSPORT();
  const Endpoint here{.host = 1, .process = 1};
  const Endpoint there{.host = 1, .process = 2};
  if (!transport.reaches(here, there)) return;
  const Conversation conversation{.seed = 21, .messages = 500};
  Ends ends;
  ends.wire->prepare(transport.medium == Medium::HostMemory ? Route::Unix : Route::Tcp,
                     small_params().sockets);
  Process child([&] {
    const auto end = ends.connect(transport, small_params(), false);
    require(end.ok(), end.status().message());
    Talker talker(*end.value(), conversation, false);
    talker.run();
    require(talker.fault().empty(), talker.fault());
  });
  ends.dialler = require_connection(ends.connect(transport, small_params(), true));
  Talker talker(*ends.dialler, conversation, true);
  talker.run();
  const Outcome outcome = child.wait();
  require_faultless(talker);
  REQUIRE(outcome.failure() == "");
}

}  // namespace
}  // namespace rondo::test
