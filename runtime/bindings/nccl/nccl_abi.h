// What libnccl.so.2 exports: each function under NCCL's two names, ncclX and pncclX, which are one.
#pragma once

#include "nccl_functions.h"
#include "nccl_types.h"

#define RONDO_NCCL_API extern "C" __attribute__((visibility("default")))

#define RONDO_NCCL_DECLARE(result, name, parameters) RONDO_NCCL_API result nccl##name parameters;
RONDO_NCCL_FUNCTIONS(RONDO_NCCL_DECLARE)
#undef RONDO_NCCL_DECLARE

/// After a function's definition: its second name, by which a tool that wraps the first one calls it.
#define RONDO_NCCL_ALIAS(name) \
  RONDO_NCCL_API __attribute__((alias("nccl" #name))) decltype(nccl##name) pnccl##name
