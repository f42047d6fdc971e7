// SPDX-License-Identifier: Apache-2.0
// What NVIDIA's management library says of this host's GPUs, as plain data. The library is opened at run
// time, and the only place that knows its ABI is nvml.cc. It lists the GPUs that the process may open: those
// that a cgroup hides are absent.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "graph/machine.h"

namespace rondo {

struct NvmlLink {
  FabricTarget target = FabricTarget::Gpu;
  std::string bus_id;  // of what is at the other end; kHiddenSwitchBusId: a switch that is not visible
};

/// How NCCL's files name an NVSwitch that the host does not show.

struct NvmlGpu {
  std::string bus_id;
  std::string uuid;                    // "GPU-..."
  std::vector<std::string> instances;  // "MIG-...": what MIG divides it into
  bool mig_enabled = false;
  int sm = 0;                   // 0: unknown
  std::vector<NvmlLink> links;  // NVLinks that are up and carry what GPUs exchange
};

/// Of a GPU to another.
struct NvmlPeer {
  bool reads_and_writes = true;  // by whatever path
  bool has_nvlinks = true;       // may use them for that
};

struct NvmlHost {
  std::vector<NvmlGpu> gpus;                 // by bus id, as NVML numbers them
  std::vector<std::vector<NvmlPeer>> peers;  // by both numbers
  std::vector<std::string> repairs;
};

/// Unsupported if there is no such library; SystemError, in NVML's words, if it does not work.
Result<NvmlHost> read_nvml(const std::string& library);

}  // namespace rondo
