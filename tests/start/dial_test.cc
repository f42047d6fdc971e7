// SPDX-License-Identifier: Apache-2.0
// Dialling a process that offers several addresses, some of them silent or another machine's; and a process
// that the rank has left.
#include <atomic>
#include <limits>
#include <thread>
#include <vector>

#include "catch.h"
#include "context.h"
#include "net/handshake.h"
#include "odd_listeners.h"

namespace rondo::test {
namespace {

/// An address without a route.
Address unroutable() { return Address::tcp({0xff, 0x0e, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}, 9); }

/// This process as the target of a dial, with a rank 0 in it.
struct Dialled {
  Credentials credentials{random_u64(), random_secret()};
  std::shared_ptr<Context> context;
  std::atomic<int> came{0};
  Dialled() {
    auto got = Context::get();
    REQUIRE(got.ok());
    context = got.take();
    context->listeners().open(credentials, 0, [this](const ConnectRequest&, Fd) { ++came; });
  }
  ~Dialled() { context->listeners().close(credentials.session, 0); }
  Address address() const { return loopback(context->self().tcp_port); }

  Result<Fd> dial(std::vector<Address> addresses, int64_t within_ms, int rank, Contact& contact) const {
    const ConnectRequest purpose{.kind = ConnectKind::Inquiry, .from_rank = 1, .to_rank = rank};
    return dial_any(addresses, credentials, purpose, Deadline::in_ms(within_ms), {}, &contact);
  }
};

TEST_CASE("a silent address does not delay trying the next one") {
  const Dialled dialled;
  const Silent silent;
  Contact contact = Contact::None;
  const int64_t before_ns = now_ns();
  CHECK(dialled.dial({silent.address(), dialled.address()}, 2000, 0, contact).ok());
  CHECK(contact == Contact::Made);
  CHECK(now_ns() - before_ns < 1'900'000'000);
  for (int waited_ms = 0; dialled.came != 1 && waited_ms < 5000; ++waited_ms)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  CHECK(dialled.came == 1);
}

TEST_CASE("the most informative failure of several addresses is reported") {
  const Dialled dialled;
  const Silent silent;
  Contact contact = Contact::None;
  // The process is gone, whether or not this host has a route to the other address.
  CHECK(dialled.dial({refusing(), unroutable()}, 2000, 0, contact).status().code() == Code::RemoteError);
  CHECK(dialled.dial({unroutable(), refusing()}, 2000, 0, contact).status().code() == Code::RemoteError);
  // The refusing address may belong to another machine.
  CHECK(dialled.dial({silent.address(), refusing()}, 300, 0, contact).status().code() == Code::Timeout);
  const int64_t before_ns = now_ns();
  CHECK(dialled.dial({refusing(), silent.address()}, 600, 0, contact).status().code() == Code::Timeout);
  CHECK(contact == Contact::Sought);
  CHECK(now_ns() - before_ns < 600'000'000);  // before other ranks lose patience with this one
}

TEST_CASE("a process that hangs up until the deadline is not gone") {
  const Dialled dialled;
  const HangingUp hanging_up;
  Contact contact = Contact::None;
  CHECK(dialled.dial({hanging_up.address()}, 300, 0, contact).status().code() == Code::Timeout);
  CHECK(dialled.dial({refusing(), hanging_up.address()}, 300, 0, contact).status().code() == Code::Timeout);
  CHECK(contact == Contact::Made);
}

TEST_CASE("a rank that has left its process is gone, though others of the process remain") {
  const Dialled dialled;
  Contact contact = Contact::None;
  const auto reached = dialled.dial({dialled.address()}, 5000, 3, contact);
  CHECK(reached.status().code() == Code::RemoteError);
  CHECK(reached.status().message().find("that rank is no longer there") != std::string::npos);
  CHECK(contact == Contact::Made);
  CHECK(dialled.came == 0);
}

TEST_CASE("a deadline may be as far away as the type allows") {
  const Deadline far = Deadline::in_ms(std::numeric_limits<int64_t>::max());
  CHECK_FALSE(far.passed());
  CHECK(far.left_ms() == std::numeric_limits<int>::max());
  CHECK(Deadline::in_ms(1'000'000'000'000).left_ms() == std::numeric_limits<int>::max());
  CHECK(Deadline::in_ms(0).left_ms() == 0);
}

}  // namespace
}  // namespace rondo::test
