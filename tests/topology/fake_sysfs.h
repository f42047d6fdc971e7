// SPDX-License-Identifier: Apache-2.0
// A folder that looks like the /sys of a Machine, as far as detect_machine() reads it.
#pragma once

#include <map>
#include <string>

#include "folder.h"
#include "graph/machine.h"

namespace rondo::test {

class FakeSysfs : public Folder {
 public:
  /// In memory: some hundred files a machine take seconds on a disk.
  FakeSysfs() : Folder("/dev/shm") {}
  explicit FakeSysfs(const Machine& machine) : FakeSysfs() { write(machine); }

  /// Writes a file with a line, and the folders above it.
  void file(const std::string& path, const std::string& line) const;

  /// Makes a symbolic link to a path in this folder, and the folders above it.
  void link(const std::string& path, const std::string& target) const;

  /// The folder of a PCI function.
  std::string function(const std::string& bus_id) const { return "bus/pci/devices/" + bus_id; }

  void write(const Machine& machine);

 private:
  void write_processor(const NumaNode& numa) const;
  void write_tree(const PciDevice& device, const std::string& above, int numa_id);
  void write_function(const PciDevice& device, const std::string& bus_id, const std::string& folder,
                      int numa_id) const;
  void write_kfd(const Machine& machine);
  void write_kfd_links(const GpuInfo& gpu, const std::string& folder) const;
  void write_port(const NetPort& port, const std::string& function) const;
  std::string new_port(const PciDevice& below, const std::string& above, int numa_id);

  std::map<std::string, int> kfd_nodes_;  // of AMD's GPUs, by bus id
  int next_port_ = 0;                     // of bridges that a Machine does not have
};

}  // namespace rondo::test
