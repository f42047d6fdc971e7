// SPDX-License-Identifier: Apache-2.0
// Strangers that connect, stay silent and connect again: a job can still make connections.
#include <fcntl.h>
#include <sys/resource.h>

#include <algorithm>

#include "catch.h"
#include "siege.h"
#include "start.h"
#include "world.h"

namespace rondo::test {
namespace {

constexpr int kSilent = 5000;

void split_often(Rank& rank, int times) {
  for (int i = 0; i < times; ++i) {
    rondo_comm_t part = nullptr;
    check(rondo_split(rank.comm, 0, rank.size - rank.rank, &part, nullptr), rank.comm);
    int sum = 1;
    check(rondo_all_reduce(&sum, &sum, 1, RONDO_INT32, RONDO_SUM, part, nullptr), part);
    require(sum == rank.size, "wrong sum");
    check(rondo_destroy(part));
  }
}

void allow_descriptors(rlim_t most) {
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = std::min(most, limit.rlim_max);
  require(::setrlimit(RLIMIT_NOFILE, &limit) == 0, "setrlimit");
}

Fd connect_from(in_addr_t source, uint16_t port) {
  Fd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in own{.sin_family = AF_INET, .sin_port = 0, .sin_addr = {htonl(source)}, .sin_zero = {}};
  sockaddr_in peer{
      .sin_family = AF_INET, .sin_port = htons(port), .sin_addr = {htonl(INADDR_LOOPBACK)}, .sin_zero = {}};
  REQUIRE(::bind(fd.get(), reinterpret_cast<const sockaddr*>(&own), sizeof own) == 0);
  REQUIRE(::connect(fd.get(), reinterpret_cast<const sockaddr*>(&peer), sizeof peer) == 0);
  ::fcntl(fd.get(), F_SETFL, O_NONBLOCK);
  return fd;
}

}  // namespace

TEST_CASE("ranks split 100 times while silent strangers besiege all of them") {
  const std::pair<const char*, rlim_t> worlds[] = {{"", 65536}, {"tcp", 1024}};  // transport, descriptors
  for (const auto& [transport, descriptors] : worlds) {
    INFO("transport '" << transport << "', descriptors " << descriptors);
    const Siege siege(kSilent);
    expect_success(run_world({.nranks = 3, .transport = transport, .timeout_s = 180}, [&](Rank& rank) {
      allow_descriptors(descriptors);
      siege.begin(Start().id.tcp_port);
      check(rondo_barrier(rank.comm, nullptr), rank.comm);
      split_often(rank, 50);
    }));
  }
}

TEST_CASE("strangers at one address do not push out a connection from another") {
  const Start start;
  const auto patient = connect_from(INADDR_LOOPBACK, start.id.tcp_port);
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  std::vector<Fd> strangers(std::min<rlim_t>(1024, limit.rlim_cur / 8) + 1);
  for (Fd& one : strangers) one = connect_from(INADDR_LOOPBACK + 1, start.id.tcp_port);
  std::byte more{};
  const Status first = receive_all(strangers.front(), {&more, 1}, Deadline::in_ms(4000), {});
  CHECK(first.code() == Code::RemoteError);  // the longest silent of them was dropped
  const Status last = receive_all(strangers.back(), {&more, 1}, Deadline::in_ms(0), {});
  CHECK(last.code() == Code::Timeout);
  const uint32_t hello[8] = {0x4f444e52};  // of another protocol version
  REQUIRE(send_all(patient, std::as_bytes(std::span(hello)), Deadline::in_ms(1000), {}).ok());
  CHECK(receive_all(patient, {&more, 1}, Deadline::in_ms(5000), {}).ok());
}

}  // namespace rondo::test
