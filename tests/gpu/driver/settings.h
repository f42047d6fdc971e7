// SPDX-License-Identifier: Apache-2.0
// Settings of the stand-in driver, from the environment (README.md). Read once and then constant.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace rondo::standin {

struct Fault {
  std::string function;  // or kernel
  uint64_t call;         // 1-based
  int error;
};

struct Settings {
  std::vector<int> visible;  // indices of devices in the machine
  bool peers = true;
  bool nvlink = true;         // between all devices; peers without reach one another by PCIe
  uint64_t memory_bytes = 0;  // per device
  int processors = 0;         // per device
  bool concurrent = false;    // kernels of a device may run together
  uint32_t queues = 0;        // per context and priority; 0: streams share none
  uint64_t seed = 0;          // of delays; 0: none
  std::string folder;         // where processes take turns; empty: they do not
  bool has_rdma = true, has_dmabuf = true;
  bool orders_rdma_writes = true, flushes_rdma_writes = true;
  bool guard = false;       // the host cannot access device memory
  std::string link_folder;  // where linked parts are stored; empty: nowhere
  std::vector<Fault> faults;
};

Settings settings_from_environment();

}  // namespace rondo::standin
