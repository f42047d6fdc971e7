// SPDX-License-Identifier: Apache-2.0
// Small files of the kernel, such as those of /proc and /sys, as text. Any thread.
#pragma once

#include <cstddef>
#include <string>

namespace rondo {

/// What a file begins with, up to `max_bytes`. Never blocks, whatever is at the path: pipes read as empty.
/// Empty if it cannot be read, with the reason in errno, which is 0 otherwise.
std::string file_contents(const std::string& path, size_t max_bytes = 64 * 1024);

}  // namespace rondo
