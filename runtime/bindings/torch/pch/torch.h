// SPDX-License-Identifier: Apache-2.0
// Compiled once for all files here: torch's headers take longer to compile than the code that uses them.
#ifndef RONDO_TORCH_PCH_H
#define RONDO_TORCH_PCH_H

#include <ATen/ATen.h>

#include <torch/csrc/distributed/c10d/Backend.hpp>

#endif
