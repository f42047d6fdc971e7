// SPDX-License-Identifier: Apache-2.0
// RONDO_IB_* and NCCL's variables, as a connection uses them.
#include <cstdlib>

#include "../../transports/ends.h"
#include "base/clock.h"
#include "base/log.h"
#include "folder.h"
#include "in_process.h"
#include "process.h"
#include "verbs/device.h"

namespace rondo::verbs_test {
namespace {

using test::Ends;
using test::require;

/// A connection within one process, whose ends are connected or have failed.
Ends settled_ends() {
  const Transport& verbs = *transport_by_name("verbs").value();
  Ends ends;
  ends.dialler = ends.connect(verbs, test::small_params(), true).take();
  ends.acceptor = ends.connect(verbs, test::small_params(), false).take();
  const auto is_settled = [](Connection& end) { return end.acquire() != nullptr || !end.status().ok(); };
  require(test::eventually([&] { return is_settled(*ends.dialler) && is_settled(*ends.acceptor); }),
          "neither connected nor failed");
  return ends;
}

/// The path of a connection under this variable, as the log has it; else why there is none.
std::string path_under(const char* variable, const char* value, const Variables& standin) {
  const std::string logged = log_of(standin, [&] {
    ::setenv("RONDO_LOG", "debug", 1);
    ::setenv(variable, value, 1);
    require(read_log_level().ok(), "log level");
    const Ends ends = settled_ends();
    if (!ends.dialler->status().ok())
      log().debug("rank 1 is reached by nothing: {}\n", ends.dialler->status().message());
  });
  const std::string words = "rank 1 is reached by ";
  const size_t at = logged.find(words);
  if (at == std::string::npos) return logged;
  const std::string line = logged.substr(at + words.size(), logged.find('\n', at) - at - words.size());
  return line.substr(0, line.find(": the first of all paths"));
}

Variables two_ports() { return {{"_DEVICES", "roce:2"}}; }

TEST_CASE("connections use the ports that RONDO_IB_PORTS or NCCL_IB_HCA admits") {
  CHECK(path_under("RONDO_IB_PORTS", "rondo_0:2", two_ports()) ==
        "rondo_0:2 10.9.2.1 (GID 3, RoCE v2, lo) to rondo_0:2 10.9.2.1 (GID 3, RoCE v2, lo), MTU 4096");
  CHECK(path_under("NCCL_IB_HCA", "^rondo_0:1", two_ports()).starts_with("rondo_0:2 "));
  CHECK(path_under("RONDO_IB_PORTS", "mlx5_0", two_ports()).find("no port of this host is mlx5_0") !=
        std::string::npos);
}

TEST_CASE("connections use the GID that RONDO_IB_GID or NCCL_IB_GID_INDEX names") {
  CHECK(path_under("RONDO_IB_GID", "1", {}).find("(GID 1, RoCE v2, lo)") != std::string::npos);
  CHECK(path_under("NCCL_IB_GID_INDEX", "2", {}).find("(GID 2, RoCE v1, lo)") != std::string::npos);
  CHECK(path_under("RONDO_IB_GID", "v1", {}).find("RoCE v1") != std::string::npos);
  CHECK(path_under("RONDO_IB_GID", "9", {}).find("has no GID of this index; it has 0, 1, 2, 3") !=
        std::string::npos);
}

TEST_CASE("connections are in the partition that RONDO_IB_PKEY or NCCL_IB_PKEY names") {
  const Variables standin{{"_PKEYS", "0xffff,0x8002"}};
  CHECK(path_under("RONDO_IB_PKEY", "0x8002", standin).starts_with("rondo_0:1 "));
  CHECK(path_under("NCCL_IB_PKEY", "1", standin).starts_with("rondo_0:1 "));
  CHECK(
      path_under("RONDO_IB_PKEY", "0x8003", standin)
          .find("RONDO_IB_PKEY is 0x8003: the partition keys of port rondo_0:1 are 0xffff (index 0), 0x8002 "
                "(index 1)") != std::string::npos);
}

TEST_CASE("ends in different partitions are told so") {
  const test::Folder folder;
  CHECK(in_process({{"", folder.path()}, {"_PKEYS", "0x8001,0x8002"}}, [] {
          const auto failure_with = [](Ends& ends, bool dials, const char* partition) {
            ::setenv("RONDO_IB_PKEY", partition, 1);
            auto end = ends.connect(*transport_by_name("verbs").value(), test::small_params(), dials).take();
            require(test::eventually([&] { return !end->acquire() && !end->status().ok(); }), "connected");
            return end->status();
          };
          Ends ends;
          ends.wire->prepare(Route::Tcp, 1);
          test::Process other([&] {
            const Status status = failure_with(ends, false, "0x8001");
            require(status.code() == Code::Mismatch, status.message());
          });
          const Status status = failure_with(ends, true, "0x8002");
          require(status.code() == Code::Mismatch, status.message());
          require(status.message() == "RONDO_IB_PKEY is 0x0002 at this end and 0x0001 at the other",
                  status.message());
          require(other.wait().failure().empty(), "the other end");
        }) == "");
}

/// What a connection says of itself, with these variables.
std::string described(const Variables& variables, const Variables& standin) {
  return in_process(standin, [&] {
    for (const auto& [name, value] : variables) ::setenv(name.c_str(), value.c_str(), 1);
    const Ends ends = settled_ends();
    require(ends.dialler->describe() == ends.acceptor->describe(), "the ends differ");
    require(false, ends.dialler->describe());
  });
}

TEST_CASE("a connection has a queue pair for each port, or as many as the variables say") {
  const std::string first =
      "verbs, rondo_0:1 10.9.1.1 (GID 3, RoCE v2, lo) to rondo_0:1 10.9.1.1 (GID 3, RoCE v2, lo)";
  const std::string second =
      " and rondo_0:2 10.9.2.1 (GID 3, RoCE v2, lo) to rondo_0:2 10.9.2.1 (GID 3, RoCE v2, lo)";
  const std::string mtu = ", MTU 4096";
  const auto starts = [](const std::string& text, const std::string& begin) {
    INFO(text);
    CHECK(text.find(begin) == 0);
  };
  starts(described({}, {}), first + mtu + ", 1 queue pair, ");
  starts(described({{"RONDO_IB_QPS", "3"}}, {}), first + mtu + ", 3 queue pairs, ");
  starts(described({}, two_ports()), first + mtu + second + mtu + ", 2 queue pairs, ");
  starts(described({{"RONDO_IB_QPS", "1"}}, two_ports()), first + mtu + ", 1 queue pair, ");
  starts(described({{"NCCL_IB_QPS_PER_CONNECTION", "3"}}, two_ports()),
         first + mtu + second + mtu + ", 3 queue pairs, ");
  const std::string over_devices = described({{"RONDO_IB_QPS", "4"}}, {{"_DEVICES", "roce,roce"}});
  INFO(over_devices);
  CHECK(over_devices.find(", 4 queue pairs, ") != std::string::npos);
  CHECK(over_devices.ends_with(" KiB pinned, registered with 2 devices"));
}

TEST_CASE("ends with different numbers of queue pairs are told so, one that has none set uses the other's") {
  const auto ends_with = [](const char* diallers, const char* acceptors) {
    const Transport& verbs = *transport_by_name("verbs").value();
    const auto opened = verbs::Devices::open();  // reads the environment before there are threads
    require(opened.ok(), opened.status().message());
    Ends ends;
    ::setenv("RONDO_IB_QPS", diallers, 1);
    ends.dialler = ends.connect(verbs, test::small_params(), true).take();
    ::setenv("RONDO_IB_QPS", acceptors, 1);
    ends.acceptor = ends.connect(verbs, test::small_params(), false).take();
    for (auto* end : {&ends.dialler, &ends.acceptor})
      require(test::eventually([&] { return (*end)->acquire() != nullptr || !(*end)->status().ok(); }),
              "neither");
    return ends;
  };
  CHECK(in_process({}, [&] {
          const Ends ends = ends_with("2", "4");
          for (const auto& [end, words] :
               {std::pair(&ends.dialler, "RONDO_IB_QPS is 2 at this end and 4 at the other"),
                {&ends.acceptor, "RONDO_IB_QPS is 4 at this end and 2 at the other"}}) {
            const Status status = (*end)->status();
            require(status.code() == Code::Mismatch && status.message() == words, status.message());
          }
        }) == "");
  for (const auto& [diallers, acceptors] : {std::pair("4", ""), {"", "4"}})
    CHECK(in_process({}, [&, here = diallers, there = acceptors] {
            const Ends ends = ends_with(here, there);
            require(ends.dialler->describe().find(", 4 queue pairs, ") != std::string::npos,
                    ends.dialler->describe() + ends.dialler->status().message());
          }) == "");
}

/// How many ms a connection takes to fail once nothing passes any more, and there is no other path.
int64_t ms_to_fail(const Variables& own) {
  const std::string logged = log_of({}, [&] {
    for (const auto& [name, value] : own) ::setenv(name.c_str(), value.c_str(), 1);
    Ends ends = settled_ends();
    command("port_down 0/rondo_0:1");
    const int64_t begin = now_ns();
    require(test::send_one(*ends.dialler, 100, 1, 0), "no slot");
    const auto has_failed = [&] {
      const bool both = !ends.acceptor->status().ok();  // it looks
      return !ends.dialler->flushed() && !ends.dialler->status().ok() && both;
    };
    require(test::eventually(has_failed), "no failure");
    log().warn("failed after {} ms", (now_ns() - begin) / 1'000'000);
  });
  const std::string words = "failed after ";
  return logged.find(words) == std::string::npos
             ? -1
             : std::atoi(logged.c_str() + logged.find(words) + words.size());
}

TEST_CASE("a variable's traffic class counts before the communicator's") {
  const auto described = [](const char* variable) {
    return in_process({}, [&] {
      if (variable[0] != '\0') ::setenv("RONDO_IB_TRAFFIC_CLASS", variable, 1);
      ConnectionParams params = test::small_params();
      params.traffic_class = 106;
      Ends ends;
      for (auto* const end : {&ends.dialler, &ends.acceptor})
        *end = ends.connect(*transport_by_name("verbs").value(), params, end == &ends.dialler).take();
      require(test::eventually([&] { return ends.dialler->acquire() != nullptr; }), "not connected");
      require(false, ends.dialler->describe());
    });
  };
  CHECK(described("").find(", traffic class 106") != std::string::npos);
  CHECK(described("8").find(", traffic class 8") != std::string::npos);
}

TEST_CASE("packets are sent again as late, and as often, as the variables say") {
  const auto is_about = [](int64_t took, int64_t expected) {
    return took >= expected && took < 3 * expected;
  };
  CHECK(is_about(ms_to_fail({{"RONDO_IB_TIMEOUT", "14"}, {"RONDO_IB_RETRY", "1"}}), 134));
  CHECK(is_about(ms_to_fail({{"NCCL_IB_TIMEOUT", "14"}, {"NCCL_IB_RETRY_CNT", "1"}}), 134));
  CHECK(is_about(ms_to_fail({{"RONDO_IB_TIMEOUT", "14"}}), 469));
  CHECK(is_about(ms_to_fail({}), 1879));
}

TEST_CASE("a setting that is no value is an error before anything connects") {
  CHECK(in_process({}, [] {
          ::setenv("RONDO_IB_TIMEOUT", "99", 1);
          Ends ends;
          const auto made = ends.connect(*transport_by_name("verbs").value(), test::small_params(), true);
          require(made.status().code() == Code::InvalidArgument, made.status().message());
          require(
              made.status().message() == "RONDO_IB_TIMEOUT is '99': it must be a whole number from 1 to 31",
              made.status().message());
        }) == "");
}

}  // namespace
}  // namespace rondo::verbs_test
