// SPDX-License-Identifier: Apache-2.0
// Faults that the stand-in has by its variables and commands.
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "catch.h"
#include "clock.h"
#include "ends.h"

namespace rondo::verbs_test {
namespace {

using test::sleep_ms;

/// Two connected ends in a process with these variables.
void check_pair(const Variables& variables, const std::function<void(End& from, End& to)>& body,
                const Options& options = {}) {
  if (!is_standin()) return;
  CHECK(in_process(variables, [&] {
          End from(options), to(options);
          connect(from, to);
          body(from, to);
        }) == "");
}

Options brief() {
  Options options;
  options.timeout = 12;
  options.retry = 1;
  options.rnr_retry = 0;
  return options;
}

void write(End& from, End& to, uint32_t bytes = 8) {
  from.post(from.request(IBV_WR_RDMA_WRITE, to.address(), 0, bytes));
}

TEST_CASE("the nth message fails as configured") {
  struct Case {
    const char* fault;
    ibv_wc_status status;
  };
  for (const auto& [fault, status] :
       {Case{"rnr:2", IBV_WC_RNR_RETRY_EXC_ERR}, Case{"retry:2", IBV_WC_RETRY_EXC_ERR},
        Case{"access:2", IBV_WC_REM_ACCESS_ERR}, Case{"flush:2", IBV_WC_WR_FLUSH_ERR}})
    check_pair(
        {{"_FAIL", fault}},
        [&](End& from, End& to) {
          for (int i = 0; i < 2; ++i) to.receive();
          for (int i = 0; i < 2; ++i) {
            from.post(from.request(IBV_WR_RDMA_WRITE_WITH_IMM, to.address(), 0, 8));
            next_is(from.send_cq, i == 0 ? IBV_WC_SUCCESS : status);
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

TEST_CASE("the nth registration fails, and those beyond the limit of locked memory") {
  if (!is_standin()) return;
  const auto refused = [](End& end, size_t bytes) {
    int access = IBV_ACCESS_LOCAL_WRITE;
    return ibv_reg_mr(end.pd, end.memory.data(), bytes, access) == nullptr ? errno : 0;
  };
  CHECK(in_process({{"_FAIL", "register:2"}}, [&] {
          End end;
          require(refused(end, 4096) == ENOMEM, "the second");
          require(refused(end, 4096) == 0, "the third");
        }) == "");
  CHECK(in_process({{"_MEMLOCK", "1100000"}}, [&] {
          End end;  // 1 MiB, and the page that it begins in
          require(refused(end, 1 << 20) == ENOMEM, "a second MiB");
          require(refused(end, 4096) == 0, "a page");
          ibv_dereg_mr(end.region);
          end.region = nullptr;
          require(refused(end, 1'000'000) == 0, "after the first is gone");
        }) == "");
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

TEST_CASE("a device may lack paging on demand, ECE and dmabufs") {
  if (!is_standin()) return;
  const auto check = [](bool has) {
    End end;
    ibv_device_attr_ex attr{};
    succeed(ibv_query_device_ex(end.context, nullptr, &attr), "ibv_query_device_ex");
    require(((attr.odp_caps.general_caps & IBV_ODP_SUPPORT_IMPLICIT) != 0) == has, "the capability");
    int access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_ON_DEMAND;
    require((ibv_reg_mr(end.pd, nullptr, SIZE_MAX, access) != nullptr) == has, "on demand");
    ibv_ece ece{};
    require(ibv_query_ece(end.pair, &ece) == (has ? 0 : EOPNOTSUPP), "ibv_query_ece");
    require(ibv_set_ece(end.pair, &ece) == (has ? 0 : EOPNOTSUPP), "ibv_set_ece");
    const int memory = ::memfd_create("memory", 0);
    succeed(::ftruncate(memory, 8192), "ftruncate");
    require((ibv_reg_dmabuf_mr(end.pd, 4096, 4096, 0, memory, 1) != nullptr) == has, "a dmabuf");
  };
  CHECK(in_process({}, [&] { check(true); }) == "");
  CHECK(in_process({{"_ODP", "0"}, {"_ECE", "0"}, {"_DMABUF", "0"}}, [&] { check(false); }) == "");
}

TEST_CASE("a dmabuf, and memory that pages on demand, are read and written") {
  check_pair({}, [](End& from, End& to) {
    const int memory = ::memfd_create("memory", 0);
    succeed(::ftruncate(memory, 8192), "ftruncate");
    int access = to.options.region_access;
    ibv_mr* const dmabuf = ibv_reg_dmabuf_mr(to.pd, 4096, 4096, 0x10000, memory, access);
    access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_ON_DEMAND;
    ibv_mr* const everything = ibv_reg_mr(from.pd, nullptr, SIZE_MAX, access);
    require(dmabuf != nullptr && everything != nullptr, "both");
    char text[] = "anywhere";
    ibv_send_wr wr = from.request(IBV_WR_RDMA_WRITE, to.address(), 0, sizeof text);
    *wr.sg_list = {reinterpret_cast<uint64_t>(text), sizeof text, everything->lkey};
    wr.wr.rdma.remote_addr = 0x10000 + 7;
    wr.wr.rdma.rkey = dmabuf->rkey;
    from.post(wr);
    next_is(from.send_cq, IBV_WC_SUCCESS);
    char found[sizeof text] = "";
    require(::pread(memory, found, sizeof found, 4096 + 7) == sizeof found, "pread");
    require(std::strcmp(found, text) == 0, "the text");
  });
}

TEST_CASE("memory that was unmapped is not what the device has") {
  check_pair({}, [](End& from, End& to) {
    void* const memory = ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    int access = IBV_ACCESS_LOCAL_WRITE;
    ibv_mr* const region = ibv_reg_mr(from.pd, memory, 4096, access);
    ::munmap(memory, 4096);
    ibv_send_wr wr = from.request(IBV_WR_RDMA_WRITE, to.address(), 0, 8);
    *wr.sg_list = {reinterpret_cast<uint64_t>(memory), 8, region->lkey};
    from.post(wr);
    next_is(from.send_cq, IBV_WC_SUCCESS);
    require(to.memory[0] == 0xDB, "bytes of before");
  });
}

TEST_CASE("without copy-on-fork in the kernel a fork needs ibv_fork_init()") {
  const auto forks = [](End& from, End& to) {
    std::ranges::fill(from.memory, 7);
    require(in_process({}, [] {}).empty(), "a child");
    write(from, to);
    next_is(from.send_cq, IBV_WC_SUCCESS);
    return to.memory[0] == 7;
  };
  check_pair({{"_COPY_ON_FORK", "0"}}, [&](End& from, End& to) {
    require(ibv_is_fork_initialized() == IBV_FORK_DISABLED, "disabled");
    require(ibv_fork_init() == EINVAL, "after a registration it is too late");
    require(!forks(from, to), "the device has other pages");
  });
  CHECK(in_process({{"_COPY_ON_FORK", "0"}}, [&] {
          succeed(ibv_fork_init(), "ibv_fork_init");
          require(ibv_is_fork_initialized() == IBV_FORK_ENABLED, "enabled");
          End from, to;
          connect(from, to);
          require(forks(from, to), "the device has the pages");
        }) == "");
  check_pair({}, [&](End& from, End& to) {
    require(ibv_is_fork_initialized() == IBV_FORK_UNNEEDED, "unneeded");
    require(forks(from, to), "the kernel copies");
  });
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
