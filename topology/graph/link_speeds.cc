// SPDX-License-Identifier: Apache-2.0
#include "graph/link_speeds.h"

#include <charconv>
#include <cmath>
#include <cstdlib>

namespace rondo {
namespace {

constexpr int64_t kGBps = 1'000'000;  // in kB/s

// What NCCL's search assumes of an NVLink (src/graph/topo.h of NCCL 2.28), by the least compute capability
// that has it: what data gets of the rate that NVIDIA states for a link. That rate as hwloc has it, by the
// version of NVLink (hwloc/topology-nvml.c of hwloc 3).
struct NvLinkRow {
  int sm;
  int64_t kBps;
  int64_t hwloc_MBps;
};
constexpr NvLinkRow kNvLinks[] = {
    {100, 40'100'000, 50'000}, {90, 20'600'000, 25'000}, {87, 20 * kGBps, 25'000},
    {86, 12 * kGBps, 25'000},  {70, 20 * kGBps, 25'000}, {60, 18 * kGBps, 20'000},
};
constexpr NvLinkRow kUnknownNvLink = {0, 20 * kGBps, 25'000};

constexpr int kFirstCombiningSm = 90;  // NVLink SHARP: "NVIDIA H100 Tensor Core GPU Architecture", 2022

const NvLinkRow& nvlink_row(int sm) {
  for (const NvLinkRow& row : kNvLinks)
    if (sm >= row.sm) return row;
  return kUnknownNvLink;
}

// What RCCL's search assumes of an xGMI link (src/graph/topo.h of RCCL 2.22). Files name a GPU by its gfx
// number, some in decimal digits: gfx90a is 910.
struct XgmiRow {
  std::string_view gfx;
  int64_t kBps;
};
constexpr XgmiRow kXgmis[] = {
    {"94", 48 * kGBps}, {"95", 48 * kGBps}, {"90a", 36 * kGBps}, {"910", 36 * kGBps}, {"90", 24 * kGBps},
};
constexpr int64_t kOldestXgmi = 24 * kGBps;

// A lane of PCIe: the rate after its line code (8b/10b up to 5 GT/s, then 128b/130b taken as 1:1), less a
// quarter for headers, as NCCL has it (src/graph/topo.cc). The rate after the exact line code (128b/130b, of
// 64 GT/s 242B/256B) is what hwloc states (include/private/misc.h of hwloc 3).
struct PcieRow {
  double gigatransfers;
  int64_t lane_kBps;
  int64_t coded_lane_kBps;
};
constexpr PcieRow kPcie[] = {
    {2.5, 187'500, 250'000},    {5, 375'000, 500'000},      {8, 750'000, 984'615},
    {16, 1'500'000, 1'969'231}, {32, 3'000'000, 3'938'462}, {64, 6'000'000, 7'562'500},
};
constexpr int kWidths[] = {1, 2, 4, 8, 12, 16};  // lanes that links have
constexpr int64_t kSameRate = 200;               // rates that differ by less than a 200th are the same
constexpr int64_t kUnknownLane = 750'000;        // generation 3, as NCCL takes a link without a speed

// Between NUMA nodes, as NCCL's search has it (src/graph/topo.h of NCCL 2.28). Intel: by the least model of
// family 6: Sapphire Rapids 143, Emerald Rapids 207, Skylake 85.
struct IntelRow {
  int model;
  int64_t kBps;
};
constexpr IntelRow kIntel[] = {{207, 40 * kGBps}, {143, 22 * kGBps}, {85, 10 * kGBps}};
constexpr int64_t kOldIntel = 6 * kGBps;
constexpr int64_t kAmd = 16 * kGBps;
constexpr int64_t kPower = 32 * kGBps;
constexpr int64_t kOtherSocket = 6 * kGBps;  // Arm, and processors that it does not know

}  // namespace

int64_t nvlink_kBps(int sm) { return nvlink_row(sm).kBps; }

bool nvswitches_combine(int sm) { return sm >= kFirstCombiningSm; }

int64_t nvlink_hwloc_MBps(int sm) { return nvlink_row(sm).hwloc_MBps; }

int64_t xgmi_kBps(std::string_view gfx) {
  if (gfx.starts_with("gfx")) gfx.remove_prefix(3);
  for (const XgmiRow& row : kXgmis)
    if (gfx.starts_with(row.gfx)) return row.kBps;
  return kOldestXgmi;
}

std::optional<int64_t> pcie_kBps(std::string_view speed, int lanes) {
  lanes = pcie_lanes(lanes);
  if (speed.empty()) return kUnknownLane * lanes;
  double gigatransfers = 0;
  const auto [end, problem] = std::from_chars(speed.data(), speed.data() + speed.size(), gigatransfers);
  const std::string_view unit(end, static_cast<size_t>(speed.data() + speed.size() - end));
  if (problem != std::errc() || !unit.starts_with(" GT/s")) return std::nullopt;
  for (const PcieRow& row : kPcie)
    if (std::abs(row.gigatransfers - gigatransfers) < 1e-6) return row.lane_kBps * lanes;
  return std::nullopt;
}

std::optional<PcieLink> pcie_link_of(int64_t kBps) {
  for (const PcieRow& row : kPcie)
    for (const int lanes : kWidths)
      if (std::abs(row.coded_lane_kBps * lanes - kBps) * kSameRate < kBps)
        return PcieLink{fmt::format("{:.1f} GT/s PCIe", row.gigatransfers), lanes};
  return std::nullopt;
}

bool has_p2p_overhead(const NumaNode& numa) { return numa.arch == "x86_64" && numa.vendor == "GenuineIntel"; }

int64_t socket_kBps(const NumaNode& numa) {
  if (numa.arch == "ppc64" || numa.arch == "ppc64le") return kPower;
  if (numa.vendor == "AuthenticAMD") return kAmd;
  if (!has_p2p_overhead(numa)) return kOtherSocket;
  for (const IntelRow& row : kIntel)
    if (numa.family == 6 && numa.model >= row.model) return row.kBps;
  return kOldIntel;
}

}  // namespace rondo
