// SPDX-License-Identifier: Apache-2.0
// Small files as text, such as those of /proc and /sys. Any thread.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/status.h"

namespace rondo {

/// What a file begins with, up to `max_bytes`. Never blocks, whatever is at the path: pipes read as empty.
/// Empty if it cannot be read, with the reason in errno, which is 0 otherwise.
std::string file_contents(const std::string& path, size_t max_bytes = 64 * 1024);

/// Replaces a file, or makes one. Readers see the old contents or the new, and on failure the old file stays.
Status replace_file(const std::string& path, std::string_view text);

}  // namespace rondo
