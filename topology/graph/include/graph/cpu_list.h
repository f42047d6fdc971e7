// SPDX-License-Identifier: Apache-2.0
// Lists of CPUs as the kernel and nvidia-smi print them. Pure function: any thread.
#pragma once

#include <optional>
#include <set>
#include <string_view>

namespace rondo {

/// The numbers of "0-3,8"; nothing if it is not such a list, or has numbers above 65,535.
std::optional<std::set<int>> cpu_list(std::string_view text);

}  // namespace rondo
