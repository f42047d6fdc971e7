// SPDX-License-Identifier: Apache-2.0
// Exports of libnccl.so.2: each function under both of NCCL's names, ncclX and pncclX.
#pragma once

#include "nccl_functions.h"
#include "nccl_types.h"

#define RONDO_NCCL_API extern "C" __attribute__((visibility("default")))

#define RONDO_NCCL_DECLARE(result, name, parameters) RONDO_NCCL_API result nccl##name parameters;
RONDO_NCCL_FUNCTIONS(RONDO_NCCL_DECLARE)
#undef RONDO_NCCL_DECLARE

/// Placed after a function's definition: its second name, which a tool that wraps the first one calls.
#define RONDO_NCCL_ALIAS(name) \
  RONDO_NCCL_API __attribute__((alias("nccl" #name))) decltype(nccl##name) pnccl##name
