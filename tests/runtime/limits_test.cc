// SPDX-License-Identifier: Apache-2.0
// A rank whose process has reached a limit: all ranks learn which rank and which limit.
#include <fcntl.h>
#include <malloc.h>
#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <fstream>

#include "catch.h"
#include "sanitized.h"
#include "worlds.h"

namespace rondo::test {
namespace {

/// For its lifetime, limits this process to `left` further descriptors.
class FewDescriptors {
 public:
  explicit FewDescriptors(int left) {
    ::getrlimit(RLIMIT_NOFILE, &before_);
    const rlimit few{kMax, before_.rlim_max};
    ::setrlimit(RLIMIT_NOFILE, &few);
    for (int fd = ::open("/dev/null", O_RDONLY); fd >= 0; fd = ::open("/dev/null", O_RDONLY))
      taken_.push_back(fd);
    for (; left > 0; --left, taken_.pop_back()) ::close(taken_.back());
  }
  ~FewDescriptors() {
    for (const int fd : taken_) ::close(fd);
    ::setrlimit(RLIMIT_NOFILE, &before_);
  }
  FewDescriptors(const FewDescriptors&) = delete;
  FewDescriptors& operator=(const FewDescriptors&) = delete;
  static constexpr rlim_t kMax = 200;

 private:
  rlimit before_{};
  std::vector<int> taken_;
};

/// Likewise, limits it to `left` further bytes of address space.
class LittleMemory {
 public:
  explicit LittleMemory(size_t left) {
    size_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    ::getrlimit(RLIMIT_AS, &before_);
    const rlimit little{pages * static_cast<size_t>(::sysconf(_SC_PAGESIZE)) + left, before_.rlim_max};
    ::setrlimit(RLIMIT_AS, &little);
  }
  ~LittleMemory() { ::setrlimit(RLIMIT_AS, &before_); }
  LittleMemory(const LittleMemory&) = delete;
  LittleMemory& operator=(const LittleMemory&) = delete;

 private:
  rlimit before_{};
};

TEST_CASE("a rank without descriptors is named at all ranks, with its limit") {
  for (const int left : {0, 1}) {  // 1: enough for the socket that passes memory, not for the memory
    INFO(left << " left");
    expect_success(run_world({.nranks = 3, .transport = "shm"}, [=](Rank& rank) {
      Owned comm;
      check(rondo_duplicate(rank.comm, comm.out()), rank.comm);
      check(rondo_barrier(rank.comm, nullptr), rank.comm);
      const std::vector<std::string> words{"rank 1 (", "descriptor",
                                           "(this process may have 200 descriptors: ulimit -n)"};
      if (rank.rank == 1) {
        const FewDescriptors few(left);
        check_fails(rondo_barrier(comm.get(), nullptr), RONDO_SYSTEM_ERROR, words, comm.get());
      } else {
        check_fails(rondo_barrier(comm.get(), nullptr), RONDO_SYSTEM_ERROR, words, comm.get());
      }
      check(rondo_barrier(rank.comm, nullptr), rank.comm);
    }));
  }
}

TEST_CASE("a rank that cannot ask for lack of descriptors says so at its deadline") {
  expect_success(run_world({.nranks = 2, .transport = "shm"}, [](Rank& rank) {
    int value = 4;
    if (rank.rank == 0) check(rondo_send(&value, 1, RONDO_INT32, 1, 0, rank.comm, nullptr), rank.comm);
    if (rank.rank == 1)
      check(rondo_recv(&value, 1, RONDO_INT32, 0, 0, rank.comm, nullptr, nullptr), rank.comm);
    check(rondo_barrier(rank.comm, nullptr), rank.comm);
    if (rank.rank == 0) {
      check_fails(rondo_recv(&value, 1, RONDO_INT32, 1, 9, rank.comm, nullptr, nullptr), RONDO_TIMEOUT,
                  {"rank 1"}, rank.comm);
      return;
    }
    const FewDescriptors few(0);
    check(rondo_set_timeout(rank.comm, 300), rank.comm);
    check_fails(rondo_recv(&value, 1, RONDO_INT32, 0, 0, rank.comm, nullptr, nullptr), RONDO_TIMEOUT,
                {"cannot reach rank 0 (", "cannot make a socket", "200 descriptors"}, rank.comm);
  }));
}

TEST_CASE("a rank without descriptors says so, not that another does not answer, when it waits for the end") {
  expect_success(run_world({.nranks = 2, .transport = "shm"}, [](Rank& rank) {
    check(rondo_barrier(rank.comm, nullptr), rank.comm);
    if (rank.rank == 1) {
      int value = 4;
      check_fails(rondo_recv(&value, 1, RONDO_INT32, RONDO_ANY_SOURCE, 9, rank.comm, nullptr, nullptr),
                  RONDO_TIMEOUT, {"rank 1"}, rank.comm);
      return;
    }
    const FewDescriptors few(0);
    check(rondo_set_timeout(rank.comm, 300), rank.comm);
    check_fails(rondo_finalize(rank.comm), RONDO_TIMEOUT,
                {"rank 1 (", "has not called rondo_finalize()", "cannot make a socket", "200 descriptors"},
                rank.comm);
  }));
}

TEST_CASE("a limit on the length of files is named, and ends no process") {
  expect_success(run_world({.nranks = 2, .transport = "shm"}, [](Rank& rank) {
    Owned comm;
    check(rondo_duplicate(rank.comm, comm.out()), rank.comm);
    check(rondo_barrier(rank.comm, nullptr), rank.comm);
    rlimit before{};
    ::getrlimit(RLIMIT_FSIZE, &before);
    const rlimit little{4096, before.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &little);
    int value = 4;
    check_fails(rondo_send(&value, 1, RONDO_INT32, 1 - rank.rank, 0, comm.get(), nullptr), RONDO_SYSTEM_ERROR,
                {"rank ", " bytes of shared memory: File too large", "4096 bytes in a file: ulimit -f"},
                comm.get());
    ::setrlimit(RLIMIT_FSIZE, &before);
  }));
}

TEST_CASE("a process that may start no thread gets an error, and nothing hangs") {
  if (kSanitized) return;  // sanitizers start threads of their own
  Process child([] {
    constexpr uid_t kAnybody = 64'321;  // the limit does not apply to root
    require(::geteuid() != 0 || (::setgid(kAnybody) == 0 && ::setuid(kAnybody) == 0), "it stays root");
    const rlimit none{0, 0};
    ::setrlimit(RLIMIT_NPROC, &none);
    std::array<rondo_comm_t, 3> comms{};
    check_fails(rondo_init_all(comms.data(), 3, nullptr), RONDO_SYSTEM_ERROR, {"cannot start a thread"});
  });
  CHECK(child.wait().failure() == "");
}

/// A rank in the middle of the tree buffers its subtree's blocks.
TEST_CASE("a rank without memory is named at all ranks, with its limit") {
  if (kSanitized) return;     // sanitizers need unlimited address space
  ::mallopt(M_ARENA_MAX, 1);  // what fails would be tried in the arena of a thread, which has room
  for (const bool grouped : {false, true}) {
    expect_success(run_world({.nranks = 4, .transport = "shm"}, [=](Rank& rank) {
      ::mallopt(M_MMAP_THRESHOLD, 1 << 20);  // so that no long allocation reuses freed memory
      ::setenv("RONDO_ALGORITHM", "gather=binomial;reduce=binomial", 1);
      ::setenv("RONDO_SLOT_BYTES", "4194304", 1);  // how much of a block the rank buffers
      Owned comm;
      const rondo_config_t config = RONDO_CONFIG_INITIALIZER;  // reads the environment
      check(rondo_split(rank.comm, 0, rank.rank, comm.out(), &config), rank.comm);
      const size_t most = size_t{16} << 20;
      const std::vector<std::byte> sent(most);
      std::vector<std::byte> got(rank.rank == 0 ? 4 * most : 0);
      const auto gather = [&](size_t bytes) {
        if (grouped) check(rondo_group_start());
        const rondo_status_t status =
            rondo_gather(sent.data(), got.data(), bytes, RONDO_UINT8, 0, comm.get(), nullptr);
        return grouped ? rondo_group_end() : status;
      };
      // Connections allocate memory too: make them first.
      check(rondo_reduce(sent.data(), got.data(), 1, RONDO_UINT8, RONDO_SUM, 0, comm.get(), nullptr),
            comm.get());
      check(rondo_barrier(rank.comm, nullptr), rank.comm);  // until all ranks have them
      const std::vector<std::string> words{"rank 2 (", "out of memory (this process may have ",
                                           " bytes of address space: ulimit -v)"};
      if (rank.rank == 2) {
        const LittleMemory little(size_t{2} << 20);
        check_fails(gather(most), RONDO_OUT_OF_MEMORY, words);
      } else {
        rondo_status_t status = gather(most);
        if (status == RONDO_OK) status = rondo_barrier(comm.get(), nullptr);  // a leaf may have finished
        check_fails(status, RONDO_OUT_OF_MEMORY, words);
      }
      check(rondo_barrier(rank.comm, nullptr), rank.comm);
    }));
  }
}

}  // namespace
}  // namespace rondo::test
