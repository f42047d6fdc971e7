// SPDX-License-Identifier: Apache-2.0
// The table of transports, as meson.build lists it.
#include <fmt/ranges.h>

#include <string_view>
#include <vector>

#include "base/words.h"
#include "transports/transport.h"

#include "transport_rows.h"

namespace rondo {

// The list is `local_transport(), shm_transport(), ...`: here it declares the functions, below it calls them.
Transport RONDO_TRANSPORT_ROWS;

std::span<const Transport> transports() {
  static const Transport rows[] = {RONDO_TRANSPORT_ROWS};
  return rows;
}

Result<const Transport*> transport_by_name(std::string_view name) {
  std::vector<std::string_view> names;
  for (const Transport& transport : transports()) {
    if (name == transport.name) return &transport;
    names.emplace_back(transport.name);
  }
  return error(Code::InvalidArgument, "there is no transport '{}'; there are: {}{}", name,
               fmt::join(names, ", "), did_you_mean(name, names));
}

}  // namespace rondo
