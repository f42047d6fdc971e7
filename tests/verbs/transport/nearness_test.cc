// SPDX-License-Identifier: Apache-2.0
// Connections use the ports nearest to their ranks, and ranks share those of equal distance.
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "../../transports/ends.h"
#include "../../transports/traffic.h"
#include "base/log.h"
#include "folder.h"
#include "in_process.h"
#include "process.h"
#include "relayed.h"
#include "topology/binding.h"
#include "transports/zero_copy.h"

namespace rondo::verbs_test {
namespace {

/// A folder like /sys: two memory nodes, each with one of these CPUs, a root of the PCI bus and a device.
class TwoNodes {
 public:
  explicit TwoNodes(const std::vector<int>& cpus) {
    for (size_t node = 0; node < 2; ++node) {
      const std::string name = std::to_string(node);
      write("devices/system/node/node" + name + "/cpulist", std::to_string(cpus[node]));
      const std::string root = "devices/pci000" + name + ":00/000" + name + ":00:01.0/";
      write(root + "000" + name + ":01:00.0/numa_node", name);
      write(root + "000" + name + ":02:00.0/numa_node", name);
      link("class/infiniband/rondo_" + name + "/device", root + "000" + name + ":01:00.0");
      link("bus/pci/devices/000" + name + ":02:00.0", root + "000" + name + ":02:00.0");
    }
  }
  const std::string& path() const { return folder_.path(); }

 private:
  void write(const std::string& file, const std::string& text) {
    const std::filesystem::path path = folder_ / file;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text << '\n';
  }
  void link(const std::string& from, const std::string& to) {
    std::filesystem::create_directories(std::filesystem::path(folder_ / from).parent_path());
    std::filesystem::create_symlink(folder_ / to, folder_ / from);
  }
  const test::Folder folder_;
};

/// What two ranks at one place log when they connect.
std::string log_of_ends(const TwoNodes& host, const std::string& devices,
                        const std::function<void(ConnectionParams&)>& place) {
  return log_of({{"_DEVICES", devices}, {"_SYS", host.path()}}, [&] {
    ::setenv("SYSFS_PATH", host.path().c_str(), 1);
    ::setenv("RONDO_LOG", "info", 1);
    test::require(read_log_level().ok(), "RONDO_LOG");
    ConnectionParams params = test::small_params();
    place(params);
    test::Ends ends;
    const Transport& row = *transport_by_name("verbs").value();
    ends.dialler = ends.connect(row, params, true).take();
    ends.acceptor = ends.connect(row, params, false).take();
    test::require(test::eventually([&] { return ends.dialler->acquire() != nullptr; }), "not connected");
  });
}

UsableFabrics taken_fabrics() {
  auto found = UsableFabrics::find();
  test::require(found.ok(), found.status().message());
  return found.take();
}

bool uses(const std::string& log, const std::string& port) {
  return log.find("rank 1 is reached by " + port + " ") != std::string::npos;
}

}  // namespace

TEST_CASE("messages pass through memory of a GPU only if a port is near it, unless the user decides") {
  const TwoNodes host({0, 1});
  const auto obstacle = [&](const std::string& gpu, const char* variable) {
    const std::string log = log_of({{"_DEVICES", "roce"}, {"_SYS", host.path()}}, [&] {
      ::setenv("SYSFS_PATH", host.path().c_str(), 1);
      if (variable != nullptr) ::setenv("RONDO_IB_GPU_DIRECT", variable, 1);
      ConnectionParams params = test::small_params();
      params.gpu = gpu;
      test::Ends ends;
      const Transport& row = *transport_by_name("verbs").value();
      ends.dialler = ends.connect(row, params, true).take();
      ends.acceptor = ends.connect(row, params, false).take();
      test::require(test::eventually([&] { return ends.dialler->acquire() != nullptr; }), "not connected");
      rondo::log().warn("obstacle: '{}'", ends.dialler->zero_copy()->gpu_obstacle());
    });
    return log.substr(log.find("obstacle: "));
  };
  const std::string far =
      "obstacle: 'rondo_0:1 is not below the same PCI root as the GPU (RONDO_IB_GPU_DIRECT=1 uses it "
      "anyway)'\n";
  CHECK(obstacle("0000:02:00.0", nullptr) == "obstacle: ''\n");
  CHECK(obstacle("0001:02:00.0", nullptr) == far);
  CHECK(obstacle("", nullptr) == far);
  CHECK(obstacle("0001:02:00.0", "1") == "obstacle: ''\n");
  CHECK(obstacle("0000:02:00.0", "0") == "obstacle: 'RONDO_IB_GPU_DIRECT is 0'\n");
}

/// The conversation's second half, after the near port has failed.
TEST_CASE("a port far from a GPU, which takes over, does not use its memory") {
  const TwoNodes host({0, 1});
  const std::string log = log_of({{"_DEVICES", "roce,roce"}, {"_SYS", host.path()}}, [&] {
    ::setenv("SYSFS_PATH", host.path().c_str(), 1);
    ::setenv("RONDO_IB_TIMEOUT", "12", 1);
    ::setenv("RONDO_IB_RETRY", "2", 1);
    ::setenv("RONDO_LOG", "info", 1);
    test::require(read_log_level().ok(), "RONDO_LOG");
    ConnectionParams params = test::small_params(40'000);
    params.gpu = "0000:02:00.0";
    const Transport& row = *transport_by_name("verbs").value();
    test::Ends ends;
    std::vector<std::unique_ptr<RelayedConnection>> relayed;
    std::vector<test::Talker> talkers;
    const auto gpu_of = [&] { return std::make_shared<FakeGpu>(Relay::gpu_bytes(params)); };
    auto dialler = ends.connect(row, params, true).take();
    auto acceptor = ends.connect(row, params, false).take();
    test::require(test::eventually([&] { return dialler->acquire() && acceptor->acquire(); }),
                  "not connected");
    relayed.push_back(std::make_unique<RelayedConnection>(std::move(dialler), params, gpu_of()));
    relayed.push_back(std::make_unique<RelayedConnection>(std::move(acceptor), params, gpu_of()));
    for (size_t end = 0; end < 2; ++end)
      talkers.emplace_back(*relayed[end], test::Conversation{.messages = 100, .full = true}, end == 0);
    uint64_t sent = 0;
    const bool in_time = test::eventually([&] {
      while (talkers[0].send())
        if (++sent == 50) command("port_down 0/rondo_0:1");
      while (talkers[0].receive() || talkers[1].send() || talkers[1].receive()) continue;
      for (const auto& end : relayed) test::require(end->status().ok(), "failed");
      return talkers[0].done() & talkers[1].done();
    });
    test::require(in_time && talkers[0].fault().empty() && talkers[1].fault().empty(), "not right");
  });
  INFO(log);
  CHECK(uses(log, "rondo_1:1"));
  CHECK(log.find("of a GPU are registered with rondo_0 ") != std::string::npos);
  CHECK(log.find("of a GPU are registered with rondo_1 ") == std::string::npos);
}

TEST_CASE("a rank uses the port of the memory node of its CPUs") {
  const std::vector<int> cpus = bound_cpus().value();
  if (cpus.size() < 2) {
    WARN("skipped: this process may use one CPU only");
    return;
  }
  const TwoNodes host(cpus);
  for (size_t node = 0; node < 2; ++node) {
    const std::string log = log_of_ends(
        host, "roce,roce", [&](ConnectionParams&) { test::require(bind_thread(cpus[node]).ok(), "bound"); });
    INFO(log);
    CHECK(uses(log, "rondo_" + std::to_string(node) + ":1"));
  }
}

TEST_CASE("a rank with a GPU uses the port below the same root of the PCI bus") {
  const TwoNodes host({0, 1});
  for (const std::string node : {"0", "1"}) {
    const std::string log = log_of_ends(host, "roce,roce", [&](ConnectionParams& params) {
      params.gpu = "000" + node + ":02:00.0";
      params.turn = 5;
    });
    INFO(log);
    CHECK(uses(log, "rondo_" + node + ":1"));
  }
}

TEST_CASE("a rank says which ports are near its GPU, and how fast they are, unless ports share a number") {
  const TwoNodes host({0, 1});
  const auto said = [&](const std::string& gpu, const char* ports) {
    const std::string log = log_of({{"_DEVICES", "roce:2:200,roce:1:400"}, {"_SYS", host.path()}}, [&] {
      ::setenv("SYSFS_PATH", host.path().c_str(), 1);
      if (ports != nullptr) ::setenv("NCCL_IB_HCA", ports, 1);
      const Fabrics fabrics = taken_fabrics().of_rank(gpu);
      const Transport& row = *transport_by_name("verbs").value();
      const NearPorts near = fabric_ports(row, fabrics);
      rondo::log().warn("said: {} of {}, {} in all", near.rails, near.rate_Gbps,
                        fabric_rate_Gbps(row, fabrics));
    });
    return log.substr(log.find("said: "));
  };
  CHECK(said("0000:02:00.0", nullptr) == "said: 3 of 200, 400 in all\n");
  CHECK(said("0001:02:00.0", nullptr) == "said: 4 of 400, 400 in all\n");
  CHECK(said("0001:02:00.0", "rondo_0:1,rondo_1:1") == "said: 4 of 400, 400 in all\n");
  CHECK(said("0001:02:00.0", "rondo_0:1:7,rondo_1:1:7") == "said: 0 of 0, 400 in all\n");
}

TEST_CASE("ranks take ports of equal distance in turn") {
  const TwoNodes host({0, 1});
  for (const uint32_t turn : {0, 1, 2}) {
    const std::string log =
        log_of_ends(host, "roce:2", [&](ConnectionParams& params) { params.turn = turn; });
    INFO(log);
    CHECK(uses(log, turn == 1 ? "rondo_0:2" : "rondo_0:1"));
  }
}

}  // namespace rondo::verbs_test
