// SPDX-License-Identifier: Apache-2.0
// A rank is stopped with SIGSTOP: what other ranks do without it goes on.
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <string>

#include "catch.h"
#include "clock.h"
#include "sanitized.h"
#include "started.h"
#include "worlds.h"

namespace rondo::test {
namespace {

/// The process of a rank that stops itself, as the others see it.
class StoppingRank {
 public:
  /// Stops the calling process until another one calls go_on().
  void stop() const {
    *pid_ = ::getpid();
    ::raise(SIGSTOP);
  }
  void await_stop() const {
    while (state() != 'T') sleep_ms(1);
  }
  void go_on() const { ::kill(*pid_, SIGCONT); }

 private:
  /// As in /proc/PID/stat.
  char state() const {
    std::ifstream stat("/proc/" + std::to_string(*pid_) + "/stat");
    std::string text;
    std::getline(stat, text);
    const size_t name_end = text.rfind(')');
    return name_end == std::string::npos ? '?' : text[name_end + 2];
  }
  Shared<std::atomic<pid_t>> pid_;
};

/// Lets the rank go on at the end of its scope.
class Stopped {
 public:
  explicit Stopped(const StoppingRank& rank) : rank_(rank) { rank_.await_stop(); }
  ~Stopped() { rank_.go_on(); }
  Stopped(const Stopped&) = delete;
  Stopped& operator=(const Stopped&) = delete;

 private:
  const StoppingRank& rank_;
};

void isend(const Rank& rank, const int& value, int peer, Started& started) {
  check(rondo_isend(&value, 1, RONDO_INT32, peer, 0, rank.comm, started.out()), rank.comm);
}
void irecv(const Rank& rank, int& value, int peer, Started& started) {
  check(rondo_irecv(&value, 1, RONDO_INT32, peer, 0, rank.comm, nullptr, started.out()), rank.comm);
}
void send(const Rank& rank, const int& value, int peer) {
  check(rondo_send(&value, 1, RONDO_INT32, peer, 0, rank.comm, nullptr), rank.comm);
}
int receive(const Rank& rank, int peer) {
  int value = -1;
  check(rondo_recv(&value, 1, RONDO_INT32, peer, 0, rank.comm, nullptr, nullptr), rank.comm);
  return value;
}

/// Less than a rank that asks a stopped one waits for its answer.
constexpr double kAtOnce_s = kSanitized ? 1.0 : 0.3;

/// How long one round of messages with the peer takes.
double round_s(const Rank& rank, int peer, int value) {
  const double start_s = seconds_now();
  Started sent;
  Started received;
  int got = -1;
  irecv(rank, got, peer, received);
  isend(rank, value, peer, sent);
  sent.wait();
  received.wait();
  require(got == value, "wrong content");
  return seconds_now() - start_s;
}

constexpr int kRounds = 150;
constexpr int kMaxSlow = 2;  // other load on the machine delays ranks as well
constexpr int kPause_ms = 20;

void answer_rounds(const Rank& rank, int peer) {
  for (int round = 0; round < kRounds; ++round) send(rank, receive(rank, peer), peer);
}

TEST_CASE("messages with a stopped rank start at once, and other messages go on") {
  for (const char* transport : {"shm", "tcp"}) {
    INFO(transport);
    const StoppingRank stopping;
    expect_success(run_world({.nranks = 3, .transport = transport}, [&](Rank& rank) {
      if (rank.rank == 2) {
        stopping.stop();
        send(rank, receive(rank, 0), 0);
      }
      if (rank.rank == 1) answer_rounds(rank, 0);
      if (rank.rank != 0) return;
      Started sent;
      Started received;
      const int value = 7;
      int got = -1;
      {
        const Stopped stopped(stopping);
        const double start_s = seconds_now();
        isend(rank, value, 2, sent);
        irecv(rank, got, 2, received);
        const double started_s = seconds_now() - start_s;
        require(started_s < kAtOnce_s, "starting them took " + std::to_string(started_s) + " s");
        int slow = 0;
        for (int round = 0; round < kRounds; ++round, sleep_ms(kPause_ms))
          if (round_s(rank, 1, round) > kAtOnce_s) ++slow;
        require(slow <= kMaxSlow, std::to_string(slow) + " rounds took long");
        require(rondo_request_query(sent.get()) == RONDO_IN_PROGRESS, "a stopped rank has received");
      }
      received.wait();
      require(got == 7, "wrong content");
    }));
  }
}

/// The others' call fails meanwhile.
void stop_until_failure(const Rank& rank, const StoppingRank& stopping) {
  stopping.stop();
  check_fails(rondo_barrier(rank.comm, nullptr), RONDO_TIMEOUT, {"did not answer"}, rank.comm);
}

TEST_CASE("a send to a stopped rank without a connection fails at its deadline, and names that rank") {
  for (const char* transport : {"shm", "tcp"}) {
    INFO(transport);
    const StoppingRank stopping;
    expect_success(run_world({.nranks = 2, .transport = transport}, [&](Rank& rank) {
      if (rank.rank == 1) return stop_until_failure(rank, stopping);
      const Stopped stopped(stopping);
      check(rondo_set_timeout(rank.comm, 700), rank.comm);
      check_fails(rondo_send(&rank.size, 1, RONDO_INT32, 1, 5, rank.comm, nullptr), RONDO_TIMEOUT,
                  {"send(to 1, tag 5) did not complete within 0.7 s at rank 0", "rank 1 (", "did not answer"},
                  rank.comm);
    }));
  }
}

void barrier(const Owned& comm) { check(rondo_barrier(comm.get(), nullptr), comm.get()); }

TEST_CASE("a collective that cannot reach a stopped rank yet holds up no other communicator of its group") {
  struct WhereItStops {
    const char* transport;
    int stopped;  // the others dial it: for their common memory, or as it is the highest
  };
  for (const auto [transport, stopped] : {WhereItStops{"shm", 0}, WhereItStops{"tcp", 2}}) {
    INFO(transport);
    const StoppingRank stopping;
    expect_success(run_world({.nranks = 3, .transport = transport}, [&, stopped = stopped](Rank& rank) {
      Owned all;
      Owned others;
      check(rondo_duplicate(rank.comm, all.out()), rank.comm);
      const int color = rank.rank == stopped ? RONDO_NO_COLOR : 0;
      check(rondo_split(rank.comm, color, 0, others.out(), nullptr), rank.comm);
      if (rank.rank == stopped) {
        stopping.stop();
        return barrier(all);
      }
      if (rank.rank == 1) {
        stopping.await_stop();
        check(rondo_group_start());
        barrier(all);
        barrier(others);
        return check(rondo_group_end());
      }
      {
        const Stopped stop(stopping);
        const double start_s = seconds_now();
        barrier(others);
        require(seconds_now() - start_s < kAtOnce_s, "the other communicator's call took long");
      }
      barrier(all);
    }));
  }
}

TEST_CASE(
    "a request can be asked and waited for briefly while a stopped rank hides why its connection broke") {
  const StoppingRank stopping;
  expect_success(run_world({.nranks = 3, .transport = "tcp"}, [&](Rank& rank) {
    if (rank.rank == 2) send(rank, 7, 1);
    if (rank.rank == 1) require(receive(rank, 2) == 7, "wrong content");
    check(rondo_barrier(rank.comm, nullptr), rank.comm);
    if (rank.rank == 0) stopping.stop();
    if (rank.rank == 2) {
      stopping.await_stop();
      return check(rondo_leave(std::exchange(rank.comm, nullptr)));
    }
    if (rank.rank == 1) {
      Started broken;
      int never = 0;
      irecv(rank, never, 2, broken);
      {
        const Stopped stopped(stopping);
        const double start_s = seconds_now();
        for (double before_s = start_s; before_s < start_s + 1.2;) {  // rank 2 leaves after 0.5 s
          require(rondo_request_query(broken.get()) == RONDO_IN_PROGRESS, "it is over");
          require(rondo_request_wait(broken.get(), 20) == RONDO_IN_PROGRESS, "it is over");
          const double took_s = seconds_now() - std::exchange(before_s, seconds_now());
          require(took_s < 2 * kAtOnce_s, "they took " + std::to_string(took_s) + " s");
        }
      }
      check_fails(rondo_request_wait(broken.get(), 0), RONDO_REMOTE_ERROR, {"rank 2 "});
    }
    check_fails(rondo_barrier(rank.comm, nullptr), RONDO_REMOTE_ERROR, {"rank 2 "}, rank.comm);
  }));
}

TEST_CASE("a rank that is in rondo_leave() is said to have called that") {
  const StoppingRank stopping;
  expect_success(run_world({.nranks = 3, .transport = "shm"}, [&](Rank& rank) {
    check(rondo_barrier(rank.comm, nullptr), rank.comm);
    if (rank.rank == 2) {
      stopping.await_stop();
      sleep_ms(700);  // it takes 500 ms to leave, as rank 0 does not answer; rank 1 asks after a second
      return check(rondo_leave(std::exchange(rank.comm, nullptr)));
    }
    if (rank.rank == 0) stopping.stop();
    const auto fail = [&] {
      check_fails(rondo_barrier(rank.comm, nullptr), RONDO_REMOTE_ERROR, {"rank 2 (", "rank 1 waits for it"},
                  rank.comm);
    };
    if (rank.rank == 0) return fail();
    const Stopped stopped(stopping);
    check(rondo_set_timeout(rank.comm, 1500));  // a shorter search for the cause
    fail();
  }));
}

TEST_CASE("ranks are not said to wait for one another if one of them would take a stopped rank's message") {
  const StoppingRank stopping;
  expect_success(run_world({.nranks = 3, .transport = "shm"}, [&](Rank& rank) {
    if (rank.rank == 2) return stop_until_failure(rank, stopping);
    int got = 0;
    if (rank.rank == 1) {
      check_fails(rondo_recv(&got, 1, RONDO_INT32, 0, 5, rank.comm, nullptr, nullptr), RONDO_TIMEOUT,
                  {"rank 0"}, rank.comm);
      return;
    }
    const Stopped stopped(stopping);
    check(rondo_set_timeout(rank.comm, 700), rank.comm);
    check_fails(rondo_recv(&got, 1, RONDO_INT32, RONDO_ANY_SOURCE, 5, rank.comm, nullptr, nullptr),
                RONDO_TIMEOUT, {"rank 1 waits in recv(from 0, tag 5)", "rank 2 (", "did not answer"},
                rank.comm);
    const std::string text = rondo_last_error(rank.comm);
    require(text.find("wait for one another") == std::string::npos, text);
  }));
}

}  // namespace
}  // namespace rondo::test
