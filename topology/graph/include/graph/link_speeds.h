// SPDX-License-Identifier: Apache-2.0
// What one link carries in one direction, by its generation. The only place in Rondo that states these
// figures; each row of link_speeds.cc names its source. Pure functions: any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "graph/machine.h"

namespace rondo {

/// An NVLink of GPUs of this compute capability (90 for 9.0), in kB/s.
int64_t nvlink_kBps(int sm);

/// Whether the NVSwitches of such GPUs sum what GPUs send, and copy to several of them (NVLS).
bool nvswitches_combine(int sm);

/// The same link in MB/s as hwloc's matrix NVLinkBandwidth has it: the rate of its NVLink version.
int64_t nvlink_hwloc_MBps(int sm);

/// An xGMI link of AMD's GPUs: "908", "gfx90a", "gfx942".
int64_t xgmi_kBps(std::string_view gfx);

/// The lanes of a link; of one that has none, as virtual machines show links, 16.
constexpr int pcie_lanes(int link_width) { return link_width > 0 ? link_width : 16; }

/// A PCIe link by the kernel's words ("16.0 GT/s PCIe") and its lanes, as pcie_lanes() takes them. If the
/// speed is empty, generation 3. Nothing: the speed is not one of PCIe's.
std::optional<int64_t> pcie_kBps(std::string_view speed, int lanes);

/// A PCIe link: pcie_kBps() takes it.
struct PcieLink {
  std::string speed;
  int lanes = 0;
};

/// The link whose lanes carry this after their line code, in kB/s, as hwloc states it. If several
/// do, the one of the oldest generation with up to 16 lanes: their bandwidth is the same. Nothing: none does.
std::optional<PcieLink> pcie_link_of(int64_t kBps);

/// Between the NUMA nodes of a host.
int64_t socket_kBps(const NumaNode& numa);

/// Whether PCIe traffic between GPUs through this processor takes 6/5 of its bytes (Intel).
bool has_p2p_overhead(const NumaNode& numa);

/// A network port, by its speed in megabits per second.
constexpr int64_t port_kBps(int64_t speed_Mbps) { return speed_Mbps * 125; }

}  // namespace rondo
