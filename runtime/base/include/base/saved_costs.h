// SPDX-License-Identifier: Apache-2.0
// What messages cost on this host as measured (rondo-topo --calibrate), in a file that processes read when
// they join. A file serves hosts with the same processor and number of CPUs, and one version of Rondo. Any
// thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/cost_table.h"
#include "base/status.h"

namespace rondo {

/// The processor of this host and its number of CPUs: "AMD EPYC 7763 64-Core Processor, 128 CPUs".
std::string processor_text();

/// Where this host's file is: RONDO_CALIBRATION, or else in the folder of XDG_CACHE_HOME. InvalidArgument if
/// the former is 0, or if neither XDG_CACHE_HOME nor HOME is an absolute path.
Result<std::string> saved_costs_path();

struct SavedCosts {
  HostCosts costs = {};
  std::string date;  // when they were measured: YYYY-MM-DD
};

/// The contents of a file.
std::string saved_costs_text(const HostCosts& costs, std::string_view date);

/// What saved_costs_text() wrote on such a host; InvalidArgument that names the line and what was expected
/// there.
Result<SavedCosts> read_saved_costs(std::string_view text);

/// What this host's file says. Null if it cannot be read or RONDO_CALIBRATION is 0; and, with one warning, if
/// it is damaged or of another host or version, or if RONDO_CALIBRATION names one that cannot be read.
std::optional<SavedCosts> saved_costs();

}  // namespace rondo
