// SPDX-License-Identifier: Apache-2.0
// Ends the process if a row takes longer than -T allows, whatever the library is doing. One per process.
#pragma once

namespace rondo::perf {

/// (Re)starts the timer: after `seconds` the process exits with status 3 and a message. 0 stops it.
void watch_row(double seconds);

}  // namespace rondo::perf
