// SPDX-License-Identifier: Apache-2.0
// TextServer: what clients get, and what they cannot do. ps_server: what rondo-ps gets of a process. The
// child of a fork answers about its place too.
#include "net/text_server.h"

#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <string>
#include <vector>

#include "base/backoff.h"
#include "base/clock.h"
#include "base/log.h"
#include "captured_log.h"
#include "catch.h"
#include "net/framed_socket.h"
#include "net/handshake.h"
#include "net/paced_listeners.h"
#include "net/socket.h"
#include "place_answers.h"
#include "process.h"
#include "ps_server.h"
#include "sanitized.h"
#include "world.h"

namespace rondo::test {
namespace {

constexpr int kLimit_ms = 20'000;

/// A server of its own name and thread.
struct Served {
  explicit Served(size_t bytes) : text(bytes, 'x') {}

  std::string name = fmt::format("rondo-test-{:016x}", random_u64());
  std::string text;
  std::atomic<int> made{0};
  std::unique_ptr<EventLoop> event_loop = std::move(EventLoop::start().value());
  TextServer server{*event_loop, std::move(listen_unix(name, PacedListeners::kBacklog).value()), [this] {
                      ++made;
                      return text;
                    }};
};

Fd connected(const std::string& name) {
  const Address address = Address::abstract_unix(name);
  Fd fd = std::move(socket_for(address).value());
  const Status status = connect_to(fd, address, Deadline::in_ms(kLimit_ms), {});
  INFO(status.message());
  REQUIRE(status.ok());
  return fd;
}

/// All that comes until the server hangs up.
std::string received(const Fd& fd) {
  std::string all;
  std::vector<char> chunk(65'536);
  for (;;) {
    pollfd ready{fd.get(), POLLIN, 0};
    require(::poll(&ready, 1, kLimit_ms) == 1, "the server neither sends nor hangs up");
    const ssize_t got = ::recv(fd.get(), chunk.data(), chunk.size(), 0);
    if (got <= 0) return all;
    all.append(chunk.data(), static_cast<size_t>(got));
  }
}

size_t descriptors() {
  const std::filesystem::directory_iterator all("/proc/self/fd");
  return static_cast<size_t>(std::distance(begin(all), end(all)));
}

void await(const std::function<bool()>& condition) {
  const Deadline deadline = Deadline::in_ms(kLimit_ms);
  while (!condition()) REQUIRE(!deadline.passed());
}

/// Whether something listens at an abstract name.
bool listens(const std::string& name) {
  const Address address = Address::abstract_unix(name);
  const Fd fd = std::move(socket_for(address).value());
  return connect_to(fd, address, Deadline::in_ms(kLimit_ms), {}).ok();
}

/// The names that rondo-ps sees of a process.
std::vector<std::string> ps_names(pid_t pid) {
  const std::string begin = fmt::format("rondo-ps-{}-{}-", ::geteuid(), pid);
  std::ifstream sockets("/proc/net/unix");
  std::vector<std::string> names;
  for (std::string line; std::getline(sockets, line);)
    if (const size_t at = line.find(begin); at != std::string::npos) names.push_back(line.substr(at));
  return names;
}

}  // namespace

TEST_CASE("every client gets the whole text, however long it is and whatever the client writes") {
  for (const size_t bytes : {size_t{1}, size_t{1'000'000}}) {
    Served served(bytes);
    const Fd first = connected(served.name);
    const Fd second = connected(served.name);
    const std::string nonsense = "GET / HTTP/1.1\r\n\r\n";
    [[maybe_unused]] const auto sent = ::send(second.get(), nonsense.data(), nonsense.size(), MSG_NOSIGNAL);
    CHECK(received(first) == served.text);
    CHECK(received(second) == served.text);
  }
}

TEST_CASE("clients within a moment get the same text, and later ones a new one") {
  Served served(1);
  const Deadline moment = Deadline::in_ms(TextServer::kReuse_ms / 2);
  int clients = 0;
  for (; !moment.passed(); ++clients) CHECK(received(connected(served.name)) == "x");
  CHECK(clients > 0);
  CHECK(served.made <= 2);
  await([&] {
    received(connected(served.name));
    return served.made >= 3;
  });
}

TEST_CASE("a client that does not read is dropped after a while, and meanwhile others are served") {
  Served served(2'000'000);
  const size_t before = descriptors();
  const Fd silent = connected(served.name);
  CHECK(received(connected(served.name)).size() == served.text.size());
  await([&] { return descriptors() <= before + 1; });  // `silent` itself
  CHECK(received(silent).size() < served.text.size());
}

TEST_CASE("500 clients that neither read nor write take few descriptors, and keep the thread from nothing") {
  Served served(2'000'000);
  const size_t before = descriptors();
  std::vector<Fd> clients;
  size_t most = 0;
  int64_t longest_ns = 0;
  const Deadline while_some_are_accepted = Deadline::in_ms(5 * PacedListeners::kPause_ms);
  for (int at = 0; at < 500 || !while_some_are_accepted.passed(); ++at) {
    if (clients.size() == 500) clients.erase(clients.begin());
    const Address address = Address::abstract_unix(served.name);
    clients.push_back(std::move(socket_for(address).value()));
    // Without waiting: its queue may be full.
    [[maybe_unused]] const int result =
        ::connect(clients.back().get(), reinterpret_cast<const sockaddr*>(&address.storage), address.length);
    if (at % 10 == 0) {
      const int64_t begin_ns = now_ns();
      served.event_loop->call([] {});
      longest_ns = std::max(longest_ns, now_ns() - begin_ns);
      most = std::max(most, descriptors() - clients.size() - before);
    }
  }
  CHECK(most > 0);
  CHECK(most <= 10);  // 8, and one that replaces another
  CHECK(longest_ns < int64_t{kLimit_ms} * 1'000'000);
  clients.clear();
  CHECK(received(connected(served.name)).size() == served.text.size());
}

TEST_CASE("a server that ends hangs up, and leaves no name and no descriptor") {
  const size_t before = descriptors();
  std::string name;
  {
    Served served(2'000'000);
    name = served.name;
    const Fd silent = connected(name);
    await([&] { return served.made == 1; });
    CHECK(listens(name));
  }
  CHECK(!listens(name));
  CHECK(descriptors() == before);
}

TEST_CASE("where there can be no socket for rondo-ps, the log says so at info, and nothing fails") {
  const auto in_process = [](const std::function<void()>& body) { return Process(body).wait().failure(); };
  for (const char* level : {"info", "warn"}) {
    const std::string log = captured_log(in_process, [&] {
      ::setenv("RONDO_LOG", level, 1);
      require(read_log_level().ok(), "no level");
      const auto event_loop = EventLoop::start();
      require(event_loop.ok(), "no event loop");
      std::vector<Fd> taken;
      const rlimit few{64, 64};
      require(::setrlimit(RLIMIT_NOFILE, &few) == 0, "setrlimit");
      while (taken.empty() || taken.back().valid()) taken.emplace_back(::dup(STDERR_FILENO));
      require(start_ps_server(*event_loop.value()) == nullptr, "there is a server");
    });
    const bool says = log.find("rondo-ps will not see this process: cannot make a Unix socket") != log.npos;
    CHECK(says == (level == std::string("info")));
  }
}

TEST_CASE(
    "a forked child does not answer for its parent, and the name ends with the parent's communicators") {
  expect_success(run_world({.nranks = 2}, [](Rank& rank) {
    check(rondo_barrier(rank.comm, nullptr), rank.comm);
    const std::vector<std::string> names = ps_names(::getpid());
    require(names.size() == 1, "not one name");
    Process child([] { ::pause(); });
    require(ps_names(child.pid()).empty(), "the child has a name");
    check(rondo_barrier(rank.comm, nullptr), rank.comm);
    check(rondo_destroy(rank.comm));
    rank.comm = nullptr;
    // The child lets go of the socket when it first runs.
    require(wait_until([&] { return !listens(names[0]); }, Deadline::in_ms(kLimit_ms)), "something listens");
  }));
}

TEST_CASE("with RONDO_PS=0 a process has no name, and a value that is no switch is refused") {
  expect_success(run_world({.nranks = 2, .environment = {{"RONDO_PS", "0"}}}, [](Rank& rank) {
    check(rondo_barrier(rank.comm, nullptr), rank.comm);
    require(ps_names(::getpid()).empty(), "it has a name");
  }));
  const Outcome outcome = Process([] {
                            ::setenv("RONDO_PS", "2", 1);
                            rondo_comm_t comms[2] = {};
                            check_fails(rondo_init_all(comms, 2, nullptr), RONDO_INVALID_ARGUMENT,
                                        {"RONDO_PS is '2'", "0, no, false or off"});
                            ::unsetenv("RONDO_PS");  // the process can go on
                            check(rondo_init_all(comms, 2, nullptr));
                          }).wait();
  CHECK(outcome.failure() == "");
}

namespace {

/// Asks this process where its main thread is, by the descriptor's other end.
Fd asked_for_place() {
  int ends[2];
  require(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) == 0, "no sockets");
  answer_place(::getpid(), Fd(ends[1]));
  return Fd(ends[0]);
}

}  // namespace

TEST_CASE("a process that was forked while its parent answered about its place answers too") {
  if (kThreadSanitizer) return;  // which forbids threads in such a child
  const auto answer_to = [](const Fd& fd) {
    return receive_message(fd, Deadline::in_ms(kLimit_ms), {}).status();
  };
  const Fd ours = asked_for_place();
  Process child([&] { require(answer_to(asked_for_place()).ok(), "no answer"); });
  CHECK(child.wait().failure().empty());
  CHECK(answer_to(ours).ok());
}

}  // namespace rondo::test
