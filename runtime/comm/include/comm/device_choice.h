// Which GPU a rank uses. Any thread.
#pragma once

#include <string>
#include <vector>

#include "comm/member.h"

namespace rondo {

/// What rondo_config_t::device and RONDO_DEVICE say: "host": none; "cuda": the calling thread's current
/// device; "cuda:N", "cuda:0,1,...": those, by rank in turn; "": the current device, where the thread has
/// one. Empty where ranks use none. InvalidArgument or Unsupported with the reason.
Result<std::vector<int>> choose_devices(const std::string& text);

/// The device that "cuda" means on the calling thread; -1: there is none.
int current_or_first_device();

/// What other ranks have to know of a device; -1: of none. Makes it ready for calls.
Result<MemberDevice> open_device(int device);

}  // namespace rondo
