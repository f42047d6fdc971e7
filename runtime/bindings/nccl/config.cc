// SPDX-License-Identifier: Apache-2.0
#include "config.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "variables.h"

namespace rondo::nccl {
namespace {

constexpr size_t kFirstSize = 24;  // of NCCL 2.14: up to `blocking`, plus 4 bytes of padding
constexpr size_t kMaxSize = 4096;

/// A program's struct may be longer or shorter than this one.
Outcome copy_known(const ncclConfig_t* config, ncclConfig_t& known) {
  known = {sizeof known, kMagic,     0,          kUndefined, kUndefined, kUndefined, kUndefined,
           nullptr,      kUndefined, kUndefined, nullptr,    kUndefined, kUndefined, kUndefined,
           kUndefined,   kUndefined, kUndefined, kUndefined, kUndefined, kUndefined, kUndefined};
  if (config == nullptr) return {};
  if (config->magic != kMagic)
    return wrong(ncclInvalidArgument, "config was not initialised with NCCL_CONFIG_INITIALIZER");
  if (config->size < kFirstSize || config->size > kMaxSize)
    return wrong(ncclInvalidArgument, "config.size is {}: initialise it with NCCL_CONFIG_INITIALIZER",
                 config->size);
  const bool first = config->size < offsetof(ncclConfig_t, netName);
  std::memcpy(&known, config,
              first ? offsetof(ncclConfig_t, cgaClusterSize) : std::min(config->size, sizeof known));
  return {};
}

Outcome check_range(const char* name, int value, int least, int most) {
  if (value == kUndefined || (value >= least && value <= most)) return {};
  return wrong(ncclInvalidArgument, "config.{} is {}: it must be from {} to {}", name, value, least, most);
}

Outcome check_fields(const ncclConfig_t& config) {
  RONDO_NCCL_TRY(check_range("blocking", config.blocking, 0, 1));
  RONDO_NCCL_TRY(check_range("cgaClusterSize", config.cgaClusterSize, 0, 8));
  RONDO_NCCL_TRY(check_range("minCTAs", config.minCTAs, 1, INT_MAX));
  RONDO_NCCL_TRY(check_range("maxCTAs", config.maxCTAs, 1, INT_MAX));
  RONDO_NCCL_TRY(check_range("splitShare", config.splitShare, 0, 1));
  RONDO_NCCL_TRY(check_range("shrinkShare", config.shrinkShare, 0, 1));
  if (config.minCTAs != kUndefined && config.maxCTAs != kUndefined && config.minCTAs > config.maxCTAs)
    return wrong(ncclInvalidArgument, "config.minCTAs is {}, more than maxCTAs, which is {}", config.minCTAs,
                 config.maxCTAs);
  return {};
}

bool is_set(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr && *value != '\0';
}

/// Reads NCCL's environment variables if Rondo's own are not set.
void read_environment(Config& out) {
  constexpr long kMaxChannels = 64;
  if (!is_set("RONDO_ALGORITHM")) out.algorithm = wanted_algorithm();
  if (!is_set("RONDO_PROTOCOL")) out.protocol = wanted_protocol();
  if (!is_set("RONDO_TRANSPORT") && number_variable("NCCL_SHM_DISABLE", 0) == 1) out.transport = "tcp";
  if (is_set("RONDO_CHANNELS")) return;
  const long channels = number_variable("NCCL_MAX_NCHANNELS", number_variable("NCCL_MAX_CTAS", 0));
  out.channels = static_cast<int>(std::clamp(channels, 0L, kMaxChannels));
}

}  // namespace

rondo_config_t Config::view() const {
  const auto text = [](const std::string& field) { return field.empty() ? nullptr : field.c_str(); };
  rondo_config_t config = RONDO_CONFIG_INITIALIZER;
  config.name = text(name);
  config.device = text(device);
  config.transport = text(transport);
  config.algorithm = text(algorithm);
  config.protocol = text(protocol);
  config.channels = channels;
  config.traffic_class = traffic_class;
  return config;
}

std::string device_of_thread() {
  if (is_set("RONDO_DEVICE")) return {};
  int device = -1;
  rondo_current_device(&device);
  return device < 0 ? "host" : "cuda:" + std::to_string(device);
}

Outcome read_config(const ncclConfig_t* config, const bool* inherited_blocking, Config& out) {
  ncclConfig_t known;
  RONDO_NCCL_TRY(copy_known(config, known));
  RONDO_NCCL_TRY(check_fields(known));
  out.blocking =
      inherited_blocking != nullptr ? *inherited_blocking : number_variable("NCCL_COMM_BLOCKING", 1) != 0;
  if (known.blocking != kUndefined) out.blocking = known.blocking != 0;
  if (known.commName != nullptr) out.name = known.commName;
  constexpr int kMaxTrafficClass = 255;  // network plugins may know others
  if (known.trafficClass > 0 && known.trafficClass <= kMaxTrafficClass)
    out.traffic_class = known.trafficClass;
  read_environment(out);
  return {};
}

}  // namespace rondo::nccl
