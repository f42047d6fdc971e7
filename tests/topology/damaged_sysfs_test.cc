// SPDX-License-Identifier: Apache-2.0
// detect_machine() on folders like /sys in which anything may be missing, or be something else.
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <random>
#include <utility>

#include "catch.h"
#include "detected.h"
#include "formats/nccl_xml.h"
#include "graph/known_machines.h"
#include "machine_content.h"
#include "nccl_host.h"
#include "sanitized.h"
#include "scoped_environment.h"
#include "seed.h"

namespace {

using namespace rondo;
using namespace rondo::test;
namespace fs = std::filesystem;

class Damage {
 public:
  Damage(const std::string& root, uint64_t seed) : root_(root), random_(seed) {}

  void add(int count) {
    for (; count > 0; --count) {
      const std::vector<fs::path> paths = all();
      if (paths.empty()) return;
      replace(paths[below(paths.size())], paths[below(paths.size())]);
    }
  }

 private:
  size_t below(size_t end) { return static_cast<size_t>(random_() % end); }

  /// Sorted, so that a seed stands for the same damage each time.
  std::vector<fs::path> all() const {
    std::vector<fs::path> paths;
    for (const auto& entry : fs::recursive_directory_iterator(root_)) paths.push_back(entry.path());
    std::ranges::sort(paths);
    return paths;
  }

  void replace(const fs::path& path, const fs::path& other) {
    const bool is_folder = fs::is_directory(fs::symlink_status(path));
    if (is_folder && below(4) != 0) return;  // else little is left
    fs::remove_all(path);
    switch (below(7)) {
      case 0: break;
      case 1: fs::create_directory(path); break;
      case 2: REQUIRE(::mkfifo(path.c_str(), 0600) == 0); break;
      case 3: fs::create_symlink(path, path); break;
      case 4: fs::create_symlink(other, path); break;
      default: std::ofstream(path) << text();
    }
  }

  std::string text() {
    static const std::string kTexts[] = {"",
                                         "\n",
                                         "-1",
                                         "0",
                                         "1",
                                         "2",
                                         "7",
                                         "255",
                                         "65535",
                                         "2147483647",
                                         "9223372036854775807",
                                         "-9223372036854775808",
                                         "0x030200",
                                         "0x060400",
                                         "0x10de",
                                         "0x1002",
                                         "4: ACTIVE",
                                         "up",
                                         "unknown",
                                         "Unknown",
                                         "400 Gb/sec (4X NDR)",
                                         "nan Gb/sec",
                                         "-1 Gb/sec",
                                         "2.5 GT/s PCIe",
                                         "64.0 GT/s PCIe",
                                         "1e9 GT/s PCIe",
                                         "ffffffff,ffffffff",
                                         "cpu:type:x86,ven",
                                         "cpu:type:aarch64:feature:",
                                         "cpu:type:x86,venzzzzfam-001mod:feature:",
                                         "<&\"'>"};
    if (below(8) != 0) return kTexts[below(std::size(kTexts))];
    std::string noise(below(6000), ' ');
    for (char& c : noise) c = static_cast<char>(random_());
    return noise;
  }

  const std::string root_;
  std::mt19937_64 random_;
};

/// What is detected makes a graph, and a file that is read again.
void check_usable(const Machine& machine) {
  const auto graph = TopologyGraph::build(machine);
  CHECK(graph.status().message() == "");
  const auto read = machine_from_nccl_xml(nccl_xml(machine), "saved.xml");
  REQUIRE(read.status().message() == "");
  CHECK(have_same_content(machine, read.value()));
}

}  // namespace

TEST_CASE("whatever is damaged, a machine is detected that can be used and saved") {
  constexpr uint64_t kTrials = kSanitized ? 20 : 100;
  const std::vector<KnownMachine> known = known_machines();
  const uint64_t first = test_seed(1);
  for (uint64_t seed = first; seed != first + kTrials; ++seed) {
    const std::string_view name = known[seed % known.size()].name;
    INFO("seed " << seed << ", " << name);
    const auto machine = known_machine(name);
    REQUIRE(machine.ok());
    const Folder folder;
    std::ofstream(folder / "listed.xml") << nccl_xml(machine.value());
    const Environment environment("RONDO_STANDIN_TOPOLOGY", folder / "listed.xml");
    const FakeSysfs sysfs(machine.value());
    Damage(sysfs.path(), seed).add(static_cast<int>(seed % 60));
    check_usable(detected(sysfs, STANDIN_NVML));
  }
}
