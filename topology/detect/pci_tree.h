// SPDX-License-Identifier: Apache-2.0
// The PCI tree above the added devices: switches with the links between them. A link has two ends
// in sysfs, the port above and the function below; the Machine, as NCCL's files, has one device for it:
//
//   sysfs                                    Machine
//   0000:10:00.0  root port
//     0000:11:00.0  port of a switch, up     0000:11:00.0 switch
//       0000:12:00.0  port of it, down
//         0000:13:00.0  GPU                    0000:13:00.0 GPU
//       0000:12:01.0  port of it, down
//         0000:14:00.0  NIC                    0000:14:00.0 NIC
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "detect/pci_functions.h"
#include "detect/sysfs.h"
#include "graph/machine.h"

namespace rondo {

/// The PCI functions from a root of the host to a device, each below the one before. Empty: no PCI device.
struct PciPath {
  std::vector<std::string> bus_ids;
  std::vector<std::string> folders;

  /// The last bus id without the function: functions of one card share it, and the link.
  std::string slot() const { return bus_ids.back().substr(0, bus_ids.back().rfind('.')); }
};

/// From "devices/pci0000:10/0000:10:00.0/0000:11:00.0/net/eth0".
PciPath pci_path_of(std::string_view device);

/// Of a function. Empty: sysfs does not show it.
PciPath pci_path_of_function(Sysfs& sysfs, const std::string& bus_id);

class PciTree {
 public:
  explicit PciTree(Sysfs& sysfs) : sysfs_(sysfs) {}

  /// Adds the last device of a path that is not empty, and the switches above it, unless they are there. The
  /// reference is valid until the next one is added.
  PciDevice& add(const PciPath& path);

  /// The same for a GPU that its driver shows, which sysfs may hide: the path is empty then.
  PciDevice& add_gpu(const PciPath& path, const std::string& bus_id);

  /// Moves the tree into the NUMA nodes. Call it once, after all devices were added.
  void move_into(std::vector<NumaNode>& nodes);

 private:
  /// What one end says of a link; the numbers are 0 and the words empty if it says nothing.
  struct LinkEnd {
    std::string speed;
    int64_t lane_kBps = 0;
    int lanes = 0;
  };

  PciDevice& add_hidden(const std::string& bus_id);
  PciDevice& find_or_read(std::vector<PciDevice>& level, const PciPath& path, size_t index);
  PciDevice read(const PciPath& path, size_t index);
  void read_link(PciDevice& device, const std::string& below, const std::string& above);
  static std::string text_of(const LinkEnd& end);
  LinkEnd read_end(const std::string& folder, const char* which);
  bool forget_emulated_links(PciDevice& device);
  NumaNode& node_of(const PciDevice& root, std::vector<NumaNode>& nodes);
  void report_hidden_bridges();

  Sysfs& sysfs_;
  std::vector<PciDevice> roots_;       // ascending by bus id, as those below each device
  std::set<std::string> single_lane_;  // bus ids of devices that can use one lane at most
  std::set<std::string> below_ports_;  // bus ids of roots that have a port above them
  bool has_hidden_ = false;
};

}  // namespace rondo
