// SPDX-License-Identifier: Apache-2.0
// This host as a Machine: processors, PCI tree, network ports and AMD's GPUs with their xGMI links, read from
// /sys, and NVIDIA's GPUs with their NVLinks, by NVML. Plain sysfs rather than hwloc: sysfs has the rates of
// ports and both ends of a link, which hwloc lacks, and any folder can take its place. Reads tens of files
// for each device, so it is for programs that ask, never for the start of a communicator. Any thread.
#pragma once

#include <optional>
#include <string>

#include "base/status.h"
#include "graph/machine.h"

namespace rondo {

/// The defaults describe this host as this process can use it.
struct DetectOptions {
  std::string sysfs = "/sys";              // a folder like it describes another host
  std::string nvml = "libnvidia-ml.so.1";  // opened as a program's libraries are
  std::optional<std::string> visible_devices = cuda_visible_devices();
  bool is_bus_order = cuda_counts_by_bus_id();

 private:
  /// CUDA_VISIBLE_DEVICES; nullopt if unset. An empty one hides all GPUs.
  static std::optional<std::string> cuda_visible_devices();

  /// Whether CUDA_DEVICE_ORDER is PCI_BUS_ID.
  static bool cuda_counts_by_bus_id();
};

/// Guesses what the host hides or contradicts; each guess is in Machine::repairs, with its file. SystemError,
/// with the file, if there is no such folder, or if it cannot be that of a host.
Result<Machine> detect_machine(const DetectOptions& options);

}  // namespace rondo
