// SPDX-License-Identifier: Apache-2.0
// Which GPU a rank uses. Any thread.
#pragma once

#include <string>
#include <vector>

#include "bootstrap/peer_info.h"

namespace rondo {

/// Parses rondo_config_t::device or RONDO_DEVICE. "host": none; "cuda": the calling thread's current device;
/// "cuda:N", "cuda:0,1,...": those, assigned to the ranks in turn; "": the current device, if the thread has
/// a usable one. Returns an empty vector if ranks use none; InvalidArgument or Unsupported with the reason.
Result<std::vector<int>> choose_devices(const std::string& text);

/// The device that "cuda" means on the calling thread; -1: there is none.
int current_or_first_device();

/// Prepares a device for calls; returns what other ranks must know about it. -1: no device.
Result<PeerGpu> open_device(int device);

}  // namespace rondo
