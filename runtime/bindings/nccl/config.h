// SPDX-License-Identifier: Apache-2.0
// Config: the settings requested by an ncclConfig_t, of any version, and by the environment. Plain data.
#pragma once

#include <string>

#include "nccl_types.h"
#include "outcome.h"

namespace rondo::nccl {

struct Config {
  bool blocking = true;
  std::string name;
  std::string device;  // as rondo_config_t's; empty: RONDO_DEVICE decides
  std::string transport;
  std::string algorithm;
  std::string protocol;
  int channels = 0;
  int traffic_class = 0;

  /// Valid for the lifetime of this object.
  rondo_config_t view() const;
};

/// `config` may be null. `inherited_blocking`: that of the parent communicator; null: there is no parent.
Outcome read_config(const ncclConfig_t* config, const bool* inherited_blocking, Config& out);

/// The device of a rank that the calling thread starts.
std::string device_of_thread();

}  // namespace rondo::nccl
