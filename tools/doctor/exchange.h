// SPDX-License-Identifier: Apache-2.0
// What a job shows of its hosts: which rank is on which host, whether ranks of a host may read one another's
// memory, and how fast each pair of hosts is. All functions are collective and throw rondo::Error. One
// thread.
#pragma once

#include <rondo/rondo.hpp>

#include <array>
#include <chrono>
#include <string>
#include <vector>

#include "finding.h"

namespace rondo::doctor {

struct DoctorHost {
  std::string name;
  std::vector<int> ranks;  // ascending
};

/// In the order of their first ranks. Ranks that are joined by shared memory, or that have the same kernel
/// and network interfaces, are on one host; hosts of one name, as containers may be, are told apart by their
/// first ranks: "a/0", "a/8".
std::vector<DoctorHost> find_hosts(const Communicator& world);

/// What ranks of this rank's host cannot do with one another's memory.
DoctorFindings memory_findings(const Communicator& world, const std::vector<int>& ranks);

/// What a pair of hosts could not do, if anything.
enum class FailedMessage : int { None, Short, Long };

struct HostPair {
  int first = 0, second = 0;  // as find_hosts() numbers them
  double latency_us = 0;      // one way, 8 bytes: half the median of round trips
  double bandwidth = 0;       // GB/s, one way, long messages: the slower of both directions
  double ahead_s = 0;         // the clock of `second`, compared with that of `first`
  FailedMessage failure =
      FailedMessage::None;        // if any, there is no bandwidth, and after Short nothing at all
  std::array<char, 400> cause{};  // of the failure
};

/// How long a message between two hosts may take, if ranks wait `timeout` for one another.
std::chrono::milliseconds message_limit(std::chrono::milliseconds timeout);

/// Each pair of hosts by their first ranks; pairs that have no host in common are measured at the same time.
/// The same at all ranks.
std::vector<HostPair> measure_pairs(const Communicator& world, const std::vector<DoctorHost>& hosts,
                                    std::chrono::milliseconds message_limit);

}  // namespace rondo::doctor
