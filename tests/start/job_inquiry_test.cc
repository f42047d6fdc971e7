// SPDX-License-Identifier: Apache-2.0
// JobInquiry and Dialler: what a process learns of those on other hosts, and what these cannot do to it: all
// is there in time, and bounded, whatever listens there. PsServer: which clients get it.
#include "job_inquiry.h"

#include <poll.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <future>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "catch.h"
#include "handshake_format.h"
#include "net/listeners.h"
#include "net/text_sender.h"
#include "odd_listeners.h"
#include "ps_server.h"
#include "sanitized.h"

namespace rondo::test {
namespace {

using Json = nlohmann::json;

constexpr int kLimit_ms = 30'000;
constexpr uint64_t kOwnHost = 1;

size_t descriptors() {
  const std::filesystem::directory_iterator all("/proc/self/fd");
  return static_cast<size_t>(std::distance(begin(all), end(all)));
}

/// What is said of a process, and what it said.
struct Said {
  Json line;
  std::string text;
};

std::vector<Said> parsed(const std::string& result) {
  size_t at = result.find('\n') + 1;
  const Json head = Json::parse(result.substr(0, at));
  REQUIRE(head.at("format") == "rondo-ps-job");
  std::vector<Said> all;
  for (int i = 0; i < head.at("processes"); ++i) {
    const size_t end = result.find('\n', at) + 1;
    Said said{Json::parse(result.substr(at, end - at)), {}};
    const auto bytes = said.line.at("bytes").get<size_t>();
    said.text = result.substr(end, bytes);
    REQUIRE(said.text.size() == bytes);
    at = end + bytes;
    all.push_back(std::move(said));
  }
  REQUIRE(at == result.size());
  return all;
}

/// A session whose rank 0 is here. The ranks of other hosts are behind any listeners of this test.
class Job {
 public:
  Job() {
    add(0, kOwnHost, 100, {});
    listener_ = std::move(listen_tcp(port_).value());
    listeners_ = std::make_unique<Listeners>(*there_);
    listeners_->add(listener_);
  }
  ~Job() {
    listeners_.reset();
    there_->call([this] { sender_.drop_all(); });
  }

  void add(int rank, uint64_t host, uint64_t process, std::vector<Address> addresses) {
    PeerInfo member;
    member.rank = rank;
    member.pid = static_cast<int>(process);
    member.endpoint = {host, process, {}};
    member.host_name = "host" + std::to_string(host);
    members_.push_back(member);
    addresses_[rank] = std::move(addresses);
  }
  /// A process that answers as it should, with this text, at the last of its addresses.
  void add_honest(int rank, uint64_t host, uint64_t process, const std::string& text,
                  std::vector<Address> addresses = {}) {
    addresses.push_back(loopback(port_));
    add(rank, host, process, std::move(addresses));
    listeners_->open(credentials_, rank, [this, text](const ConnectRequest& purpose, Fd fd) {
      if (purpose.kind == ConnectKind::Calls)
        sender_.send(std::move(fd), std::make_shared<const std::string>(text));
    });
  }
  /// One that keeps the socket of a dialler that has proved itself, and says nothing.
  void add_keeping(int rank, uint64_t host, uint64_t process) {
    add(rank, host, process, {loopback(port_)});
    listeners_->open(credentials_, rank,
                     [this](const ConnectRequest&, Fd fd) { kept_.push_back(std::move(fd)); });
  }
  void end(int rank, const std::string& how) { ends_[rank] = how; }

  AskedSession session() {
    return {.credentials = credentials_,
            .rank = 0,
            .members = members_,
            .addresses =
                [this](const PeerInfo& peer) {
                  ++dialled_[peer.endpoint.host];
                  return addresses_[peer.rank];
                },
            .end_of = [this](int rank) { return ends_.contains(rank) ? ends_[rank] : std::string(); }};
  }
  /// By their lowest ranks.
  std::map<int, Said> ask() {
    std::promise<std::string> result;
    std::unique_ptr<JobInquiry> inquiry;
    here_->call([&] {
      inquiry = std::make_unique<JobInquiry>(*here_, session(),
                                             [&](std::string text) { result.set_value(std::move(text)); });
    });
    auto future = result.get_future();
    const bool is_there = future.wait_for(std::chrono::milliseconds(kLimit_ms)) == std::future_status::ready;
    here_->call([&] { inquiry.reset(); });
    REQUIRE(is_there);
    text_ = future.get();
    std::map<int, Said> by_rank;
    for (Said& said : parsed(text_)) by_rank[said.line.at("ranks").at(0)] = std::move(said);
    return by_rank;
  }

  EventLoop& here() { return *here_; }
  const Credentials& credentials() const { return credentials_; }
  int dialled(uint64_t host) { return dialled_[host]; }
  size_t bytes() const { return text_.size(); }
  Address honest_address() const { return loopback(port_); }

 private:
  const Credentials credentials_{random_u64(), random_secret()};
  std::unique_ptr<EventLoop> here_ = std::move(EventLoop::start().value());
  std::unique_ptr<EventLoop> there_ = std::move(EventLoop::start().value());
  TextSender sender_{*there_};
  uint16_t port_ = 0;
  Fd listener_;
  std::unique_ptr<Listeners> listeners_;
  std::vector<Fd> kept_;
  std::vector<PeerInfo> members_;
  std::map<int, std::vector<Address>> addresses_;
  std::map<int, std::string> ends_;
  std::map<uint64_t, int> dialled_;  // by host
  std::string text_;
};

std::string found(const std::map<int, Said>& said, int rank) {
  return said.at(rank).line.at("found").get<std::string>();
}

std::string problem(const std::map<int, Said>& said, int rank) {
  const Json& text = said.at(rank).line.at("problem");
  return text.is_null() ? std::string() : text.get<std::string>();
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

/// A listener on the loopback interface that takes connections and answers each Hello with these bytes.
class Answering {
 public:
  explicit Answering(const Answer& answer) : answer_(answer) {
    listener_ = std::move(listen_tcp(port_).value());
    thread_ = std::thread([this] { serve(); });
  }
  ~Answering() {
    ::shutdown(listener_.get(), SHUT_RDWR);
    is_over_ = true;
    thread_.join();
  }
  Address address() const { return loopback(port_); }
  /// What diallers have said after their Hello.
  size_t heard() const { return heard_; }

 private:
  void serve() {
    while (!is_over_) {
      pollfd ready{listener_.get(), POLLIN, 0};
      if (::poll(&ready, 1, 20) <= 0) continue;
      Address from;
      const Fd fd = accept_pending(listener_, from);
      Hello hello;
      const Deadline deadline = Deadline::in_ms(2000);
      if (!fd.valid() || !receive_all(fd, std::as_writable_bytes(std::span(&hello, 1)), deadline, {}).ok() ||
          !send_all(fd, raw(answer_), deadline, {}).ok())
        continue;
      Claim claim;
      if (!receive_all(fd, std::as_writable_bytes(std::span(&claim, 1)), deadline, {}).ok()) continue;
      heard_ += sizeof claim;
      const Receipt receipt;  // an impostor's, without a proof
      static_cast<void>(send_all(fd, raw(receipt), deadline, {}));
      static_cast<void>(send_all(fd, std::as_bytes(std::span("{}")), deadline, {}));
      std::byte more{};
      static_cast<void>(receive_all(fd, {&more, 1}, deadline, {}));
    }
  }

  const Answer answer_;
  uint16_t port_ = 0;
  Fd listener_;
  std::atomic<bool> is_over_{false};
  std::atomic<size_t> heard_{0};
  std::thread thread_;
};

}  // namespace

TEST_CASE("each process of another host is asked once, and said what it says") {
  constexpr int kProcesses = kSanitized ? 80 : 200;  // more than are asked at once, in the time that all have
  Job job;
  job.add(1, kOwnHost, 101, {refusing()});
  for (int at = 0; at < kProcesses; ++at)
    job.add_honest(2 + at, 2 + static_cast<uint64_t>(at) % 7, 200 + static_cast<uint64_t>(at),
                   std::string(static_cast<size_t>(1 + 331 * at), static_cast<char>('a' + at % 26)));
  job.add(2 + kProcesses, 2, 200, {});  // a thread of the first
  const auto said = job.ask();
  REQUIRE(said.size() == kProcesses);
  for (int at = 0; at < kProcesses; ++at) {
    const auto& [line, text] = said.at(2 + at);
    INFO(line);
    CHECK(line.at("found") == "answered");
    CHECK(line.at("problem").is_null());
    CHECK(line.at("host") == "host" + std::to_string(2 + at % 7));
    CHECK(line.at("pid") == 200 + at);
    CHECK(text == std::string(static_cast<size_t>(1 + 331 * at), static_cast<char>('a' + at % 26)));
  }
  CHECK(said.at(2).line.at("ranks") == Json({2, 2 + kProcesses}));
  CHECK(job.dialled(kOwnHost) == 0);
}

TEST_CASE("of hosts and processes that do not answer each is told, and the others are there") {
  const Silent silent;
  const HangingUp hanging_up;
  uint16_t port = 0;
  const auto deaf = listen_tcp(port);  // the kernel takes the connection, the process does not
  REQUIRE(deaf.ok());
  Job job;
  job.add_honest(1, 2, 201, "one");
  job.add(2, 3, 202, {silent.address()});
  job.add(3, 4, 203, {loopback(port), silent.address()});
  job.add(4, 2, 204, {refusing()});
  job.add(5, 4, 205, {hanging_up.address()});
  job.add_keeping(6, 5, 206);
  job.add_honest(7, 5, 207, "");
  job.add(8, 2, 208, {job.honest_address()});  // it has left that process
  job.add(9, 6, 209, {});
  job.add(10, 7, 210, {job.honest_address()});
  job.end(10, "it has left the job");
  job.add_honest(11, 3, 211, "an odd host, where one is reached");
  job.add(12, 8, 212, {silent.address(), refusing(), job.honest_address()});
  job.add_honest(13, 9, 213, "at its second address", {loopback(port)});
  const int64_t began_ns = now_ns();
  const auto said = job.ask();
  CHECK(now_ns() - began_ns < int64_t{kLimit_ms} * 1'000'000);
  CHECK(found(said, 1) == "answered");
  CHECK(said.at(1).text == "one");
  CHECK(found(said, 2) == "unreachable");
  CHECK(has(problem(said, 2), "did not answer"));
  CHECK(found(said, 3) == "silent");
  CHECK(problem(said, 3) == loopback(port).text() + ": it did not answer");
  CHECK(found(said, 4) == "silent");
  CHECK(has(problem(said, 4), "Connection refused"));
  CHECK(found(said, 5) == "silent");
  CHECK(has(problem(said, 5), "connection"));  // closed or reset
  CHECK(found(said, 6) == "silent");
  CHECK(has(problem(said, 6), "within 500 ms"));
  CHECK(found(said, 7) == "off");
  CHECK(found(said, 8) == "silent");
  CHECK(has(problem(said, 8), "that rank is no longer there"));
  CHECK(found(said, 9) == "unreachable");
  CHECK(has(problem(said, 9), "RONDO_SOCKET_IFNAME"));
  CHECK(found(said, 10) == "gone");
  CHECK(problem(said, 10) == "it has left the job");
  CHECK(job.dialled(7) == 0);
  CHECK(found(said, 11) == "answered");
  CHECK(said.at(13).text == "at its second address");
  CHECK(found(said, 12) == "silent");  // rank 12 is not behind the last address, which was tried
}

TEST_CASE("a host that cannot be reached is not dialled for each of its many processes") {
  const Silent silent;
  Job job;
  for (int at = 0; at < 500; ++at) job.add(1 + at, 2, 200 + static_cast<uint64_t>(at), {silent.address()});
  job.add_honest(501, 3, 900, "there");
  const auto said = job.ask();
  CHECK(job.dialled(2) <= static_cast<int>(JobInquiry::kAtATime));
  CHECK(found(said, 501) == "answered");
  for (int rank = 1; rank <= 500; ++rank) CHECK(found(said, rank) == "unreachable");
}

TEST_CASE("strangers at the address of a process give it nothing to read, and versions must agree") {
  const Answering impostor{Answer{}};
  const Answering other_version{Answer{.version = kVersion + 1}};
  const Answering other_program{Answer{.magic = 0x20505448}};
  const Answering other_session{Answer{.verdict = Verdict::UnknownSession}};
  Job job;
  job.add(1, 2, 201, {impostor.address()});
  job.add(2, 3, 202, {other_version.address()});
  job.add(3, 4, 203, {other_program.address()});
  job.add(4, 5, 204, {other_session.address()});
  const auto said = job.ask();
  for (int rank = 1; rank <= 4; ++rank) {
    CHECK(found(said, rank) == "silent");
    CHECK(said.at(rank).text.empty());
  }
  CHECK(has(problem(said, 1), "it has a different secret of the session"));
  CHECK(impostor.heard() == sizeof(Claim));
  CHECK(has(problem(said, 2),
            fmt::format("it speaks version {} of Rondo's protocol and this process version {}", kVersion + 1,
                        kVersion)));
  CHECK(has(problem(said, 3), "what listens there is not Rondo"));
  CHECK(has(problem(said, 4), "it does not know this session"));
  for (const Answering* one : {&other_version, &other_program, &other_session}) CHECK(one->heard() == 0);
}

TEST_CASE("a process that does not know the secret is told nothing") {
  Job job;
  job.add_honest(1, 2, 201, "nothing for strangers");
  const Credentials guess{job.credentials().session, random_secret()};
  const ConnectRequest purpose{.kind = ConnectKind::Calls, .from_rank = 0, .to_rank = 1};
  const auto fd = dial(job.honest_address(), guess, purpose, Deadline::in_ms(kLimit_ms), {});
  CHECK(fd.status().code() == Code::InvalidUsage);
}

TEST_CASE("what processes say is bounded, each and all together") {
  Job job;
  job.add_honest(1, 2, 200, std::string(JobInquiry::kMaxTextBytes + 1, 'x'));
  for (int at = 0; at < 40; ++at)
    job.add_honest(2 + at, 3, 300 + static_cast<uint64_t>(at), std::string(JobInquiry::kMaxTextBytes, 'y'));
  const auto said = job.ask();
  CHECK(found(said, 1) == "silent");
  // A busy host may not have read it all in time.
  CHECK((has(problem(said, 1), "it says more than 1024 KiB") || has(problem(said, 1), "ms")));
  int answered = 0;
  for (int at = 0; at < 40; ++at) answered += found(said, 2 + at) == "answered" ? 1 : 0;
  CHECK(answered <= 32);
  CHECK(job.bytes() < JobInquiry::kMaxTotalBytes + 100'000);
}

TEST_CASE("an inquiry that ends early leaves no descriptor and calls nothing") {
  const Silent silent;
  Job job;
  for (int at = 0; at < 20; ++at) job.add(1 + at, 2, 200 + static_cast<uint64_t>(at), {silent.address()});
  job.add_keeping(30, 3, 300);
  const size_t before = descriptors();
  for (const int after_ms : {0, 1, 20, 100}) {
    std::unique_ptr<JobInquiry> inquiry;
    job.here().call([&] {
      inquiry = std::make_unique<JobInquiry>(job.here(), job.session(),
                                             [](const std::string&) { FAIL("it has a result"); });
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(after_ms));
    job.here().call([&] { inquiry.reset(); });
  }
  CHECK(descriptors() <= before + 4);  // those that rank 30 keeps
}

namespace {

/// The name of a server that rondo-ps finds.
std::string ps_name() {
  const std::string begin = fmt::format("@rondo-ps-{}-{}-", ::geteuid(), ::getpid());
  std::ifstream sockets("/proc/net/unix");
  for (std::string line; std::getline(sockets, line);)
    if (const size_t at = line.find(begin); at != std::string::npos) return line.substr(at + 1);
  return {};
}

/// A connection whose own end has this name; "": none.
Fd connected_as(const std::string& own, const std::string& name) {
  const Address address = Address::abstract_unix(name);
  Fd fd = std::move(socket_for(address).value());
  if (!own.empty()) {
    const Address own_address = Address::abstract_unix(own);
    REQUIRE(::bind(fd.get(), reinterpret_cast<const sockaddr*>(&own_address.storage), own_address.length) ==
            0);
  }
  REQUIRE(connect_to(fd, address, Deadline::in_ms(kLimit_ms), {}).ok());
  return fd;
}

std::string received(const Fd& fd) {
  std::string all;
  for (;;) {
    char chunk[4096];
    pollfd ready{fd.get(), POLLIN, 0};
    REQUIRE(::poll(&ready, 1, kLimit_ms) == 1);
    const ssize_t got = ::recv(fd.get(), chunk, sizeof chunk, 0);
    if (got <= 0) return all;
    all.append(chunk, static_cast<size_t>(got));
  }
}

}  // namespace

TEST_CASE("a client's name says what it gets: of this process, or of a session's other hosts") {
  uint16_t port = 0;
  const auto deaf = listen_tcp(port);
  Job job;
  job.add_honest(1, 2, 201, "there");
  job.add(2, 3, 202, {loopback(port)});
  const auto server = start_ps_server(job.here());
  REQUIRE(server != nullptr);
  server->add(job.session());
  const std::string name = ps_name();
  const std::string session = fmt::format("{:016x}", job.credentials().session);
  const auto random = [] { return fmt::format("{:016x}", random_u64()); };

  for (const std::string& own :
       {std::string(), "x-" + random(), "rondo-ps-asks-" + session,
        "rondo-ps-asks-" + std::string(16, 'G') + random(), "rondo-ps-asks-1-" + random()})
    CHECK(has(received(connected_as(own, name)), "\"format\":\"rondo-flight\""));
  CHECK(received(connected_as("rondo-ps-asks-" + std::string(16, '1') + "-" + random(), name)).empty());

  // They share an inquiry, and the last 8 have a place.
  std::vector<Fd> clients;
  for (int at = 0; at < 12; ++at)
    clients.push_back(connected_as("rondo-ps-asks-" + session + "-" + random(), name));
  int served = 0;
  for (const Fd& client : clients) {
    const std::string result = received(client);
    if (result.empty()) continue;
    ++served;
    const auto all = parsed(result);
    REQUIRE(all.size() == 2);
    CHECK(all[0].text == "there");
    CHECK(all[1].line.at("found") == "silent");
  }
  CHECK(served >= 8);
  if (job.dialled(2) == 1) CHECK(served == 8);  // on a busy host the first were served before the last came

  // One that waits when the session ends gets nothing, unless it has had its answer by then.
  const auto left_waiting = [&] {
    server->add(job.session());
    const Fd waiting = connected_as("rondo-ps-asks-" + session + "-" + random(), name);
    CHECK(has(received(connected_as("", name)), "rondo-flight"));  // so `waiting` has been accepted
    server->remove(job.credentials().session, 0);
    return received(waiting);
  };
  bool was_empty = false;
  for (int round = 0; round < 10 && !was_empty; ++round) was_empty = left_waiting().empty();
  CHECK(was_empty);
  CHECK(received(connected_as("rondo-ps-asks-" + session + "-" + random(), name)).empty());
}

TEST_CASE("a process that asks about many sessions at once needs few descriptors") {
  constexpr uint64_t kSessions = 12;
  const Silent silent;
  Job job;
  for (int at = 0; at < 100; ++at)
    job.add(1 + at, 2 + static_cast<uint64_t>(at), 200 + static_cast<uint64_t>(at), {silent.address()});
  const auto server = start_ps_server(job.here());
  REQUIRE(server != nullptr);
  const std::string name = ps_name();
  const size_t before = descriptors();
  std::vector<Fd> clients;
  for (uint64_t session = 1; session <= kSessions; ++session) {
    AskedSession asked = job.session();
    asked.credentials.session = session;
    server->add(asked);
    clients.push_back(connected_as(fmt::format("rondo-ps-asks-{:016x}-{:x}", session, random_u64()), name));
  }
  size_t most = 0;
  for (int look = 0; look < 100; ++look, std::this_thread::sleep_for(std::chrono::milliseconds(5)))
    most = std::max(most, descriptors());
  CHECK(most < before + 2 * kSessions + 3 * JobInquiry::kAtATime);
  size_t served = 0;
  for (const Fd& client : clients) served += received(client).empty() ? 0 : 1;
  CHECK(served >= PsServer::kMaxInquiries);
  for (uint64_t session = 1; session <= kSessions; ++session) server->remove(session, 0);
}

}  // namespace rondo::test
