// SPDX-License-Identifier: Apache-2.0
// What a device refuses at once: states, attributes, depths, rights and ranges.
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "catch.h"
#include "ends.h"
#include "rxe.h"

namespace rondo::verbs_test {
namespace {

int refused(void* made) { return made == nullptr ? errno : 0; }

void require_error(int error, int expected, const std::string& what) {
  require(error == expected, what + ": " + std::strerror(error) + " instead of " + std::strerror(expected));
}

TEST_CASE("a queue pair takes only the transitions, with all attributes and no others") {
  CHECK(in_process({}, [] {
          End end, peer;
          ibv_qp_attr attr{};
          attr.qp_state = IBV_QPS_RTS;
          require_error(ibv_modify_qp(end.pair, &attr, IBV_QP_STATE), EINVAL, "INIT to RTS");
          attr.qp_state = IBV_QPS_RTR;
          require_error(ibv_modify_qp(end.pair, &attr, IBV_QP_STATE), EINVAL, "RTR without attributes");
          require(end.state() == IBV_QPS_INIT, "a refused transition changes nothing");
          require_error(end.ready_to_send(), EINVAL, "RTS before RTR");
          connect(end, peer);
          require(end.state() == IBV_QPS_RTS, "it is connected");
          require_error(end.ready_to_receive(peer.address()), EINVAL, "RTR again");
          end.to_error();
          require(end.state() == IBV_QPS_ERR, "ERR from any state");
          attr.qp_state = IBV_QPS_RESET;
          succeed(ibv_modify_qp(end.pair, &attr, IBV_QP_STATE), "RESET from any state");
          end.init();
          end.connect(peer.address());
        }) == "");
}

TEST_CASE("a transition takes no attribute that is not its own") {
  CHECK(
      in_process({}, [] {
        End end;
        ibv_qp_attr attr{};
        attr.qp_state = IBV_QPS_INIT;
        attr.port_num = 1;
        constexpr int kOwn = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS;
        succeed(ibv_modify_qp(end.pair, &attr, kOwn), "INIT to INIT");
        require_error(ibv_modify_qp(end.pair, &attr, kOwn | IBV_QP_TIMEOUT), EINVAL, "INIT with a time-out");
        attr.qp_state = IBV_QPS_ERR;
        require_error(ibv_modify_qp(end.pair, &attr, IBV_QP_STATE | IBV_QP_PORT), EINVAL, "ERR with a port");
      }) == "");
}

TEST_CASE("attributes have ranges") {
  CHECK(in_process({}, [] {
          Options options;
          options.retry = 8;
          End peer, end(options);
          succeed(end.ready_to_receive(peer.address()), "RTR");
          if (!departures().checks_ranges) return;
          require_error(end.ready_to_send(), EINVAL, "retry_cnt 8");
          end.options.retry = 7;
          end.options.reads = 255;
          require_error(end.ready_to_send(), EINVAL, "255 reads");
          End other;
          Address nowhere = peer.address();
          nowhere.gid = {};
          nowhere.lid = 0;
          require_error(other.ready_to_receive(nowhere), EINVAL, "no address");
        }) == "");
}

TEST_CASE("sends need RTS, receives need INIT") {
  CHECK(in_process({}, [] {
          End end, peer;
          ibv_send_wr wr = end.request(IBV_WR_RDMA_WRITE, peer.address(), 0, 8), *bad = nullptr;
          if (!departures().refuses_early_sends) return;
          require(ibv_post_send(end.pair, &wr, &bad) != 0 && bad == &wr, "a send in INIT");
          end.receive();
          succeed(end.ready_to_receive(peer.address()), "RTR");
          require(ibv_post_send(end.pair, &wr, &bad) != 0, "a send in RTR");
        }) == "");
}

TEST_CASE("queues take their depth and not more, counted by what was polled") {
  CHECK(in_process({}, [] {
          Options options;
          options.send_requests = 4;
          End end(options), peer;
          connect(end, peer);
          const auto post = [&](unsigned flags) {
            ibv_send_wr wr = end.request(IBV_WR_RDMA_WRITE, peer.address(), 0, 8), *bad = nullptr;
            wr.send_flags = flags;
            return ibv_post_send(end.pair, &wr, &bad);
          };
          if (!is_standin()) return;  // devices may round the depth up
          for (int i = 0; i < 3; ++i) succeed(post(0), "unsignaled");
          succeed(post(IBV_SEND_SIGNALED), "signaled");
          require_error(post(0), ENOMEM, "a fifth");
          next_is(end.send_cq, IBV_WC_SUCCESS);
          for (int i = 0; i < 4; ++i) succeed(post(0), "after the completion was polled");
          require_error(post(IBV_SEND_SIGNALED), ENOMEM, "a queue without signals stays full");
        }) == "");
}

TEST_CASE("elements and inline data have limits, and a refused list is posted up to there") {
  CHECK(in_process({}, [] {
          End end, peer;
          connect(end, peer);
          ibv_send_wr good = end.request(IBV_WR_RDMA_WRITE, peer.address(), 0, 8), bad_wr = good,
                      *bad = nullptr;
          std::vector<ibv_sge> many(60, end.element);
          bad_wr.sg_list = many.data();
          bad_wr.num_sge = 60;
          good.next = &bad_wr;
          require(ibv_post_send(end.pair, &good, &bad) != 0, "60 elements");
          require(bad == &bad_wr, "the second was refused");
          next_is(end.send_cq, IBV_WC_SUCCESS);
          ibv_send_wr large = end.request(IBV_WR_RDMA_WRITE, peer.address(), 0, 100'000);
          large.send_flags |= IBV_SEND_INLINE;
          require(ibv_post_send(end.pair, &large, &bad) != 0, "100 KB inline");
        }) == "");
}

TEST_CASE("memory is registered with rights that fit, if it is there") {
  CHECK(in_process({}, [] {
          End end;
          void* const memory = end.memory.data();
          int access = IBV_ACCESS_REMOTE_WRITE;
          require_error(refused(ibv_reg_mr(end.pd, memory, 4096, access)), EINVAL,
                        "remote without local write");
          access = IBV_ACCESS_LOCAL_WRITE;
          void* const hole = ::mmap(nullptr, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
          require_error(refused(ibv_reg_mr(end.pd, hole, 4096, access)), EFAULT, "memory without rights");
          ibv_mr* const again = ibv_reg_mr(end.pd, memory, 4096, access);
          require(again != nullptr && again->lkey != end.region->lkey && again->rkey != end.region->rkey,
                  "keys");
          require_error(ibv_dealloc_pd(end.pd), EBUSY, "a domain in use");
          require_error(ibv_destroy_cq(end.send_cq), EBUSY, "a completion queue in use");
          require_error(ibv_destroy_comp_channel(end.channel), EBUSY, "a channel in use");
          succeed(ibv_dereg_mr(again), "ibv_dereg_mr");
        }) == "");
}

TEST_CASE("objects have maxima") {
  CHECK(in_process({}, [] {
          End end;
          ibv_device_attr attr{};
          succeed(ibv_query_device(end.context, &attr), "ibv_query_device");
          require_error(refused(ibv_create_cq(end.context, attr.max_cqe + 1, nullptr, nullptr, 0)), EINVAL,
                        "entries");
          require_error(refused(ibv_create_cq(end.context, 0, nullptr, nullptr, 0)), EINVAL, "no entries");
          ibv_qp_init_attr init{};
          init.send_cq = init.recv_cq = end.send_cq;
          init.qp_type = IBV_QPT_RC;
          init.cap = {static_cast<uint32_t>(attr.max_qp_wr) + 1, 1, 1, 1, 0};
          require(ibv_create_qp(end.pd, &init) == nullptr, "work requests");
          init.cap = {1, 1, static_cast<uint32_t>(attr.max_sge) + 1, 1, 0};
          require(ibv_create_qp(end.pd, &init) == nullptr, "elements");
        }) == "");
}

TEST_CASE("ports tell what they are") {
  CHECK(in_process({}, [] {
          End end;
          require(end.port.state == IBV_PORT_ACTIVE, "active");
          ibv_gid_entry table[64];
          require(ibv_query_gid_table(end.context, table, 64, 0) > 0, "a GID");
          __be16 pkey = 0;
          succeed(ibv_query_pkey(end.context, 1, 0, &pkey), "ibv_query_pkey");
          require(pkey == 0xFFFF, "the default partition");
          ibv_port_attr attr{};
          require(ibv_query_port(end.context, 9, &attr) != 0, "port 9");
        }) == "");
}

}  // namespace
}  // namespace rondo::verbs_test
