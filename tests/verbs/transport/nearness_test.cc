// SPDX-License-Identifier: Apache-2.0
// Connections use the ports nearest to their ranks, and ranks share those of equal distance.
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "../../transports/ends.h"
#include "base/log.h"
#include "folder.h"
#include "in_process.h"
#include "process.h"
#include "topology/binding.h"

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

bool uses(const std::string& log, const std::string& port) {
  return log.find("rank 1 is reached by " + port + " ") != std::string::npos;
}

}  // namespace

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
