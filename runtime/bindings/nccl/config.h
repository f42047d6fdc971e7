// Config: what an ncclConfig_t of whatever version and the environment ask for. Plain data.
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

  /// Good while this lives.
  rondo_config_t view() const;
};

/// `config` may be null. `inherited`: of the communicator it is made from; null: there is none.
Outcome read_config(const ncclConfig_t* config, const bool* inherited_blocking, Config& out);

/// The device of a rank that the calling thread starts.
std::string device_of_thread();

}  // namespace rondo::nccl
