// SPDX-License-Identifier: Apache-2.0
// Descriptions of machines whose GPUs are those of this host.
#pragma once

#include <rondo/topology.h>

#include <fstream>
#include <sstream>
#include <string>

#include "folder.h"
#include "formats/nccl_xml.h"
#include "gpu.h"
#include "graph/topology_graph.h"

namespace rondo::test {

inline void replace_all(std::string& text, const std::string& from, const std::string& to) {
  for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
}

/// Describes a well-known machine in a file, whose GPU i is now this process's GPU i.
inline std::string file_of_these_gpus(const Folder& folder, const char* name, int gpus) {
  const std::string path = folder / name;
  rondo_topology_t topology = nullptr;
  check(rondo_topology_named(&topology, name, nullptr));
  check(rondo_topology_save(topology, path.c_str()));
  rondo_topology_free(topology);
  std::stringstream read;
  read << std::ifstream(path).rdbuf();
  std::string text = read.str();
  const TopologyGraph graph = TopologyGraph::build(machine_from_nccl_xml(text, name).take()).take();
  for (int dev = 0; dev < gpus; ++dev)
    replace_all(text, graph.node(graph.gpus()[static_cast<size_t>(dev)]).bus_id, fmt::format("GPU {}", dev));
  replace_all(text, "\"0000:", "\"0001:");  // of switches, which could have the same
  for (int dev = 0; dev < gpus; ++dev) replace_all(text, fmt::format("GPU {}", dev), gpu::bus_id(dev).take());
  std::ofstream(path) << text;
  return path;
}

}  // namespace rondo::test
