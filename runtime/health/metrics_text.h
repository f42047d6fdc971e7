// SPDX-License-Identifier: Apache-2.0
// A process's totals in Prometheus's text format. Pure: any thread.
#pragma once

#include <string>

#include "health/flight_recorders.h"

namespace rondo {

std::string metrics_text(const ProcessTotals& totals);

/// A value of a label in quotes, escaped.
std::string label_text(std::string_view value);

}  // namespace rondo
