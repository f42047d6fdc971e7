// SPDX-License-Identifier: Apache-2.0
// What Rondo adds to NCCL's topology XML, which NCCL passes over.
#pragma once

namespace rondo {

/// Of <system>: Machine::p2p_below_switches, 0 or 1.
constexpr const char* kP2pAttribute = "p2p_below_switches";

}  // namespace rondo
