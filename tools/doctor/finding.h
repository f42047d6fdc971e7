// SPDX-License-Identifier: Apache-2.0
// What is wrong with a host or between hosts, what it costs, and what to do about it. Pure data: any thread.
#pragma once

#include <string>
#include <vector>

namespace rondo::doctor {

struct DoctorFinding {
  std::string text;    // with the cost
  std::string advice;  // a command where there is one
  bool operator==(const DoctorFinding&) const = default;
};

using DoctorFindings = std::vector<DoctorFinding>;

}  // namespace rondo::doctor
