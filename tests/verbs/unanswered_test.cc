// SPDX-License-Identifier: Apache-2.0
// Peers that do not answer, or have no receive: when the sender gives up; and what no longer lands.
#include <algorithm>

#include "catch.h"
#include "clock.h"
#include "ends.h"
#include "rxe.h"

namespace rondo::verbs_test {
namespace {

TEST_CASE("without a receive the sender tries rnr_retry times, and 7 means for ever") {
  for (const uint8_t retry : {uint8_t{0}, uint8_t{2}})
    CHECK(in_process({}, [&] {
            Options options;
            options.rnr_retry = retry;
            options.rnr_timer = 14;  // of the receiver
            End from(options), to(options);
            connect(from, to);
            const double begin = test::seconds_now();
            from.post(from.request(IBV_WR_RDMA_WRITE_WITH_IMM, to.address(), 0, 8));
            next_is(from.send_cq, IBV_WC_RNR_RETRY_EXC_ERR);
            require(test::seconds_now() - begin >= retry * 1.28e-3, "it waits for the receiver's timer");
          }) == "");
  CHECK(in_process({}, [] {
          End from, to;
          connect(from, to);
          from.post(from.request(IBV_WR_RDMA_WRITE_WITH_IMM, to.address(), 0, 8));
          require(stays_empty(from.send_cq, 300), "it goes on");
          to.receive();
          next_is(to.receive_cq, IBV_WC_SUCCESS);
          next_is(from.send_cq, IBV_WC_SUCCESS);
        }) == "");
}

TEST_CASE("a peer that does not answer is given up after (retry + 1) time-outs") {
  struct Case {
    uint8_t timeout, retry;
  };
  for (const Case one : {Case{14, 1}, Case{12, 3}, Case{16, 0}})
    CHECK(in_process({}, [&] {
            Options options;
            options.timeout = one.timeout;
            options.retry = one.retry;
            End from(options), to;
            connect(from, to);
            to.to_error();
            const double begin = test::seconds_now();
            from.post(from.request(IBV_WR_RDMA_WRITE, to.address(), 0, 8));
            next_is(from.send_cq, IBV_WC_RETRY_EXC_ERR);
            const double took = test::seconds_now() - begin;
            const double due = (one.retry + 1) * 4.096e-6 * (1 << one.timeout);
            const double early = (one.retry + 1) * 2 * departures().tick_s;
            require(took >= 0.99 * due - early,
                    "not before " + std::to_string(due) + " s: " + std::to_string(took));
            require(took < 4 * due + 1, "soon after " + std::to_string(due) + " s: " + std::to_string(took));
          }) == "");
}

TEST_CASE("seven retries are eight tries") {
  CHECK(in_process({}, [] {
          Options options;
          options.timeout = 10;
          options.retry = 7;
          End from(options), to;
          connect(from, to);
          to.to_error();
          from.post(from.request(IBV_WR_RDMA_WRITE, to.address(), 0, 8));
          if (departures().takes_7_for_endless)
            require(stays_empty(from.send_cq, 500), "tried endlessly");
          else
            next_is(from.send_cq, IBV_WC_RETRY_EXC_ERR);
        }) == "");
}

TEST_CASE("packet numbers that differ connect and carry nothing") {
  CHECK(in_process({}, [] {
          Options options;
          options.timeout = 10;
          End from(options), to;
          Address wrong = from.address();
          wrong.psn ^= 1;
          from.connect(to.address());
          to.connect(wrong);
          from.post(from.request(IBV_WR_RDMA_WRITE, to.address(), 0, 8));
          next_is(from.send_cq, IBV_WC_RETRY_EXC_ERR);
        }) == "");
}

TEST_CASE("path MTUs that differ fail with the first long message") {
  CHECK(in_process({}, [] {
          Options small;
          small.mtu = IBV_MTU_512;
          End from, to(small);
          connect(from, to);
          from.post(from.request(IBV_WR_RDMA_WRITE, to.address(), 0, 512));
          next_is(from.send_cq, IBV_WC_SUCCESS);
          from.post(from.request(IBV_WR_RDMA_WRITE, to.address(), 0, 1024));
          next_is(from.send_cq, IBV_WC_REM_INV_REQ_ERR);
          require(to.state() == IBV_QPS_ERR, "the receiver is in ERR");
        }) == "");
}

TEST_CASE("no byte lands after the receiver has left RTS") {
  for (const char* const seed : {"0", "3", "4", "5", "6"})
    CHECK(in_process({{"_SEED", seed}}, [] {
            Options options;
            options.timeout = 12;
            options.retry = 0;
            End from(options), to;
            connect(from, to);
            std::ranges::fill(from.memory, 1);
            to.receive();
            for (int i = 0; i < 15; ++i) from.post(from.request(IBV_WR_RDMA_WRITE, to.address(), 0, 1 << 20));
            const volatile unsigned char* const bytes = to.memory.data();
            while (bytes[0] == 0) {  // until the writes have begun
            }
            to.to_error();
            std::ranges::fill(to.memory, 9);
            from.post(from.request(IBV_WR_RDMA_WRITE, to.address(), 0, 1 << 20));  // if all others were done
            next_is(to.receive_cq, IBV_WC_WR_FLUSH_ERR);
            ibv_wc wc{};
            do wc = next(from.send_cq);
            while (wc.status == IBV_WC_SUCCESS);
            require(std::ranges::count(to.memory, 9) == static_cast<long>(to.memory.size()),
                    "it is untouched");
            require(wc.status == IBV_WC_RETRY_EXC_ERR, "the sender hears nothing");
          }) == "");
}

}  // namespace
}  // namespace rondo::verbs_test
