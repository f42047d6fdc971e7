// SPDX-License-Identifier: Apache-2.0
#include "owned_topology.h"

#include <algorithm>
#include <filesystem>

#include "program.h"

namespace rondo::tool {

std::vector<std::pair<std::string, std::string>> known_machines() {
  std::vector<std::pair<std::string, std::string>> known;
  for (int i = 0;; ++i) {
    const char *name = nullptr, *summary = nullptr;
    require(rondo_topology_known(i, &name, &summary));
    if (name == nullptr) return known;
    known.emplace_back(name, summary);
  }
}

OwnedTopology topology_from_file(const std::string& path, const rondo_topology_config_t& config) {
  rondo_topology_t topology = nullptr;
  require(rondo_topology_load(&topology, path.c_str(), &config));
  return OwnedTopology(topology);
}

OwnedTopology topology_of_this_host(const rondo_topology_config_t& config) {
  rondo_topology_t topology = nullptr;
  require(rondo_topology_detect(&topology, &config));
  return OwnedTopology(topology);
}

OwnedTopology topology_of_job(const rondo_topology_config_t& config) {
  rondo_comm_t comm = nullptr;
  require(rondo_init(&comm, nullptr, nullptr));
  rondo_topology_t topology = nullptr;
  const rondo_status_t detected = rondo_topology_detect_all(&topology, comm, &config);
  const std::string failure = rondo_last_error(comm);
  OwnedTopology owned(topology);
  int rank = 0;
  require(rondo_rank(comm, &rank));
  // After a failure too: to ranks that have not heard of it yet, an exit would be a death.
  const rondo_status_t destroyed = rondo_destroy(comm);
  if (detected != RONDO_OK) fail(failure);
  require(destroyed);
  if (rank != 0) owned.reset();
  return owned;
}

OwnedTopology topology_by_name(const std::string& name, const rondo_topology_config_t& config) {
  rondo_topology_t topology = nullptr;
  require_options(rondo_topology_named(&topology, name.c_str(), &config));
  return OwnedTopology(topology);
}

OwnedTopology topology_from(const std::string& name_or_path, const rondo_topology_config_t& config) {
  const bool is_known = std::ranges::any_of(
      known_machines(), [&](const auto& machine) { return machine.first == name_or_path; });
  // What cannot be a file's name gets the error that lists the machines.
  std::error_code ignored;
  const bool is_path =
      std::filesystem::exists(name_or_path, ignored) || name_or_path.find_first_of("./") != std::string::npos;
  return is_known || !is_path ? topology_by_name(name_or_path, config)
                              : topology_from_file(name_or_path, config);
}

}  // namespace rondo::tool
