// SPDX-License-Identifier: Apache-2.0
// Tensors on the CPU whose memory other ranks of the host read in place.
#pragma once

namespace rondo::torch_binding {

/// From now on torch allocates tensors on the CPU by rondo_malloc(), unless the program has an allocator of
/// its own. While no other thread allocates, as torch requires.
void lend_tensors();

}  // namespace rondo::torch_binding
