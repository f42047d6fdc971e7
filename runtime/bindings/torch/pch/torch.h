// Compiled once for all files here: torch's headers take longer than what is written over them.
#pragma once

#include <ATen/ATen.h>

#include <torch/csrc/distributed/c10d/Backend.hpp>
