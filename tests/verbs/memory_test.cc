// SPDX-License-Identifier: Apache-2.0
// Memory that cannot be registered, or that the device has and the process has not; and what a device may
// lack.
#include <linux/capability.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "faults.h"

namespace rondo::verbs_test {
namespace {

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

/// Root may lock any memory; this takes that right away.
void drop_lock_right() {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3]{};
  succeed(static_cast<int>(::syscall(SYS_capget, &header, data)), "capget");
  data[0].effective &= ~(1U << CAP_IPC_LOCK);
  succeed(static_cast<int>(::syscall(SYS_capset, &header, data)), "capset");
}

TEST_CASE("memory beyond RLIMIT_MEMLOCK is not registered") {
  CHECK(in_process({}, [] {
          Options options;
          options.bytes = 4096;
          End end(options);
          drop_lock_right();
          const rlimit limit{64 << 10, 64 << 10};
          succeed(::setrlimit(RLIMIT_MEMLOCK, &limit), "setrlimit");
          std::vector<char> memory(2 << 20);
          int access = IBV_ACCESS_LOCAL_WRITE;
          require(ibv_reg_mr(end.pd, memory.data(), memory.size(), access) == nullptr && errno == ENOMEM,
                  "2 MB");
          require(ibv_reg_mr(end.pd, memory.data(), 4096, access) != nullptr, "4 KB");
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
  if (!is_standin()) return;  // the kernel copies
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

}  // namespace
}  // namespace rondo::verbs_test
