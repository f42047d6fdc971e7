// SPDX-License-Identifier: Apache-2.0
// The status of each fault, at both ends.
#include <algorithm>

#include "catch.h"
#include "clock.h"
#include "ends.h"
#include "rxe.h"

namespace rondo::verbs_test {
namespace {

std::vector<ibv_wc_status> access_error() { return {IBV_WC_REM_ACCESS_ERR}; }
std::vector<ibv_wc_status> wrong_source() { return departures().wrong_source; }

/// What a request with this change does: the sender's completion, and both ends in ERR with what they had
/// flushed. `status` is called in a process that may open devices.
void check_error(const Options& sender, const Options& receiver,
                 const std::function<std::vector<ibv_wc_status>()>& status,
                 const std::function<void(End& from, End& to, ibv_send_wr& wr)>& change,
                 ibv_wr_opcode opcode = IBV_WR_RDMA_WRITE) {
  for (const char* const seed : seeds({"0", "1"}))
    CHECK(in_process({{"_SEED", seed}}, [&] {
            End from(sender), to(receiver);
            connect(from, to);
            ibv_send_wr wr = from.request(opcode, to.address(), 0, 4096, 1);
            change(from, to, wr);
            from.post(wr);
            from.post(from.request(IBV_WR_RDMA_WRITE, to.address(), 0, 8, 2));
            require(next_is(from.send_cq, status()).wr_id == 1, "the request that fails");
            require(next_is(from.send_cq, IBV_WC_WR_FLUSH_ERR).wr_id == 2, "the next one is flushed");
            require(from.state() == IBV_QPS_ERR, "the sender is in ERR");
            from.post(from.request(IBV_WR_RDMA_WRITE, to.address(), 0, 8, 3));
            require(next_is(from.send_cq, IBV_WC_WR_FLUSH_ERR).wr_id == 3, "so is one that is posted later");
          }) == "");
}

TEST_CASE("an access to memory that the peer does not give is a remote access error") {
  check_error({}, {}, access_error, [](End&, End&, ibv_send_wr& wr) { wr.wr.rdma.rkey ^= 0x5500; });
  check_error({}, {}, access_error,
              [](End&, End& to, ibv_send_wr& wr) { wr.wr.rdma.remote_addr += to.memory.size() - 4095; });
  check_error({}, {}, access_error, [](End&, End&, ibv_send_wr& wr) { wr.wr.rdma.remote_addr -= 1; });
  Options read_only;
  read_only.region_access = IBV_ACCESS_REMOTE_READ;
  check_error({}, read_only, access_error, [](End&, End&, ibv_send_wr&) {});
  Options pair_read_only;
  pair_read_only.access = IBV_ACCESS_REMOTE_READ;
  check_error(
      {}, pair_read_only, [] { return departures().pair_without_right; }, [](End&, End&, ibv_send_wr&) {});
  Options unreadable;
  unreadable.region_access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;
  check_error(
      {}, unreadable, access_error, [](End&, End&, ibv_send_wr&) {}, IBV_WR_RDMA_READ);
}

TEST_CASE("what follows a refused request does not land") {
  for (const char* const seed : seeds({"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"}))
    CHECK(in_process({{"_SEED", seed}}, [] {
            End from, to;
            connect(from, to);
            std::ranges::fill(from.memory, 1);
            ibv_send_wr wr = from.request(IBV_WR_RDMA_WRITE, to.address(), 0, 8);
            wr.wr.rdma.rkey ^= 0x5500;
            ibv_send_wr later = wr, *bad = nullptr;
            ibv_sge large = *wr.sg_list;
            large.length = 1 << 18;
            later.sg_list = &large;
            later.wr.rdma.rkey = to.address().rkey;
            wr.next = &later;
            succeed(ibv_post_send(from.pair, &wr, &bad), "ibv_post_send");
            next_is(from.send_cq, IBV_WC_REM_ACCESS_ERR);
            next_is(from.send_cq, IBV_WC_WR_FLUSH_ERR);
            require(std::ranges::count(to.memory, 1) == 0, "the memory is untouched");
          }) == "");
}

TEST_CASE("a key of another protection domain is worth nothing") {
  check_error({}, {}, access_error, [](End&, End& to, ibv_send_wr& wr) {
    ibv_pd* const other = ibv_alloc_pd(to.context);
    wr.wr.rdma.rkey = ibv_reg_mr(other, to.memory.data(), to.memory.size(), to.options.region_access)->rkey;
  });
  check_error({}, {}, wrong_source, [](End& from, End&, ibv_send_wr& wr) {
    ibv_pd* const other = ibv_alloc_pd(from.context);
    wr.sg_list->lkey =
        ibv_reg_mr(other, from.memory.data(), from.memory.size(), from.options.region_access)->lkey;
  });
}

TEST_CASE("a source outside its own region is a local protection error") {
  check_error({}, {}, wrong_source, [](End&, End&, ibv_send_wr& wr) { wr.sg_list->lkey ^= 0x5500; });
  check_error({}, {}, wrong_source,
              [](End& from, End&, ibv_send_wr& wr) { wr.sg_list->addr += from.memory.size() - 4095; });
  check_error({}, {}, wrong_source, [](End& from, End&, ibv_send_wr&) {
    succeed(ibv_dereg_mr(from.region), "ibv_dereg_mr");
    from.region = ibv_reg_mr(from.pd, from.memory.data(), 4096, from.options.region_access);
  });
}

TEST_CASE("the receiver's error events and flushed receives follow an access error") {
  CHECK(in_process({}, [] {
          End from, to;
          connect(from, to);
          to.receive(40);
          to.receive(41);
          ibv_send_wr wr = from.request(IBV_WR_RDMA_WRITE, to.address(), 0, 8);
          wr.wr.rdma.rkey ^= 0x5500;
          from.post(wr);
          next_is(from.send_cq, IBV_WC_REM_ACCESS_ERR);
          if (departures().tells_access_errors)
            require(next_event(to) == IBV_EVENT_QP_ACCESS_ERR, "the event");
          require(next_is(to.receive_cq, IBV_WC_WR_FLUSH_ERR).wr_id == 40, "the first receive");
          require(next_is(to.receive_cq, IBV_WC_WR_FLUSH_ERR).wr_id == 41, "the second receive");
        }) == "");
}

TEST_CASE("a send into a receive that is too short fails at both ends") {
  CHECK(in_process({}, [] {
          End from, to;
          connect(from, to);
          to.receive(1, 0, 100);
          from.post(from.request(IBV_WR_SEND, to.address(), 0, 101));
          next_is(from.send_cq, departures().sent_too_long);
          next_is(to.receive_cq, departures().short_receive);
        }) == "");
}

TEST_CASE("a receive outside its region fails at both ends") {
  CHECK(in_process({}, [] {
          End from, to;
          connect(from, to);
          to.receive(1, to.memory.size() - 10, 100);
          from.post(from.request(IBV_WR_SEND, to.address(), 0, 50));
          next_is(from.send_cq, IBV_WC_REM_OP_ERR);
          next_is(to.receive_cq, departures().wrong_receive);
        }) == "");
}

TEST_CASE("what the sender's own ERR flushes completes in order, signaled or not") {
  CHECK(in_process({{"_SEED", "2"}}, [] {
          End from, to;
          connect(from, to);
          from.receive(90);
          for (uint64_t id = 1; id <= 5; ++id) {
            ibv_send_wr wr =
                from.request(IBV_WR_RDMA_WRITE_WITH_IMM, to.address(), 0, 8, id);  // without receives
            wr.send_flags = 0;
            from.post(wr);
          }
          from.to_error();
          for (uint64_t id = 1; id <= 5; ++id)
            require(next_is(from.send_cq, IBV_WC_WR_FLUSH_ERR).wr_id == id, "in order");
          require(next_is(from.receive_cq, IBV_WC_WR_FLUSH_ERR).wr_id == 90, "the receive");
        }) == "");
}

TEST_CASE("completions of a queue pair that is destroyed or reset are gone") {
  CHECK(in_process({}, [] {
          End from, to;
          connect(from, to);
          from.post(from.request(IBV_WR_RDMA_WRITE, to.address(), 0, 8));
          test::sleep_ms(50);
          ibv_qp_attr attr{};
          attr.qp_state = IBV_QPS_RESET;
          succeed(ibv_modify_qp(from.pair, &attr, IBV_QP_STATE), "RESET");
          require(stays_empty(from.send_cq, 20) == departures().forgets_at_reset, "no completion");
          if (!is_standin()) return;  // destroyed queue pairs may leave completions behind
          End again, peer;
          connect(again, peer);
          again.post(again.request(IBV_WR_RDMA_WRITE, peer.address(), 0, 8));
          test::sleep_ms(50);
          succeed(ibv_destroy_qp(again.pair), "ibv_destroy_qp");
          again.pair = nullptr;
          require(stays_empty(again.send_cq, 20), "no completion");
        }) == "");
}

TEST_CASE("a completion queue that overruns ends its queue pairs") {
  CHECK(in_process({}, [] {
          Options options;
          options.completions = 4;
          End from(options), to;
          if (from.send_cq->cqe != 4) return;  // devices may round it up
          connect(from, to);
          for (uint64_t id = 0; id < 5; ++id)
            from.post(from.request(IBV_WR_RDMA_WRITE, to.address(), 0, 8, id));
          require(next_event(from) == IBV_EVENT_CQ_ERR, "the queue's event");
          require(next_event(from) == IBV_EVENT_QP_FATAL, "the queue pair's event");
          require(from.state() == IBV_QPS_ERR, "ERR");
        }) == "");
}

}  // namespace
}  // namespace rondo::verbs_test
