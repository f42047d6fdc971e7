// SPDX-License-Identifier: Apache-2.0
// Faults that the stand-in has by its variables and commands: of messages, ports, addresses and paths.
#include "faults.h"

#include <algorithm>
#include <cerrno>

#include "clock.h"

namespace rondo::verbs_test {
namespace {

using test::sleep_ms;

Options brief() {
  Options options;
  options.timeout = 12;
  options.retry = 1;
  options.rnr_retry = 0;
  return options;
}

TEST_CASE("the nth message fails as configured") {
  struct Case {
    const char* fault;
    ibv_wc_status status;
  };
  for (const Case& one : {Case{"rnr:2", IBV_WC_RNR_RETRY_EXC_ERR}, Case{"retry:2", IBV_WC_RETRY_EXC_ERR},
                          Case{"access:2", IBV_WC_REM_ACCESS_ERR}, Case{"flush:2", IBV_WC_WR_FLUSH_ERR}})
    check_pair(
        {{"_FAIL", one.fault}},
        [&](End& from, End& to) {
          for (int i = 0; i < 2; ++i) to.receive();
          for (int i = 0; i < 2; ++i) {
            from.post(from.request(IBV_WR_RDMA_WRITE_WITH_IMM, to.address(), 0, 8));
            next_is(from.send_cq, i == 0 ? IBV_WC_SUCCESS : one.status);
          }
          require(from.state() == IBV_QPS_ERR, "ERR");
        },
        brief());
  check_pair({{"_FAIL", "overrun:2"}}, [](End& from, End& to) {
    write(from, to);
    next_is(from.send_cq, IBV_WC_SUCCESS);
    write(from, to);
    require(next_event(from) == IBV_EVENT_CQ_ERR, "the event");
    require(from.state() == IBV_QPS_ERR, "ERR");
  });
}

TEST_CASE("a port goes down and comes back, by command and by time") {
  check_pair({}, [](End& from, End& to) {
    write(from, to);
    next_is(from.send_cq, IBV_WC_SUCCESS);
    command("port_down 0/rondo_0:1");
    require(next_event(from) == IBV_EVENT_PORT_ERR && next_event(to) == IBV_EVENT_PORT_ERR, "down");
    ibv_port_attr attr{};
    succeed(ibv_query_port(from.context, 1, &attr), "ibv_query_port");
    require(attr.state == IBV_PORT_DOWN, "the state");
    write(from, to);
    sleep_ms(100);
    command("port_up 0/rondo_0:1");
    require(next_event(from) == IBV_EVENT_PORT_ACTIVE, "up");
    next_is(from.send_cq, IBV_WC_SUCCESS);
    command("port_down 0/rondo_0:1");
    write(from, to);
    next_is(from.send_cq, IBV_WC_RETRY_EXC_ERR);
  });
  check_pair({{"_AT", "150 port_down 0/rondo_0:1;300 port_up 0/rondo_0:1"}}, [](End& from, End&) {
    require(next_event(from) == IBV_EVENT_PORT_ERR && next_event(from) == IBV_EVENT_PORT_ACTIVE, "both");
  });
}

TEST_CASE("a device that fails completes nothing, and its peer runs out of retries") {
  if (!is_standin()) return;
  CHECK(in_process({{"_DEVICES", "roce,roce"}}, [] {
          Options options = brief();
          End from(options);
          options.device = 1;
          End to(options);
          connect(from, to);
          to.receive();
          command("fatal 0/rondo_1");
          require(next_event(to) == IBV_EVENT_DEVICE_FATAL, "the event");
          write(from, to);
          next_is(from.send_cq, IBV_WC_RETRY_EXC_ERR);
          require(stays_empty(to.receive_cq, 50), "nothing is flushed");
          ibv_qp_attr attr{};
          attr.qp_state = IBV_QPS_ERR;
          require(ibv_modify_qp(to.pair, &attr, IBV_QP_STATE) == EIO, "EIO");
        }) == "");
}

TEST_CASE("a GID that moves leaves its connections behind, and new ones find it") {
  check_pair(
      {},
      [](End& from, End& to) {
        command("gid_move 0/rondo_0:1 3 5");
        require(next_event(from) == IBV_EVENT_GID_CHANGE, "the event");
        write(from, to);
        next_is(from.send_cq, IBV_WC_RETRY_EXC_ERR);
        End one, other;
        require(one.options.gid == 5, "its new place");
        connect(one, other);
        write(one, other);
        next_is(one.send_cq, IBV_WC_SUCCESS);
      },
      brief());
}

TEST_CASE("a pair of GIDs connects and carries nothing, another one works") {
  Options options = brief();
  options.gid = 3;
  check_pair(
      {{"_AT", "0 drop 10.9.1.1 10.9.1.1"}},
      [](End& from, End& to) {
        write(from, to);
        next_is(from.send_cq, IBV_WC_RETRY_EXC_ERR);
        Options local;
        local.gid = 1;
        End one(local), other(local);
        connect(one, other);
        write(one, other);
        next_is(one.send_cq, IBV_WC_SUCCESS);
      },
      options);
}

TEST_CASE("a path carries small packets only") {
  Options options = brief();
  options.mtu = IBV_MTU_4096;
  check_pair(
      {{"_AT", "0 path_mtu 1024"}},
      [](End& from, End& to) {
        write(from, to, 1024);
        next_is(from.send_cq, IBV_WC_SUCCESS);
        write(from, to, 1025);
        next_is(from.send_cq, IBV_WC_RETRY_EXC_ERR);
      },
      options);
  options.mtu = IBV_MTU_1024;
  check_pair(
      {{"_AT", "0 path_mtu 1024"}},
      [](End& from, End& to) {
        write(from, to, 100'000);
        next_is(from.send_cq, IBV_WC_SUCCESS);
      },
      options);
}

TEST_CASE("packets are lost, and nothing is wrong") {
  Options options;
  options.timeout = 8;
  check_pair(
      {{"_AT", "0 loss 50"}, {"_SEED", "1"}},
      [](End& from, End& to) {
        std::ranges::fill(from.memory, 3);
        for (int i = 0; i < 20; ++i) {
          std::ranges::fill(to.memory, 0);
          to.receive();
          from.post(from.request(IBV_WR_RDMA_WRITE_WITH_IMM, to.address(), 0, 1 << 18));
          next_is(to.receive_cq, IBV_WC_SUCCESS);
          require(std::count(to.memory.begin(), to.memory.end(), 3) == 1 << 18, "all bytes");
          next_is(from.send_cq, IBV_WC_SUCCESS);
        }
      },
      options);
}

TEST_CASE("partitions must be one at both ends, with a full member") {
  if (!is_standin()) return;
  CHECK(in_process({{"_PKEYS", "0xffff,0x8001,0x0001"}}, [] {
          const auto passes = [](uint16_t here, uint16_t there) {
            Options options = brief();
            options.partition = here;
            End from(options);
            options.partition = there;
            End to(options);
            connect(from, to);
            write(from, to);
            return next(from.send_cq).status == IBV_WC_SUCCESS;
          };
          require(passes(1, 1) && passes(1, 2) && passes(2, 1), "one partition");
          require(!passes(2, 2), "two limited members");
          require(!passes(0, 1), "two partitions");
          End end;
          __be16 pkey = 0;
          succeed(ibv_query_pkey(end.context, 1, 1, &pkey), "ibv_query_pkey");
          require(pkey == 0x0180, "in network order");
          require(ibv_query_pkey(end.context, 1, 3, &pkey) != 0, "a fourth");
        }) == "");
}

TEST_CASE("devices say what they are, or may not be opened") {
  if (!is_standin()) return;
  CHECK(in_process({{"_DEVICES", "roce:1:200,iwarp"}, {"_FAIL", "open:2"}}, [] {
          const End end;
          require(end.port.active_width == 2 && end.port.active_speed == 64, "200 Gbit/s");
          int count = 0;
          ibv_device** const list = ibv_get_device_list(&count);
          require(count == 2 && list[1]->transport_type == IBV_TRANSPORT_IWARP, "an iWARP device");
          require(ibv_open_device(list[0]) == nullptr && errno == EACCES, "no rights");
          ibv_free_device_list(list);
        }) == "");
  CHECK(in_process({{"_DEVICES", "none"}}, [] {
          int count = 1;
          ibv_device** const list = ibv_get_device_list(&count);
          require(list != nullptr && count == 0 && list[0] == nullptr, "an empty list");
          ibv_free_device_list(list);
        }) == "");
}

TEST_CASE("RTR takes its time, or fails") {
  if (!is_standin()) return;
  CHECK(in_process({{"_RTR_MS", "300"}, {"_FAIL", "rtr:1"}}, [] {
          End from, to;
          const double begin = test::seconds_now();
          require(from.ready_to_receive(to.address()) == ETIMEDOUT, "the first");
          require(test::seconds_now() - begin >= 0.3, "after its time");
          require(from.state() == IBV_QPS_INIT, "and it may be tried again");
          connect(from, to);
        }) == "");
}

TEST_CASE("calls are counted, and a post wakes the fabric only if it sleeps") {
  check_pair({}, [](End& from, End& to) {
    const uint64_t posts = calls("post_send"), registrations = calls("reg_mr");
    for (int i = 0; i < 10; ++i) write(from, to);
    require(calls("post_send") == posts + 10 && calls("reg_mr") == registrations, "ten posts");
    require(calls("ring") <= posts + 10, "at most one wake-up each");
    for (int i = 0; i < 10; ++i) next_is(from.send_cq, IBV_WC_SUCCESS);
    require(calls("poll_cq") >= calls("empty_poll") + 10, "ten polls find something");
  });
}

}  // namespace
}  // namespace rondo::verbs_test
