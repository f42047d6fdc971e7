// SPDX-License-Identifier: Apache-2.0
// Completion channels: a sleeping thread is woken, once for each time that it arms the queue.
#include <fcntl.h>
#include <sched.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <thread>

#include "catch.h"
#include "clock.h"
#include "ends.h"

namespace rondo::verbs_test {
namespace {

void write_with_immediate(End& from, End& to, unsigned flags = 0) {
  to.receive();
  ibv_send_wr wr = from.request(IBV_WR_RDMA_WRITE_WITH_IMM, to.address(), 0, 8);
  wr.send_flags |= flags;
  from.post(wr);
  next_is(from.send_cq, IBV_WC_SUCCESS);
}

void take_event(End& end) {
  ibv_cq* queue = nullptr;
  void* context = nullptr;
  succeed(ibv_get_cq_event(end.channel, &queue, &context), "ibv_get_cq_event");
  require(queue == end.receive_cq && context == &end, "the queue and its context");
  ibv_ack_cq_events(queue, 1);
}

TEST_CASE("an armed queue sends one event, an unarmed one none") {
  for (const char* const seed : {"0", "1"})
    CHECK(in_process({{"_SEED", seed}}, [] {
            End from, to;
            connect(from, to);
            write_with_immediate(from, to);
            next_is(to.receive_cq, IBV_WC_SUCCESS);
            require(!is_readable(to.channel->fd, 50), "it is not armed");
            succeed(ibv_req_notify_cq(to.receive_cq, 0), "ibv_req_notify_cq");
            write_with_immediate(from, to);
            require(is_readable(to.channel->fd, 10'000), "it was armed");
            take_event(to);
            write_with_immediate(from, to);
            require(!is_readable(to.channel->fd, 50), "it was armed for one event");
            next_is(to.receive_cq, IBV_WC_SUCCESS);
            next_is(to.receive_cq, IBV_WC_SUCCESS);
          }) == "");
}

TEST_CASE("completions that are there when a queue is armed send no event") {
  CHECK(in_process({}, [] {
          End from, to;
          connect(from, to);
          write_with_immediate(from, to);
          test::sleep_ms(20);
          succeed(ibv_req_notify_cq(to.receive_cq, 0), "ibv_req_notify_cq");
          require(!is_readable(to.channel->fd, 50), "arm, then poll again, then sleep");
          next_is(to.receive_cq, IBV_WC_SUCCESS);
        }) == "");
}

TEST_CASE("a queue armed for solicited completions ignores others") {
  CHECK(in_process({}, [] {
          End from, to;
          connect(from, to);
          succeed(ibv_req_notify_cq(to.receive_cq, 1), "ibv_req_notify_cq");
          write_with_immediate(from, to);
          require(!is_readable(to.channel->fd, 50), "not solicited");
          write_with_immediate(from, to, IBV_SEND_SOLICITED);
          require(is_readable(to.channel->fd, 10'000), "solicited");
          take_event(to);
        }) == "");
}

TEST_CASE("a channel may be read without blocking, and forgets queues that are destroyed") {
  CHECK(in_process({}, [] {
          End from, to;
          connect(from, to);
          ::fcntl(to.channel->fd, F_SETFL, ::fcntl(to.channel->fd, F_GETFL) | O_NONBLOCK);
          ibv_cq* queue = nullptr;
          void* context = nullptr;
          require(ibv_get_cq_event(to.channel, &queue, &context) != 0 && errno == EAGAIN, "nothing yet");
          succeed(ibv_req_notify_cq(to.receive_cq, 0), "ibv_req_notify_cq");
          write_with_immediate(from, to);
          require(is_readable(to.channel->fd, 10'000), "an event");
          succeed(ibv_destroy_qp(to.pair), "ibv_destroy_qp");
          succeed(ibv_destroy_cq(to.receive_cq), "ibv_destroy_cq");
          to.pair = nullptr;
          to.receive_cq = nullptr;
          require(!is_readable(to.channel->fd, 20), "the event has gone with its queue");
        }) == "");
}

/// Sleeps until `count` completions have come, as a waiting thread does: arm, poll again, sleep.
void sleep_and_take(End& end, int count) {
  while (count > 0) {
    ibv_wc wc{};
    succeed(ibv_req_notify_cq(end.receive_cq, 0), "ibv_req_notify_cq");
    bool any = false;
    for (; ibv_poll_cq(end.receive_cq, 1, &wc) == 1; any = true, --count) {
      require(wc.status == IBV_WC_SUCCESS, "a completion");
      end.receive();
    }
    if (any) continue;
    require(is_readable(end.channel->fd, 10'000), "a wake-up is never lost");
    take_event(end);
  }
}

TEST_CASE("threads that arm, poll and sleep lose no wake-up") {
  for (const char* const seed : {"0", "1", "2"})
    CHECK(in_process({{"_SEED", seed}}, [] {
            constexpr int kMessages = 1000, kDepth = 8;
            Options options;
            options.receive_requests = 64;
            End left(options), right(options);
            connect(left, right);
            for (int i = 0; i < 2 * kDepth; ++i) right.receive();
            std::string failure;
            std::thread sleeper([&] {
              try {
                sleep_and_take(right, kMessages);
              } catch (const std::exception& error) {
                failure = error.what();
              }
            });
            for (int i = 0, open = 0; i < kMessages; ++i) {
              if (++open > kDepth) {
                next_is(left.send_cq, IBV_WC_SUCCESS);
                --open;
              }
              left.post(left.request(IBV_WR_RDMA_WRITE_WITH_IMM, right.address(), 0, 8));
              if (i % 100 == 0) test::sleep_ms(1);
            }
            sleeper.join();
            require(failure.empty(), failure);
          }) == "");
}

TEST_CASE("a sleeping thread is woken soon") {
  CHECK(in_process({}, [] {
          End from, to;
          connect(from, to);
          std::vector<double> times_us;
          for (int round = 0; round < 100; ++round) {
            to.receive();
            succeed(ibv_req_notify_cq(to.receive_cq, 0), "ibv_req_notify_cq");
            test::sleep_us(300);
            const double begin = test::seconds_now();
            from.post(from.request(IBV_WR_RDMA_WRITE_WITH_IMM, to.address(), 0, 8));
            require(is_readable(to.channel->fd, 10'000), "an event");
            times_us.push_back(1e6 * (test::seconds_now() - begin));
            take_event(to);
            next_is(to.receive_cq, IBV_WC_SUCCESS);
            next_is(from.send_cq, IBV_WC_SUCCESS);
          }
          std::ranges::sort(times_us);
          std::fprintf(stderr, "a sleeping thread is woken after %.0f us (median)\n", times_us[50]);
          require(times_us[50] < 20'000, "the median is " + std::to_string(times_us[50]) + " us");
        }) == "");
}

}  // namespace
}  // namespace rondo::verbs_test
