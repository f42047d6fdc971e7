// SPDX-License-Identifier: Apache-2.0
// Machine: what one host consists of, as a file or the detector describes it: NUMA nodes, the PCI devices
// below them, GPUs with their NVLink or xGMI links, and network ports. Plain data. It keeps every attribute
// of the file it was read from, and its numbers as they were there; TopologyGraph derives links and
// bandwidths from it. Any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"

namespace rondo {

/// Names and values of attributes that no code here interprets, in the order of the file.
using Attributes = std::vector<std::pair<std::string, std::string>>;

/// An element of the file that no code here interprets: <pcilink>, <gin>, <rma>.
struct OtherElement {
  std::string name;
  Attributes attributes;
  int line = 0;  // of the file; 0: none
  friend bool operator==(const OtherElement&, const OtherElement&) = default;
};

/// A PCI address in its usual form: "0000:3b:00.0", hexadecimal digits in lower case. The domain has at least
/// four digits; switches that are not visible have "fffffff:ff:ff.0" in NCCL's files.
Result<std::string> normalized_bus_id(std::string_view text);

/// As NCCL's files have them: the PCI class of NVSwitches, and the address of those that are not visible.
inline constexpr const char* kNvSwitchClass = "0x068000";
inline constexpr const char* kHiddenSwitchBusId = "fffffff:ff:ff.0";

/// PCI numbers of makers of GPUs, as the kernel prints them.
inline constexpr const char* kNvidiaVendor = "0x10de";
inline constexpr const char* kAmdVendor = "0x1002";

/// What descriptions may have at most. Whatever reads files or hosts refuses more, or leaves it out and says
/// so.
inline constexpr int kMaxNumaId = 65'535;
inline constexpr size_t kMaxNumaNodes = 64;     // of a host: each is joined to each; limits take a second
inline constexpr size_t kMaxGpusOfHost = 512;   // paths between all of them take a second and 64 MiB
inline constexpr int kMaxGpuDev = 65'535;       // GpuInfo::dev
inline constexpr int kMaxSm = 65'535;           // GpuInfo::sm
inline constexpr int kMaxParallelLinks = 1024;  // between two ends; a GPU has 18 today
inline constexpr int kMaxPcieLanes = 32;        // that PCI Express has
inline constexpr int kUnknownWidth = 255;       // lanes as the kernel prints them if it knows no number
inline constexpr int64_t kMaxPort_Mbps = 10'000'000;

enum class FabricKind : uint8_t { NvLink, Xgmi, C2C };

/// What is at the other end of a GPU's links.
enum class FabricTarget : uint8_t { Gpu, NvSwitch, Cpu };

/// Parallel links from a GPU to one other end, in the direction away from the GPU.
struct FabricLinks {
  FabricKind kind = FabricKind::NvLink;
  FabricTarget target = FabricTarget::Gpu;
  std::string target_bus_id;  // empty for C2C, which ends at the GPU's own NUMA node
  std::string target_class;   // as the file has it: "0x068000"
  int count = 1;
  int64_t link_MBps = 0;  // C2C: of one link, from the file; 0: as the GPU's generation has it
  Attributes extra;
  int line = 0;  // of the file; 0: none
  friend bool operator==(const FabricLinks&, const FabricLinks&) = default;
};

struct GpuInfo {
  int dev = -1;     // number among the host's GPUs, as CUDA counts; -1: unknown
  int rank = -1;    // in the communicator that the file was written by; -1: none
  int sm = 0;       // compute capability, 90 for 9.0; for AMD's GPUs the number of compute units; 0: unknown
  std::string gfx;  // AMD: "908", "gfx942"; empty: another maker's GPU
  int gdr = -1;     // whether NICs can read its memory (1), cannot (0); -1: unknown
  std::vector<FabricLinks> links;
  Attributes extra;
  int line = 0;
  friend bool operator==(const GpuInfo&, const GpuInfo&) = default;
};

/// A port of a network interface.
struct NetPort {
  std::string name;        // "mlx5_0"
  int dev = -1;            // number among the host's ports; -1: unknown
  int64_t speed_Mbps = 0;  // megabits per second; 0: unknown
  int rail = -1;           // ports of equal rail are joined by the same leaf switches; -1: unknown
  int plane = -1;          // likewise for networks that are not joined at all; -1: unknown
  Attributes extra;        // port, guid, latency, maxconn, gdr, coll, keep, ...
  int line = 0;
  friend bool operator==(const NetPort&, const NetPort&) = default;
};

/// A PCI function or bridge, with what lies below it.
struct PciDevice {
  std::string bus_id;
  std::string pci_class;   // "0x030200"; the first two digits are the kind
  std::string link_speed;  // of the link towards the CPU: "16.0 GT/s PCIe"; may be empty
  int link_width = 0;      // lanes of that link; 0: unknown
  std::optional<GpuInfo> gpu;
  std::vector<NetPort> ports;  // of a network interface
  bool has_nic = false;        // the file has a <nic> here, with or without ports
  std::vector<PciDevice> below;
  Attributes extra;      // vendor, device, ...
  Attributes nic_extra;  // of the <nic>
  std::vector<OtherElement> other, nic_other;
  int line = 0;
  friend bool operator==(const PciDevice&, const PciDevice&) = default;
};

struct NumaNode {
  int id = 0;            // the operating system's number; -1: the host does not say
  std::string affinity;  // mask of CPUs, as the kernel prints it
  std::string arch;      // "x86_64", "arm64", "ppc64"
  std::string vendor;    // "GenuineIntel", "AuthenticAMD"
  int family = -1;       // of the processor; -1: unknown
  int model = -1;
  std::vector<PciDevice> devices;
  std::vector<NetPort> ports;  // of network interfaces without a PCI device: bridges, tunnels
  bool has_nic = false;
  Attributes extra;
  Attributes nic_extra;
  std::vector<OtherElement> nic_other;
  int line = 0;
  friend bool operator==(const NumaNode&, const NumaNode&) = default;
};

struct Machine {
  std::string source;  // the file it was read from, or "this host"; in front of what is said about it
  int version = 1;     // of NCCL's format: 2 as RCCL writes it
  std::vector<NumaNode> numa;
  /// Whether GPUs below one PCI switch reach one another there. Files do not say; the detector may know.
  std::optional<bool> p2p_below_switches;
  Attributes extra;
  /// What the reader or the detector has replaced or guessed, each a sentence with file and line.
  std::vector<std::string> repairs;
};

/// "FILE:LINE", for errors and repairs; without a line "FILE".
std::string place(const Machine& machine, int line);

}  // namespace rondo
