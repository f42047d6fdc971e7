// SPDX-License-Identifier: Apache-2.0
// Queue pairs of several processes, and processes that end, stop or fork.
#include <sched.h>
#include <signal.h>
#include <unistd.h>
#include <algorithm>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "catch.h"
#include "clock.h"
#include "ends.h"
#include "folder.h"
#include "rxe.h"

namespace rondo::verbs_test {
namespace {

using test::Process;
using test::Shared;
using test::sleep_ms;

struct Meeting {
  Address addresses[2];
  std::atomic<int> arrived[8];  // at each step

  void wait(int step, int count = 2) {
    ++arrived[step];
    for (const double until = test::seconds_now() + 20; arrived[step] < count; sleep_ms(1))
      require(test::seconds_now() < until, "the peer does not arrive");
  }
};

/// Two processes with an end each, connected.
class Two {
 public:
  using Body = std::function<void(End& end, const Address& peer, Meeting& meeting)>;

  /// Each process is a host of its own, in a subnet of its own.
  Two(const Options& options, const std::string& seed, const Body& first, const Body& second,
      const std::string& devices = "roce")
      : devices_(devices), first_(run(options, seed, 0, first)), second_(run(options, seed, 1, second)) {}

  Meeting& meeting() { return *meeting_; }
  Process& first() { return *first_; }
  Process& second() { return *second_; }
  void wait_until_connected() const { wait_for(1, 2); }
  /// Until `count` processes have arrived at the step; at most 20 s, since they may have failed.
  void wait_for(int step, int count) const {
    for (const double until = test::seconds_now() + 20; meeting_->arrived[step] < count; sleep_ms(1))
      if (test::seconds_now() > until) return;
  }

 private:
  std::unique_ptr<Process> run(const Options& options, const std::string& seed, int me, const Body& body) {
    return std::make_unique<Process>([&, me] {
      ::setenv("RONDO_STANDIN_VERBS", folder_.path().c_str(), 1);
      ::setenv("RONDO_STANDIN_VERBS_HOST", std::to_string(me).c_str(), 1);
      ::setenv("RONDO_STANDIN_VERBS_SUBNET", std::to_string(me).c_str(), 1);
      ::setenv("RONDO_STANDIN_VERBS_DEVICES", devices_.c_str(), 1);
      ::setenv("RONDO_STANDIN_VERBS_SEED", seed.c_str(), 1);
      End end(options);
      meeting_->addresses[me] = end.address();
      meeting_->wait(0);
      const Address peer = meeting_->addresses[1 - me];
      end.connect(peer);
      meeting_->wait(1);
      body(end, peer, *meeting_);
    });
  }

  test::Folder folder_;
  std::string devices_;
  Shared<Meeting> meeting_;
  std::unique_ptr<Process> first_, second_;
};

void sleep_for_ever(End&, const Address&, Meeting&) {
  while (true) ::pause();
}

/// Sends and receives at once, each message with its own bytes.
void exchange(End& end, const Address& peer, Meeting& meeting) {
  const uint64_t messages = is_standin() ? 500 : 100;
  constexpr uint64_t kDepth = 16;
  constexpr uint32_t kBytes = 1000;
  constexpr size_t kHalf = 1 << 19;  // what comes; what goes
  std::memset(end.memory.data() + kHalf, 0x5A, kHalf);
  for (uint64_t i = 0; i < kDepth; ++i) end.receive(i);
  meeting.wait(2);
  uint64_t posted = 0, sent = 0, received = 0;
  for (; received < messages || sent < messages; ::sched_yield()) {
    for (; posted < messages && posted < sent + kDepth && posted < received + kDepth / 2; ++posted) {
      ibv_send_wr wr = end.request(IBV_WR_RDMA_WRITE_WITH_IMM, peer, kHalf + posted * kBytes, kBytes, posted);
      wr.wr.rdma.remote_addr = peer.addr + posted * kBytes;
      end.post(wr);
    }
    for (ibv_wc wc{}; ibv_poll_cq(end.send_cq, 1, &wc) == 1; ++sent)
      require(wc.status == IBV_WC_SUCCESS, "a send");
    for (ibv_wc wc{}; ibv_poll_cq(end.receive_cq, 1, &wc) == 1; ++received) {
      require(wc.status == IBV_WC_SUCCESS && wc.imm_data == received, "a receive");
      for (size_t i = 0; i < kBytes; ++i)
        require(end.memory[received * kBytes + i] == 0x5A,
                [&] { return "a byte of message " + std::to_string(received); });
      end.receive();
    }
  }
  meeting.wait(3);
}

TEST_CASE("two processes exchange messages") {
  for (const char* const seed : seeds({"0", "1", "2"})) {
    Two two({}, seed, exchange, exchange);
    CHECK(two.first().wait().failure() == "");
    CHECK(two.second().wait().failure() == "");
  }
}

Options short_time() {
  Options options;
  options.timeout = 14;
  options.retry = 1;
  return options;
}

TEST_CASE("LIDs reach their own subnet, global addresses reach others") {
  if (!is_standin()) return;
  for (const int gid : {-1, 0}) {
    Options options = short_time();
    options.gid = gid;
    const Two::Body write = [&](End& end, const Address& peer, Meeting& meeting) {
      end.post(end.request(IBV_WR_RDMA_WRITE, peer, 0, 8));
      next_is(end.send_cq, gid < 0 ? IBV_WC_RETRY_EXC_ERR : IBV_WC_SUCCESS);
      meeting.wait(2);
    };
    Two two(options, "0", write, write, "ib");
    CHECK(two.first().wait().failure() == "");
    CHECK(two.second().wait().failure() == "");
  }
}

TEST_CASE("a peer that is killed does not answer, which is silent while nothing is sent") {
  Two two(
      short_time(), "0",
      [](End& end, const Address& peer, Meeting& meeting) {
        end.receive();
        meeting.wait(2, 2);  // the peer is dead
        require(stays_empty(end.receive_cq, 300), "RC is silent");
        const double begin = test::seconds_now();
        end.post(end.request(IBV_WR_RDMA_WRITE, peer, 0, 8));
        next_is(end.send_cq, IBV_WC_RETRY_EXC_ERR);
        require(test::seconds_now() - begin > 0.13, "after both time-outs");
        next_is(end.receive_cq, IBV_WC_WR_FLUSH_ERR);
      },
      sleep_for_ever);
  two.wait_until_connected();
  ::kill(two.second().pid(), SIGKILL);
  two.second().wait();
  ++two.meeting().arrived[2];
  CHECK(two.first().wait().failure() == "");
}

TEST_CASE("a peer that is killed in the middle of writes ends them") {
  Two two(
      short_time(), "1",
      [](End& end, const Address& peer, Meeting& meeting) {
        meeting.arrived[2] = 1;
        ibv_wc wc{};
        do {
          end.post(end.request(IBV_WR_RDMA_WRITE, peer, 0, 1 << 20));
          wc = next(end.send_cq);
        } while (wc.status == IBV_WC_SUCCESS);
        const auto& due = departures().killed_peer;
        require(std::find(due.begin(), due.end(), wc.status) != due.end(),
                std::string("the retries are exhausted, not ") + ibv_wc_status_str(wc.status));
      },
      sleep_for_ever);
  two.wait_for(2, 1);
  sleep_ms(20);
  ::kill(two.second().pid(), SIGKILL);
  CHECK(two.first().wait().failure() == "");
}

TEST_CASE("the device of a stopped process goes on until its receives are used up") {
  Options options = short_time();
  options.rnr_retry = 1;
  Two two(
      options, "0",
      [](End& end, const Address& peer, Meeting& meeting) {
        meeting.wait(2, 3);  // the peer has a receive, and is stopped
        end.post(end.request(IBV_WR_RDMA_WRITE, peer, 0, 1 << 20));
        next_is(end.send_cq, IBV_WC_SUCCESS);
        end.post(end.request(IBV_WR_RDMA_WRITE_WITH_IMM, peer, 0, 8));
        next_is(end.send_cq, IBV_WC_SUCCESS);
        end.post(end.request(IBV_WR_RDMA_WRITE_WITH_IMM, peer, 0, 8));
        next_is(end.send_cq, IBV_WC_RNR_RETRY_EXC_ERR);
      },
      [](End& end, const Address&, Meeting& meeting) {
        end.receive();
        meeting.wait(2, 1);
        while (true) ::pause();
      });
  two.wait_until_connected();
  two.wait_for(2, 1);
  sleep_ms(50);
  ::kill(two.second().pid(), SIGSTOP);
  sleep_ms(50);
  two.meeting().arrived[2] += 3;
  CHECK(two.first().wait().failure() == "");
  ::kill(two.second().pid(), SIGKILL);
}

TEST_CASE("while a forked child of a killed process lives, its device acknowledges") {
  const Shared<std::atomic<pid_t>> child;
  Two two(
      short_time(), "0",
      [&](End& end, const Address& peer, Meeting& meeting) {
        meeting.wait(2, 2);  // the parent is dead
        end.post(end.request(IBV_WR_RDMA_WRITE, peer, 0, 100'000));
        next_is(end.send_cq, IBV_WC_SUCCESS);
        ::kill(*child, SIGKILL);
        ibv_wc wc{};
        do {  // until its end has closed its devices
          sleep_ms(10);
          end.post(end.request(IBV_WR_RDMA_WRITE, peer, 0, 8));
          wc = next(end.send_cq);
        } while (wc.status == IBV_WC_SUCCESS);
        require(wc.status == IBV_WC_RETRY_EXC_ERR, ibv_wc_status_str(wc.status));
      },
      [&](End&, const Address&, Meeting& meeting) {
        const pid_t forked = ::fork();
        if (forked == 0)
          while (true) ::pause();
        *child = forked;
        ++meeting.arrived[3];
        while (true) ::pause();
      });
  two.wait_until_connected();
  two.wait_for(3, 1);
  ::kill(two.second().pid(), SIGKILL);
  two.second().wait();
  ++two.meeting().arrived[2];
  CHECK(two.first().wait().failure() == "");
  if (*child != 0) ::kill(*child, SIGKILL);
}

}  // namespace
}  // namespace rondo::verbs_test
