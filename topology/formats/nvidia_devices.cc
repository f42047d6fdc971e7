// SPDX-License-Identifier: Apache-2.0
#include "nvidia_devices.h"

#include <algorithm>
#include <iterator>

namespace rondo {
namespace {

// The chip of each number is that of the PCI ID Project's list (pci-ids.ucw.cz, May 2026), its compute
// capability that of NVIDIA's list (developer.nvidia.com/cuda-gpus). Ascending.
struct ChipRow {
  int first, last;  // PCI device numbers
  int sm;
};
constexpr ChipRow kChips[] = {
    {0x06c0, 0x06df, 20},   // GF100
    {0x0dc0, 0x0dfc, 21},   // GF106, GF108
    {0x0e22, 0x0e3b, 21},   // GF104
    {0x0f00, 0x0f06, 21},   // GF108
    {0x0fc0, 0x0fff, 30},   // GK107
    {0x1001, 0x102a, 35},   // GK110
    {0x102d, 0x102d, 37},   // GK210
    {0x102e, 0x103f, 35},   // GK110
    {0x1040, 0x107d, 21},   // GF119
    {0x1080, 0x109b, 20},   // GF110
    {0x1140, 0x1140, 21},   // GF117
    {0x1180, 0x11ff, 30},   // GK104, GK106
    {0x1200, 0x1251, 21},   // GF114, GF116
    {0x1280, 0x12ba, 35},   // GK208
    {0x1340, 0x139d, 50},   // GM108, GM107
    {0x13ad, 0x13ae, 52},   // GM204
    {0x13b0, 0x13bd, 50},   // GM107
    {0x13be, 0x1436, 52},   // GM204, GM206
    {0x15c2, 0x15ff, 60},   // GP100
    {0x1613, 0x1676, 52},   // GM204
    {0x1725, 0x172f, 60},   // GP100
    {0x174d, 0x179c, 50},   // GM108, GM107
    {0x17c2, 0x17fd, 52},   // GM200
    {0x1b00, 0x1d56, 61},   // GP102 to GP108
    {0x1d81, 0x1df6, 70},   // GV100
    {0x1e02, 0x1fff, 75},   // TU102 to TU117
    {0x2080, 0x20ff, 80},   // GA100
    {0x2182, 0x21d1, 75},   // TU116
    {0x2200, 0x223f, 86},   // GA102
    {0x2302, 0x23f0, 90},   // GH100
    {0x2414, 0x25fb, 86},   // GA103 to GA107
    {0x2681, 0x28f8, 89},   // AD102 to AD107
    {0x2900, 0x29f1, 100},  // GB100, GB102
    {0x2b85, 0x2df9, 120},  // GB202, GB203, GB206, GB207
    {0x2f04, 0x2f80, 120},  // GB205
    {0x3180, 0x31fe, 103},  // GB110
};

}  // namespace

ComputeCapability compute_capability_of(int pci_device) {
  const auto after = std::ranges::upper_bound(kChips, pci_device, {}, &ChipRow::first);
  if (after == std::begin(kChips)) return {};
  const ChipRow& row = *std::prev(after);
  return {row.sm, pci_device <= row.last};
}

}  // namespace rondo
