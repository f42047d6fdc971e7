// SPDX-License-Identifier: Apache-2.0
// Counts the memory that this program allocates by operator new. For a program with one thread.
#pragma once

#include <cstddef>

/// Starts to count; what is live now does not count.
void begin_allocations();
/// The most bytes that were live at once since then.
size_t peak_allocations();
