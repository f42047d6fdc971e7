// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace rondo::fabric {

/// Has the fabric that serves the folder carry out a command of README.md. Returns an errno.
int send_command(const std::string& folder, const std::string& text);

}  // namespace rondo::fabric
