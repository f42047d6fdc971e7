// SPDX-License-Identifier: Apache-2.0
// Text that others wrote, for JSON and for people. Pure: any thread.
#pragma once

#include <string>
#include <string_view>

namespace rondo {

/// In quotes and escaped; each byte that is not part of UTF-8 becomes U+FFFD.
std::string json_string(std::string_view text);
/// For messages, which are lines: control characters, and bytes that are not part of UTF-8, as in JSON.
std::string in_one_line(std::string_view text);

}  // namespace rondo
