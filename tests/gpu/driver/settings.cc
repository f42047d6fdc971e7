// SPDX-License-Identifier: Apache-2.0
#include "settings.h"

#include <cstdlib>
#include <sstream>

namespace rondo::standin {
namespace {

std::string text(const char* variable) {
  const char* value = std::getenv(variable);
  return value == nullptr ? "" : value;
}

uint64_t number(const char* variable, uint64_t otherwise) {
  const std::string value = text(variable);
  return value.empty() ? otherwise : std::strtoull(value.c_str(), nullptr, 10);
}

std::vector<std::string> split(const std::string& list, char separator) {
  std::vector<std::string> found;
  std::istringstream stream(list);
  for (std::string one; std::getline(stream, one, separator);) found.push_back(one);
  return found;
}

/// As in CUDA, the list ends at the first entry that names no device.
std::vector<int> visible_devices(int devices) {
  std::vector<int> found;
  const char* list = std::getenv("CUDA_VISIBLE_DEVICES");
  if (list == nullptr) {
    for (int i = 0; i < devices; ++i) found.push_back(i);
    return found;
  }
  for (const std::string& entry : split(list, ',')) {
    char* end = nullptr;
    const long index = std::strtol(entry.c_str(), &end, 10);
    if (end == entry.c_str() || index < 0 || index >= devices) break;
    found.push_back(static_cast<int>(index));
  }
  return found;
}

/// "cuMemAlloc_v2:3:2,...": the function, its failing call and the error.
std::vector<Fault> faults() {
  std::vector<Fault> found;
  for (const std::string& entry : split(text("RONDO_STANDIN_FAIL"), ',')) {
    const auto parts = split(entry, ':');
    if (parts.size() != 3) continue;
    found.push_back({parts[0], std::strtoull(parts[1].c_str(), nullptr, 10), std::atoi(parts[2].c_str())});
  }
  return found;
}

}  // namespace

Settings settings_from_environment() {
  Settings settings;
  settings.visible = visible_devices(static_cast<int>(number("RONDO_STANDIN_DEVICES", 2)));
  settings.peers = number("RONDO_STANDIN_PEERS", 1) != 0;
  settings.nvlink = number("RONDO_STANDIN_NVLINK", 1) != 0;
  settings.memory_bytes = number("RONDO_STANDIN_MEMORY", uint64_t{8} << 30);
  settings.processors = static_cast<int>(number("RONDO_STANDIN_PROCESSORS", 4));
  settings.concurrent = number("RONDO_STANDIN_CONCURRENT", 0) != 0;
  settings.queues = static_cast<uint32_t>(number("RONDO_STANDIN_QUEUES", 0));
  settings.seed = number("RONDO_STANDIN_SEED", 0);
  settings.folder = text("RONDO_STANDIN_DIR");
  const std::string rdma = text("RONDO_STANDIN_RDMA");
  settings.has_rdma = rdma != "none";
  settings.has_dmabuf = number("RONDO_STANDIN_DMABUF", 1) != 0;
  settings.orders_rdma_writes = rdma.empty() || rdma == "ordered";
  settings.flushes_rdma_writes = settings.orders_rdma_writes || rdma == "flushed";
  settings.guard = number("RONDO_STANDIN_GUARD", 0) != 0;
  settings.link_folder = text("RONDO_STANDIN_LINK_DIR");
  settings.faults = faults();
  return settings;
}

}  // namespace rondo::standin
