// SPDX-License-Identifier: Apache-2.0
// Which devices of two machines are the same: those of equal bus ids, then those of equal names.
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "machine_parts.h"

namespace rondo {

struct Matching {
  Matching(const Machine& a, const Machine& b);

  std::vector<std::pair<MachinePart, MachinePart>> pairs;  // of a kind; in the order of a
  std::vector<MachinePart> only_a, only_b;
  std::map<std::string, std::string> bus_ids;  // of b's devices: a's

  /// The bus id of a device of b in a; one that a lacks keeps its own, unless a has given that to another.
  std::string in_a(const std::string& bus_id) const;
  const MachinePart* in_b(const std::string& bus_id_in_a) const;

 private:
  std::set<std::string> taken_;  // bus ids of a
};

}  // namespace rondo
