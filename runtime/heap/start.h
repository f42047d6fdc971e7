// SPDX-License-Identifier: Apache-2.0
// Whether the heap works in this process, decided when a large block is first asked for. Any thread.
#pragma once

namespace rondo::heap {

/// Whether the heap serves this process; says once why not.
bool is_on();

}  // namespace rondo::heap
