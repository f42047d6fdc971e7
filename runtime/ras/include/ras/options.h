// SPDX-License-Identifier: Apache-2.0
// What a library built on Rondo says about the RAS service that its processes are to have: NCCL's, which
// `ncclras` asks. A library that says nothing, as librondo, has none. Any thread.
#pragma once

#include <optional>
#include <string>

#include "base/status.h"

namespace rondo {

struct RasOptions {
  std::string product;                 // the first line of an answer
  std::string nccl_version;            // "2.29.7"
  std::string address;                 // of NCCL_RAS_ADDR; empty: localhost, port 28028
  int (*nccl_result)(Code) = nullptr;  // the number of the ncclResult_t
};

/// Called whenever a process makes its first communicator; nothing: it is to have no service.
using RasWanted = std::optional<RasOptions> (*)();

/// To be called before the first communicator is made, as when the library is loaded.
void set_ras_wanted(RasWanted wanted);
/// Nothing if set_ras_wanted() was not called.
std::optional<RasOptions> wanted_ras();

}  // namespace rondo
