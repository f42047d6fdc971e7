// SPDX-License-Identifier: Apache-2.0
// OwnedTopology: a topology that is freed at the end of its scope: from a file, of a machine by its name, of
// this host, or of all hosts of a job.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "rondo/topology.h"

namespace rondo::tool {

struct FreeTopology {
  void operator()(rondo_topology_t topology) const { rondo_topology_free(topology); }
};
using OwnedTopology = std::unique_ptr<rondo_topology, FreeTopology>;

/// Names and summaries of the well-known machines.
std::vector<std::pair<std::string, std::string>> known_machines();

/// These end the program with the library's error if they fail.
OwnedTopology topology_from_file(const std::string& path, const rondo_topology_config_t& config);
OwnedTopology topology_of_this_host(const rondo_topology_config_t& config);
/// Joins the ranks that a launcher started along with this one; null at all of them but the first.
OwnedTopology topology_of_job(const rondo_topology_config_t& config);
OwnedTopology topology_by_name(const std::string& name, const rondo_topology_config_t& config);
/// A well-known machine if one has that name, else a file.
OwnedTopology topology_from(const std::string& name_or_path, const rondo_topology_config_t& config);

}  // namespace rondo::tool
