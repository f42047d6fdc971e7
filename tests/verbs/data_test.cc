// SPDX-License-Identifier: Apache-2.0
// What arrives, and when it may be believed.
#include <sched.h>

#include <algorithm>
#include <cstring>
#include <numeric>

#include "catch.h"
#include "clock.h"
#include "ends.h"
#include "seed.h"

namespace rondo::verbs_test {
namespace {

/// Runs the body without a seed, in which everything is in order, and with three.
void check_seeds(const std::function<void()>& body) {
  CHECK(in_process({}, body) == "");
  if (!is_standin()) return;
  for (uint64_t seed = test::test_seed(1), last = seed + 3; seed < last; ++seed) {
    INFO("RONDO_STANDIN_VERBS_SEED=" << seed);
    CHECK(in_process({{"_SEED", std::to_string(seed)}}, body) == "");
  }
}

void number(std::vector<unsigned char>& memory, unsigned first) {
  for (size_t i = 0; i < memory.size(); ++i) memory[i] = static_cast<unsigned char>(first + i % 251);
}

TEST_CASE("a write with immediate has landed whole when its completion is seen") {
  check_seeds([] {
    End from, to;
    connect(from, to);
    number(from.memory, 3);
    for (const uint32_t bytes : {0U, 1U, 8U, 1024U, 1025U, 100'000U, 1U << 20}) {
      std::ranges::fill(to.memory, 0);
      to.receive(77);
      from.post(from.request(IBV_WR_RDMA_WRITE_WITH_IMM, to.address(), 0, bytes, 5));
      const ibv_wc received = next_is(to.receive_cq, IBV_WC_SUCCESS);
      require(std::memcmp(to.memory.data(), from.memory.data(), bytes) == 0, "the bytes are there");
      require(received.opcode == IBV_WC_RECV_RDMA_WITH_IMM && received.wr_id == 77, "its receive");
      require((received.wc_flags & IBV_WC_WITH_IMM) != 0 && received.imm_data == 5, "its immediate");
      require(received.byte_len == bytes && received.qp_num == to.pair->qp_num, "its length");
      const ibv_wc sent = next_is(from.send_cq, IBV_WC_SUCCESS);
      require(sent.opcode == IBV_WC_RDMA_WRITE && sent.wr_id == 5, "its end at the sender");
    }
  });
}

TEST_CASE("gathered pieces arrive one after the other, inline ones are copied at once") {
  check_seeds([] {
    End from, to;
    connect(from, to);
    number(from.memory, 9);
    ibv_send_wr wr = from.request(IBV_WR_RDMA_WRITE_WITH_IMM, to.address(), 0, 0);
    ibv_sge pieces[3] = {from.element, from.element, from.element};
    pieces[0].length = 5;
    pieces[1].addr += 5000;
    pieces[1].length = 3000;
    pieces[2].addr += 100;
    pieces[2].length = 1;
    wr.sg_list = pieces;
    wr.num_sge = 3;
    to.receive();
    from.post(wr);
    next_is(to.receive_cq, IBV_WC_SUCCESS);
    require(std::memcmp(to.memory.data(), from.memory.data(), 5) == 0, "the first piece");
    require(std::memcmp(to.memory.data() + 5, from.memory.data() + 5000, 3000) == 0, "the second piece");
    require(to.memory[3005] == from.memory[100], "the third piece");

    char unregistered[40];
    std::memset(unregistered, 'r', sizeof unregistered);
    pieces[0] = {reinterpret_cast<uint64_t>(unregistered), sizeof unregistered, 0};
    wr.num_sge = 1;
    wr.send_flags |= IBV_SEND_INLINE;
    to.receive();
    from.post(wr);
    std::memset(unregistered, 'x', sizeof unregistered);
    next_is(to.receive_cq, IBV_WC_SUCCESS);
    require(std::count(to.memory.begin(), to.memory.begin() + 40, 'r') == 40, "inline data");
  });
}

TEST_CASE("a send fills its receive, a read fetches") {
  check_seeds([] {
    End from, to;
    connect(from, to);
    number(from.memory, 1);
    to.receive(8, 50'000, 4000);
    from.post(from.request(IBV_WR_SEND, to.address(), 0, 3000, 2));
    const ibv_wc received = next_is(to.receive_cq, IBV_WC_SUCCESS);
    require(received.opcode == IBV_WC_RECV && received.byte_len == 3000 && received.wr_id == 8, "a receive");
    require(std::memcmp(to.memory.data() + 50'000, from.memory.data(), 3000) == 0, "sent bytes");
    require(next_is(from.send_cq, IBV_WC_SUCCESS).opcode == IBV_WC_SEND, "a send");

    number(to.memory, 100);
    from.post(from.request(IBV_WR_RDMA_READ, to.address(), 0, 1 << 20, 3));
    const ibv_wc read = next_is(from.send_cq, IBV_WC_SUCCESS);
    require(read.opcode == IBV_WC_RDMA_READ && read.wr_id == 3, "a read");
    require(from.memory == to.memory, "read bytes");
  });
}

TEST_CASE("messages of a queue pair complete in their order, and carry their own bytes") {
  check_seeds([] {
    constexpr uint32_t kMessages = 500, kBytes = 600, kDepth = 16;
    End from, to;
    connect(from, to);
    number(from.memory, 17);
    for (uint64_t i = 0; i < kDepth; ++i) to.receive(i);
    uint64_t received = 0, sent = 0;
    for (uint64_t posted = 0; received < kMessages; ::sched_yield()) {
      for (; posted < kMessages && posted < sent + kDepth && posted < received + kDepth; ++posted)
        from.post(from.request(IBV_WR_RDMA_WRITE_WITH_IMM, to.address(), posted * kBytes, kBytes, posted));
      for (ibv_wc wc{}; ibv_poll_cq(from.send_cq, 1, &wc) == 1; ++sent)
        require(wc.status == IBV_WC_SUCCESS && wc.wr_id == sent, "completions of sends in order");
      for (ibv_wc wc{}; ibv_poll_cq(to.receive_cq, 1, &wc) == 1; ++received) {
        require(wc.imm_data == received && wc.wr_id == received, "completions of receives in order");
        const size_t at = received * kBytes;
        require(std::memcmp(to.memory.data() + at, from.memory.data() + at, kBytes) == 0,
                "bytes of a message");
        if (received + kDepth < kMessages) to.receive(received + kDepth);
      }
    }
  });
}

TEST_CASE("with a seed memory changes before completions, and not from front to back") {
  if (!is_standin()) return;
  CHECK(in_process({{"_SEED", "7"}}, [] {
          End from, to;
          connect(from, to);
          std::ranges::fill(from.memory, 1);
          bool is_early = false, is_disordered = false;
          for (int round = 0; round < 50; ++round) {
            std::ranges::fill(to.memory, 0);
            to.receive();
            from.post(from.request(IBV_WR_RDMA_WRITE_WITH_IMM, to.address(), 0, 1 << 20));
            ibv_wc wc{};
            while (ibv_poll_cq(to.receive_cq, 1, &wc) != 1) {
              const volatile unsigned char* const bytes = to.memory.data();
              const bool has_end = bytes[(1 << 20) - 1] == 1, has_begin = bytes[0] == 1;
              is_early = is_early || has_end || has_begin;
              is_disordered = is_disordered || (has_end && !has_begin);
            }
            next_is(from.send_cq, IBV_WC_SUCCESS);
          }
          require(is_early, "bytes land before their completion");
          require(is_disordered, "the last byte lands before the first");
        }) == "");
}

TEST_CASE("a write reads its source late: what is changed before the completion may be sent") {
  if (!is_standin()) return;
  CHECK(in_process({{"_SEED", "4"}}, [] {
          End from, to;
          connect(from, to);
          int changed = 0;
          for (int round = 0; round < 50; ++round) {
            std::ranges::fill(from.memory, 1);
            to.receive();
            from.post(from.request(IBV_WR_RDMA_WRITE_WITH_IMM, to.address(), 0, 4096));
            std::ranges::fill(from.memory, 2);
            next_is(to.receive_cq, IBV_WC_SUCCESS);
            next_is(from.send_cq, IBV_WC_SUCCESS);
            if (to.memory[0] == 2 || to.memory[4095] == 2) ++changed;
          }
          require(changed > 0, "a source is never read at once");
        }) == "");
}

TEST_CASE("with a seed an answer may come before the completion of what it answers") {
  if (!is_standin()) return;
  CHECK(in_process({{"_SEED", "6"}}, [] {
          End from({.one_queue = true}), to;
          connect(from, to);
          int overtaken = 0;
          for (int round = 0; round < 200 || (overtaken == 0 && round < 20'000); ++round) {
            to.receive(1);
            from.receive(2);
            from.post(from.request(IBV_WR_RDMA_WRITE_WITH_IMM, to.address(), 0, 8, 3));
            next_is(to.receive_cq, IBV_WC_SUCCESS);
            to.post(to.request(IBV_WR_RDMA_WRITE_WITH_IMM, from.address(), 8, 8));
            if (next_is(from.send_cq, IBV_WC_SUCCESS).wr_id == 2) ++overtaken;
            next_is(from.send_cq, IBV_WC_SUCCESS);
            next_is(to.send_cq, IBV_WC_SUCCESS);
          }
          require(overtaken > 0, "an answer is never early");
        }) == "");
}

TEST_CASE("queue pairs overtake one another") {
  if (!is_standin()) return;
  CHECK(in_process({{"_SEED", "5"}}, [] {
          End first, first_to, second, second_to;
          connect(first, first_to);
          connect(second, second_to);
          int overtakes = 0;
          for (int round = 0; round < 100; ++round) {
            first_to.receive();
            second_to.receive();
            first.post(first.request(IBV_WR_RDMA_WRITE_WITH_IMM, first_to.address(), 0, 64));
            second.post(second.request(IBV_WR_RDMA_WRITE_WITH_IMM, second_to.address(), 0, 64));
            ibv_wc wc{};
            next_is(second_to.receive_cq, IBV_WC_SUCCESS);
            if (ibv_poll_cq(first_to.receive_cq, 1, &wc) == 0) {
              ++overtakes;
              next_is(first_to.receive_cq, IBV_WC_SUCCESS);
            }
            next_is(first.send_cq, IBV_WC_SUCCESS);
            next_is(second.send_cq, IBV_WC_SUCCESS);
          }
          require(overtakes > 0 && overtakes < 100, "some overtake: " + std::to_string(overtakes));
        }) == "");
}

TEST_CASE("a queue pair may be connected with itself") {
  check_seeds([] {
    End end;
    end.connect(end.address());
    number(end.memory, 6);
    Address far = end.address();
    far.addr += 500'000;
    end.receive();
    end.post(end.request(IBV_WR_RDMA_WRITE_WITH_IMM, far, 0, 1000));
    next_is(end.receive_cq, IBV_WC_SUCCESS);
    require(std::memcmp(end.memory.data() + 500'000, end.memory.data(), 1000) == 0, "the bytes");
    end.post(end.request(IBV_WR_RDMA_READ, far, 2000, 1));
    next_is(end.send_cq, IBV_WC_SUCCESS);
  });
}

TEST_CASE("InfiniBand is addressed by LID, and several ports work side by side") {
  if (!is_standin()) return;
  CHECK(in_process({{"_DEVICES", "ib:2,roce"}}, [] {
          Options options;
          options.port = 2;
          End one(options), other(options);
          require(one.port.link_layer == IBV_LINK_LAYER_INFINIBAND && one.port.lid == 2, "a LID of the port");
          connect(one, other);
          other.receive();
          one.post(one.request(IBV_WR_RDMA_WRITE_WITH_IMM, other.address(), 0, 100));
          next_is(other.receive_cq, IBV_WC_SUCCESS);
          options.port = 1;
          options.device = 1;
          End third(options), fourth(options);
          connect(third, fourth);
          third.post(third.request(IBV_WR_RDMA_WRITE, fourth.address(), 0, 100));
          next_is(third.send_cq, IBV_WC_SUCCESS);
        }) == "");
}

}  // namespace
}  // namespace rondo::verbs_test
