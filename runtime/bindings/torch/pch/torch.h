// Compiled once for all files here: torch's headers take longer than what is written over them.
#ifndef RONDO_TORCH_PCH_H
#define RONDO_TORCH_PCH_H

#include <ATen/ATen.h>

#include <torch/csrc/distributed/c10d/Backend.hpp>

#endif
