// SPDX-License-Identifier: Apache-2.0
// rondo-topo --calibrate.
#pragma once

namespace rondo::topo {

/// Measures for about that time, prints the result, and saves it where processes of this host look for it;
/// ends the program with the cause if that fails.
void calibrate_host(int seconds);

}  // namespace rondo::topo
