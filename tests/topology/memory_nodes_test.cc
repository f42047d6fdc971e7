// SPDX-License-Identifier: Apache-2.0
// Which memory nodes are near CPUs, from folders like /sys.
#include "topology/memory_nodes.h"

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "catch.h"
#include "folder.h"
#include "topology/binding.h"

using namespace rondo;

namespace {

class NodeFolder {
 public:
  void add(const std::string& name, const std::string& cpus, const std::string& distances) {
    const std::string node = folder_ / ("devices/system/node/" + name);
    std::filesystem::create_directories(node);
    std::ofstream(node + "/cpulist") << cpus << '\n';
    if (!distances.empty()) std::ofstream(node + "/distance") << distances << '\n';
  }
  MemoryDistances from(const std::vector<int>& cpus) const { return memory_distances(cpus, folder_.path()); }
  MemoryDistances from_node(int node) const { return memory_distances_of_node(node, folder_.path()); }

 private:
  const test::Folder folder_;
};

}  // namespace

TEST_CASE("memory nodes are as far from CPUs as from the nearest of them") {
  NodeFolder host;
  host.add("node0", "0-3,8", "10 12 32");
  host.add("node1", "4-7", "12 10 32");
  host.add("node10", "9", "32 32 10");
  CHECK(host.from({8}) == MemoryDistances{{0, 10}, {1, 12}, {10, 32}});
  CHECK(host.from({9}) == MemoryDistances{{0, 32}, {1, 32}, {10, 10}});
  CHECK(host.from({3, 4}) == MemoryDistances{{0, 10}, {1, 10}, {10, 32}});
  CHECK(host.from({11}).empty());
  CHECK(host.from({}).empty());
  CHECK(host.from_node(1) == MemoryDistances{{0, 12}, {1, 10}, {10, 32}});
  CHECK(host.from_node(2).empty());
  CHECK(host.from_node(-1).empty());
}

TEST_CASE("one node is local to CPUs, or none is the only one") {
  CHECK(local_memory_node({{0, 12}, {1, 10}}) == 1);
  CHECK(local_memory_node({{0, 10}, {1, 10}}) == -1);
  CHECK(local_memory_node({}) == -1);
}

TEST_CASE("memory nodes without CPUs and without sound distances are told") {
  NodeFolder host;
  host.add("node0", "0-1", "10 many");
  host.add("node1", "2", "");
  host.add("node2", "", "17 28 10");
  host.add("nodes", "0-2", "10");
  CHECK(host.from({0}) == MemoryDistances{{0, 10}, {1, 20}, {2, 20}});
  CHECK(host.from({2}) == MemoryDistances{{0, 20}, {1, 10}, {2, 20}});
}

TEST_CASE("this thread's CPUs have a local memory node, if the kernel shows any") {
  const MemoryDistances distances = memory_distances(bound_cpus().value());
  if (distances.empty()) return;
  CHECK(
      std::any_of(distances.begin(), distances.end(), [](auto& one) { return one.second == kLocalMemory; }));
}
