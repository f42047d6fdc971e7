// SPDX-License-Identifier: Apache-2.0
// How devices, their fabric and forked children begin and end.
#include <dlfcn.h>
#include <signal.h>
#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>

#include "catch.h"
#include "clock.h"
#include "ends.h"
#include "folder.h"

namespace rondo::verbs_test {
namespace {

TEST_CASE("a forked child may open devices, but not use those of its parent") {
  CHECK(in_process({}, [] {
          End end;
          const std::string opens = in_process({}, [&] {
            End own, other;
            connect(own, other);
            own.post(own.request(IBV_WR_RDMA_WRITE, other.address(), 0, 8));
            next_is(own.send_cq, IBV_WC_SUCCESS);
          });
          require(opens.empty(), opens);
          if (!is_standin()) return;
          const std::string uses = in_process({}, [&] {
            ::signal(SIGABRT, SIG_DFL);
            ibv_destroy_qp(end.pair);
          });
          require(uses.find("Aborted") != std::string::npos, "the stand-in ends such a child: " + uses);
          require(end.state() == IBV_QPS_INIT, "the parent's device goes on");
        }) == "");
}

/// The fabric's program, which lies beside the library.
int run_fabric(const std::string& arguments) {
  Dl_info info{};
  require(::dladdr(::dlsym(RTLD_DEFAULT, "ibv_get_device_list"), &info) != 0, "dladdr");
  const std::string library = info.dli_fname;
  const std::string program = library.substr(0, library.find_last_of('/') + 1) + "verbs_fabric";
  const int status = std::system(
      (program + " " + arguments + " 2> /dev/null").c_str());  // NOLINT(bugprone-command-processor)
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST_CASE("a fabric takes commands from its program, and ends when its last device is closed") {
  if (!is_standin()) return;
  const test::Folder folder;
  CHECK(in_process({{"", folder.path()}}, [&] {
          {
            End end;
            require(run_fabric(folder.path() + " command port_down 0/rondo_0:1") == 0, "a command");
            require(next_event(end) == IBV_EVENT_PORT_ERR, "its event");
            require(run_fabric(folder.path() + " command port_down 0/none:1") == 1, "no such port");
            require(run_fabric(folder.path() + " command nonsense") == 1, "no such command");
          }
          for (const double until = test::seconds_now() + 20; std::filesystem::exists(folder / "fabric");
               test::sleep_ms(10))
            require(test::seconds_now() < until, "the fabric goes on");
          require(run_fabric(folder.path() + " command heal") == 1, "it has ended");
          const End again;
          require(again.port.state == IBV_PORT_ACTIVE, "a new one starts anew");
        }) == "");
}

TEST_CASE("a process that closes its device and opens it again starts anew") {
  CHECK(in_process({}, [] {
          for (int round = 0; round < 3; ++round) {
            End one, other;
            connect(one, other);
            one.post(one.request(IBV_WR_RDMA_WRITE, other.address(), 0, 8));
            next_is(one.send_cq, IBV_WC_SUCCESS);
          }
        }) == "");
}

}  // namespace
}  // namespace rondo::verbs_test
