// SPDX-License-Identifier: Apache-2.0
// PortFilter: which ports of this host the user lets connections use, by RONDO_IB_PORTS or NCCL_IB_HCA. Pure
// functions: any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "verbs/port.h"

namespace rondo::verbs {

/// A name in the filter.
struct PortRule {
  std::string device;
  std::optional<uint8_t> number;  // nothing: all ports of the device
  std::optional<uint16_t> rail;   // that its ports get
  bool whole_name = true;         // false: `device` is the beginning of a name
  bool excludes = false;

  bool matches(const VerbsPort& port) const;
  std::string text() const;
};

class PortFilter {
 public:
  /// Admits all ports.
  PortFilter() = default;

  /// RONDO_IB_PORTS: names of devices ("mlx5_0") and ports ("mlx5_0:1"). A '^' excludes the name that
  /// follows; if it precedes every name, all other ports are admitted.
  static Result<PortFilter> parse(std::string_view variable, std::string_view value);
  /// NCCL_IB_HCA: beginnings of devices' names, each with ":port", ":port:rail" or ":port:rail:plane"; the
  /// port may be empty, and the plane is ignored. '=' before the list: whole names; '^': all ports but these;
  /// "^=": both.
  static Result<PortFilter> parse_nccl(std::string_view variable, std::string_view value);

  bool admits(const VerbsPort& port) const;
  /// Removes the ports that are not admitted, and numbers rails as the filter does. InvalidArgument that
  /// lists the ports if none of them is admitted.
  Status apply(std::vector<VerbsPort>& ports) const;
  /// A sentence for each name to use that none of the ports has.
  std::vector<std::string> unmatched(const std::vector<VerbsPort>& ports) const;

 private:
  const PortRule* rule_for(const VerbsPort& port) const;

  Code refusal_ = Code::InvalidArgument;  // of a host that has no such port; NCCL's users share one value
  std::string setting_;                   // "RONDO_IB_PORTS is 'mlx5_0'"
  std::vector<PortRule> rules_;
};

}  // namespace rondo::verbs
