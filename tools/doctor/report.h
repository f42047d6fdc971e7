// SPDX-License-Identifier: Apache-2.0
// What rondo-doctor prints. Pure functions: any thread.
#pragma once

#include <chrono>
#include <span>
#include <string>
#include <vector>

#include "exchange.h"
#include "finding.h"

namespace rondo::doctor {

/// "2 ranks on host a (0, 1)", "4 ranks on 2 hosts: a (0-1), b (2-3)".
std::string roster_text(std::span<const DoctorHost> hosts);

/// "a, b: text" and the advice, equal findings of hosts once; `findings`: by host.
std::string findings_text(std::span<const DoctorHost> hosts, std::span<const DoctorFindings> findings);

/// A line on all pairs, and what is wrong with some of them; `transports`: those between hosts, "tcp".
std::string pairs_text(std::span<const HostPair> pairs, const std::string& transports);
DoctorFindings pair_findings(std::span<const DoctorHost> hosts, std::span<const HostPair> pairs);
/// Pairs that cannot exchange messages, which is worse than any fault. `limit`: how long one may take.
DoctorFindings failed_pairs(std::span<const DoctorHost> hosts, std::span<const HostPair> pairs,
                            std::chrono::milliseconds limit);

}  // namespace rondo::doctor
