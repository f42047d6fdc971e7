// SPDX-License-Identifier: Apache-2.0
// What the RAS service is made of: addresses, what processes say to one another, how it is put together, and
// how the users of connections are told. tests/nccl/check_ras*.py ask jobs.
#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "catch.h"
#include "census.h"
#include "facts.h"
#include "net/tcp_peer.h"
#include "ras/address.h"
#include "ras/options.h"
#include "ras/service.h"
#include "report.h"
#include "seed.h"
#include "view.h"
#include "xorshift.h"

namespace rondo::test {
namespace {

const RasOptions kOptions{
    .product = "the product", .nccl_version = "2.29.7", .address = "", .nccl_result = [](Code code) {
      return static_cast<int>(code);
    }};

RasRank some_rank(int rank, int size, uint32_t latest, uint64_t communicator = 1) {
  RasRank one{.session = 0xabc,
              .communicator = communicator,
              .session_rank = rank,
              .rank = rank,
              .size = size,
              .name = "secret-name",
              .latest = latest,
              .call = "all_reduce(count=7)",
              .call_key = latest,
              .begun_ms = 12'345,
              .ended_ms = 4'000};
  one.calls[0] = latest;
  return one;
}

RasProcess some_process(int pid, std::vector<RasRank> ranks) {
  return {.host = "secret-host", .pid = pid, .omitted = 0, .ranks = std::move(ranks)};
}

/// A process for each rank, which has made `calls`; all know that they are on one host.
RasFindings job_of(const std::vector<uint32_t>& calls) {
  std::vector<HereMember> here;
  for (int rank = 0; rank < static_cast<int>(calls.size()); ++rank) here.push_back({rank, 1000 + rank});
  RasFindings found;
  for (const HereMember& one : here) {
    RasRank rank = some_rank(one.rank, static_cast<int>(calls.size()), calls[static_cast<size_t>(one.rank)]);
    rank.here = here;
    found.processes.push_back(some_process(one.pid, {rank}));
  }
  return found;
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("addresses of the RAS service") {
  const auto ips = [](const char* text) {
    std::string all;
    if (const auto address = parse_ras_address(text))
      for (const IpAddress& ip : address->ips) all += ip_text(ip) + " " + std::to_string(address->port) + " ";
    return all;
  };
  CHECK(ips("") == "127.0.0.1 28028 ::1 28028 ");
  CHECK(ips("localhost:5") == "127.0.0.1 5 ::1 5 ");
  CHECK(ips("LocalHost:65535") == "127.0.0.1 65535 ::1 65535 ");
  CHECK(ips("10.1.2.3:28028") == "10.1.2.3 28028 ");
  CHECK(ips("[fe80::1]:7") == "fe80::1 7 ");
  for (const char* wrong :
       {"localhost", ":", ":1", "localhost:", "localhost:0", "localhost:65536", "1.2.3:4", "::1:5", "[::1]",
        "[::1]:", "[::1:5", "[1.2.3.4]:5", "host:5", "1.2.3.4:5x", "1.2.3.4: 5", "[]:5", "[:5", "1.2.3.4:-5"})
    CHECK(ips(wrong).empty());
}

TEST_CASE("what a process says of its ranks is understood, and nothing that was cut or changed crashes") {
  RasRank rank = some_rank(3, 8, 17);
  rank.here = {{1, 11}, {3, 33}};
  rank.failure = Code::RemoteError;
  rank.failure_text = "it died";
  rank.finished = rank.on_gpu = true;
  rank.waits_for = 5;
  rank.messages = "recv(from 1, tag 7)";
  rank.hosts = 2;
  rank.device = 4;
  const RasProcess said = some_process(4711, {rank, some_rank(0, 1, 0)});
  const std::string bytes = ras_bytes(said);
  const auto again = read_ras_bytes(bytes);
  REQUIRE(again.has_value());
  CHECK(ras_bytes(*again) == bytes);
  CHECK(again->ranks.size() == 2);
  CHECK(again->ranks[0].messages == rank.messages);
  CHECK(again->ranks[0].here[1].pid == 33);
  for (size_t length = 0; length < bytes.size(); ++length)
    CHECK(!read_ras_bytes(std::string_view(bytes).substr(0, length)));
  XorShift random(test_seed(7), 0);
  size_t refused = 0;
  for (int trial = 0; trial < 20'000; ++trial) {
    std::string changed = bytes;
    changed[random.next() % changed.size()] = static_cast<char>(random.next() % 256);
    const auto read = read_ras_bytes(changed);
    refused += read ? 0 : 1;
    if (!read) continue;
    RasFindings found;
    found.processes.push_back(*read);
    CHECK(!ras_text(kOptions, found, {.verbose = true}).empty());
  }
  CHECK(refused > 0);
}

TEST_CASE("ranks that lag are named with the number of calls") {
  RasFindings found = job_of({120, 120, 117, 120, 119});
  const std::string text = ras_text(kOptions, found, {});
  CHECK(has(text, "  3 ranks have begun 120 calls, the latest: ranks 0, 1, 3\n"));
  CHECK(has(text, "  1 rank has begun 119 calls, 1 call behind: rank 4\n"));
  CHECK(has(text, "  1 rank has begun 117 calls, 3 calls behind: rank 2\n"));
  CHECK(has(text,
            "    Rank 2 -- no GPU, process 1002 on node secret-host: is done with all_reduce(count=7) for "
            "4.0 s\n"));
  // Ranks that have put the call on a stream are in no call, and it is late all the same.
  const std::string new_call = "The latest call began less than a second ago: ask again";
  CHECK(!has(text, new_call));
  for (RasProcess& process : found.processes) process.ranks[0].begun_ms = 999;
  CHECK(has(ras_text(kOptions, found, {}), new_call));
}

TEST_CASE("different calls with one number are told, but not a call that is just being recorded") {
  RasFindings found = job_of({7, 7, 7});
  CHECK(!has(ras_text(kOptions, found, {}), "MISMATCH"));
  RasRank& rank = found.processes[1].ranks[0];
  rank.call = "broadcast(count=7)";
  rank.call_key = 1;
  const std::string text = ras_text(kOptions, found, {});
  CHECK(has(text, "  Communicator ranks have made different calls as call 7\n"));
  CHECK(has(text, "  ranks 0, 2: all_reduce(count=7)\n"));
  CHECK(has(text, "  rank 1: broadcast(count=7)\n"));
  rank.call.clear();
  CHECK(!has(ras_text(kOptions, found, {}), "MISMATCH"));
  CHECK(activity_text(rank) == "begins call 7");
  rank.inside = true;
  CHECK(activity_text(rank) == "begins call 7");
}

TEST_CASE("of many ranks that lag ten have a line, or all if that is requested") {
  std::vector<uint32_t> calls(40, 9);
  std::fill(calls.begin(), calls.begin() + 20, 5);
  const RasFindings found = job_of(calls);
  const std::string text = ras_text(kOptions, found, {});
  CHECK(has(text, "  20 ranks have begun 5 calls, 4 calls behind: ranks 0 to 19\n"));
  CHECK(has(text, "    Rank 9 -- "));
  CHECK(!has(text, "Rank 10 -- "));
  CHECK(has(text, "    and 10 more, which VERBOSE STATUS has\n"));
  CHECK(has(ras_text(kOptions, found, {.verbose = true}), "    Rank 19 -- "));
}

TEST_CASE("ranks on other nodes, that have left, and that do not answer") {
  RasFindings found = job_of({5, 5, 5, 5});
  for (RasProcess& process : found.processes) {
    process.ranks[0].size = 6;
    process.ranks[0].hosts = 2;
  }
  CHECK(has(ras_text(kOptions, found, {}), "1 communicator has ranks on other nodes: ask there too."));
  found.processes[1].ranks[0].communicator = 2;  // of another communicator of the session
  found.processes[1].ranks[0].here.clear();
  found.processes.erase(found.processes.begin() + 2);
  found.silent.push_back({1002, "is stopped"});
  found.processes.erase(found.processes.begin() + 2);
  const RasView view = ras_view(found);
  REQUIRE(view.groups.size() == 2);
  const RasComm& comm = view.groups[0].first();
  CHECK(comm.members.size() == 1);
  REQUIRE(comm.absent.size() == 3);
  CHECK(comm.absent[0].has_answered);
  CHECK(comm.absent[0].why == "has left the communicator");
  CHECK(comm.absent[1].why == "is stopped");
  CHECK(has(comm.absent[2].why, "has ended"));
  CHECK(comm.elsewhere() == 2);
  CHECK(comm.trouble_names() == "INCOMPLETE,MISMATCH");
  CHECK(comm.state_name() == std::string("RUNNING"));
}

TEST_CASE("communicators are grouped, and processes that share one are a job") {
  RasFindings found;
  for (int pid = 1; pid <= 4; ++pid) {
    std::vector<RasRank> ranks;
    for (uint64_t communicator = 1; communicator <= 3; ++communicator)
      ranks.push_back(some_rank(pid - 1, 4, 7, communicator));
    ranks.push_back(some_rank((pid - 1) % 2, 2, 7, 9));
    ranks.back().session = 100 + static_cast<uint64_t>(pid - 1) / 2;  // two more sessions
    found.processes.push_back(some_process(pid, ranks));
  }
  found.processes.push_back(some_process(5, {some_rank(0, 1, 0, 77)}));
  found.processes.back().ranks[0].session = 0x77;
  const RasView view = ras_view(found);
  CHECK(view.jobs == 2);
  CHECK(view.processes == 5);
  CHECK(view.ranks == 5);
  REQUIRE(view.groups.size() == 3);
  CHECK(view.groups[0].comms.size() == 3);
  CHECK(view.groups[1].comms.size() == 2);
  CHECK(view.groups[1].members() == 4);
  CHECK(has(ras_text(kOptions, found, {}), "These processes are of 2 jobs."));
}

TEST_CASE("the summary has no names, processes, calls and errors") {
  RasFindings found = job_of({120, 119});
  found.processes[0].ranks[0].failure = Code::RemoteError;
  found.processes[0].ranks[0].failure_text = "secret-failure";
  found.silent.push_back({31'337, "secret-reason"});
  const auto answers = [&](const RasDetail& detail) {
    return ras_text(kOptions, found, detail) + ras_json(kOptions, found, detail);
  };
  const std::string all = answers({.verbose = true});
  const std::string summary = answers({.verbose = true, .summary_only = true});
  for (const char* secret : {"secret-name", "secret-host", "secret-failure", "1001", "all_reduce", "abc"}) {
    CHECK(has(all, secret));
    CHECK(!has(summary, secret));
  }
  CHECK(!has(summary, "secret-reason"));
  CHECK(has(summary, "RUNNING  ERROR,MISMATCH"));
}

TEST_CASE("names that others chose do not reach terminals as they are") {
  RasFindings found = job_of({3, 2});
  for (RasProcess& process : found.processes) process.ranks[0].name = "a\x1b[31m\nb";
  const std::string text = ras_text(kOptions, found, {.verbose = true});
  CHECK(has(text, "'a\\u001b[31m\\u000ab'"));
  CHECK(!has(text, "\x1b"));
}

TEST_CASE("without a library that wants it, a process has no RAS service") {
  CHECK(!wanted_ras());
  const auto event_loop = std::move(EventLoop::start().value());
  CHECK(RasService::start(*event_loop) == nullptr);
}

namespace {

/// Both ends of a TCP connection on this host.
std::pair<Fd, Fd> tcp_pair(int family) {
  IpAddress ip = kLoopback;
  if (family == AF_INET6) ip = parse_ras_address("[::1]:1")->ips[0];
  Address at = Address::tcp(ip, 0);
  const Fd listener(::socket(family, SOCK_STREAM, 0));
  Fd dialler(::socket(family, SOCK_STREAM, 0));
  auto* raw = reinterpret_cast<sockaddr*>(&at.storage);
  const bool listens = ::bind(listener.get(), raw, at.length) == 0 && ::listen(listener.get(), 1) == 0 &&
                       ::getsockname(listener.get(), raw, &at.length) == 0;
  if (!listens || ::connect(dialler.get(), raw, at.length) != 0) return {};
  return {std::move(dialler), Fd(::accept(listener.get(), nullptr, nullptr))};
}

Address name(const Fd& fd, int (*of)(int, sockaddr*, socklen_t*)) {
  Address address;
  address.length = sizeof address.storage;
  of(fd.get(), reinterpret_cast<sockaddr*>(&address.storage), &address.length);
  return address;
}

std::string contents(const char* path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

TEST_CASE("the user at the other end of a TCP connection is told by the kernel") {
  for (const int family : {AF_INET, AF_INET6}) {
    const auto [dialler, accepted] = tcp_pair(family);
    if (!accepted.valid()) continue;  // there is no IPv6 here
    const auto user = tcp_peer_user(accepted.get());
    REQUIRE(user.ok());
    CHECK(user.value() == ::geteuid());
    const char* listing = family == AF_INET ? "/proc/net/tcp" : "/proc/net/tcp6";
    const Address peer = name(accepted, ::getpeername);
    const Address own = name(accepted, ::getsockname);
    const auto listed = user_in_listing(contents(listing), peer, own);
    REQUIRE(listed.ok());
    CHECK(listed.value() == ::geteuid());
    CHECK(!user_in_listing(contents(listing), peer, name(dialler, ::getsockname)).ok());
  }
  int ends[2];
  REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
  CHECK(!tcp_peer_user(ends[0]).ok());
  ::close(ends[0]);
  ::close(ends[1]);
}

TEST_CASE("a peer that has closed its end belongs to no user") {
  auto [dialler, accepted] = tcp_pair(AF_INET);
  REQUIRE(accepted.valid());
  dialler = Fd();
  CHECK(!tcp_peer_user(accepted.get()).ok());
}

TEST_CASE("listings of sockets in any shape are read to their ends, and no further") {
  const auto [dialler, accepted] = tcp_pair(AF_INET);
  REQUIRE(accepted.valid());
  const Address peer = name(accepted, ::getpeername);
  const Address own = name(accepted, ::getsockname);
  const std::string listing = contents("/proc/net/tcp");
  const auto port = [](const Address& address) {
    return ntohs(reinterpret_cast<const sockaddr_in&>(address.storage).sin_port);
  };
  const size_t at = listing.find(fmt::format("0100007F:{:04X} 0100007F:{:04X} ", port(peer), port(own)));
  REQUIRE(at != listing.npos);
  const std::string line = listing.substr(at - 1, listing.find('\n', at) - at + 1);
  REQUIRE(user_in_listing(line, peer, own).ok());
  const size_t inode_end = line.size() - std::string(" 2 0000000000000000").size();
  size_t understood = 0;
  for (size_t length = 0; length < inode_end; ++length)
    understood += user_in_listing(line.substr(0, length), peer, own).ok() ? 1 : 0;
  CHECK(understood < line.size() / 2);  // only those that have an inode
}

}  // namespace rondo::test
