// SPDX-License-Identifier: Apache-2.0
// Threads of a process that use one device, and one completion queue, at the same time.
#include <algorithm>
#include <atomic>
#include <thread>

#include "catch.h"
#include "ends.h"

namespace rondo::verbs_test {
namespace {

constexpr int kThreads = 4, kRounds = 50;

/// Runs the body in threads; throws what the first of them threw.
void in_threads(const std::function<void(int thread)>& body) {
  std::vector<std::string> failures(kThreads);
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i)
    threads.emplace_back([&, i] {
      try {
        body(i);
      } catch (const std::exception& failure) {
        failures[static_cast<size_t>(i)] = failure.what();
      }
    });
  for (std::thread& thread : threads) thread.join();
  for (const std::string& failure : failures) require(failure.empty(), failure);
}

TEST_CASE("threads register, ask and connect at the same time") {
  for (const char* const seed : {"0", "1"})
    CHECK(in_process({{"_SEED", seed}}, [] {
            End shared;
            in_threads([&](int thread) {
              Options options;
              options.bytes = 8192;
              for (int round = 0; round < kRounds / 10; ++round) {
                End from(options), to(options);
                connect(from, to);
                std::ranges::fill(from.memory, static_cast<unsigned char>(thread + 1));
                to.receive();
                from.post(from.request(IBV_WR_RDMA_WRITE_WITH_IMM, to.address(), 0, 8192));
                next_is(to.receive_cq, IBV_WC_SUCCESS);
                require(from.memory == to.memory, "the thread's own bytes");
                next_is(from.send_cq, IBV_WC_SUCCESS);
                int access = IBV_ACCESS_LOCAL_WRITE;
                ibv_mr* const region = ibv_reg_mr(shared.pd, from.memory.data(), 8192, access);
                require(region != nullptr, "a region of the shared domain");
                require(shared.state() == IBV_QPS_INIT, "the shared queue pair");
                succeed(ibv_dereg_mr(region), "ibv_dereg_mr");
              }
            });
          }) == "");
}

TEST_CASE("threads post to one queue pair and poll one completion queue, and nothing is lost") {
  for (const char* const seed : {"0", "1"})
    CHECK(in_process({{"_SEED", seed}}, [] {
            Options options;
            options.send_requests = kThreads * kRounds;
            options.completions = kThreads * kRounds;
            End from(options), to(options);
            connect(from, to);
            const Address peer = to.address();
            std::vector<std::atomic<int>> seen(kThreads * kRounds);
            std::atomic<int> total = 0;
            in_threads([&](int thread) {
              ibv_sge source{reinterpret_cast<uint64_t>(from.memory.data()), 8, from.region->lkey};
              for (int round = 0; round < kRounds; ++round) {
                ibv_send_wr wr{}, *bad = nullptr;
                wr.wr_id = static_cast<uint64_t>(thread * kRounds + round);
                wr.sg_list = &source;
                wr.num_sge = 1;
                wr.opcode = IBV_WR_RDMA_WRITE;
                wr.send_flags = IBV_SEND_SIGNALED;
                wr.wr.rdma.remote_addr = peer.addr;
                wr.wr.rdma.rkey = peer.rkey;
                succeed(ibv_post_send(from.pair, &wr, &bad), "ibv_post_send");
                for (ibv_wc wc{}; ibv_poll_cq(from.send_cq, 1, &wc) == 1; ++total) ++seen[wc.wr_id];
              }
            });
            for (; total < kThreads * kRounds; ++total) ++seen[next_is(from.send_cq, IBV_WC_SUCCESS).wr_id];
            require(std::ranges::all_of(seen, [](const auto& count) { return count == 1; }), "each once");
          }) == "");
}

}  // namespace
}  // namespace rondo::verbs_test
