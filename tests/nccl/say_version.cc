// SPDX-License-Identifier: Apache-2.0
// Asks for the version twice and makes an invalid call, to show what is printed.
#include <cstdio>

#include "nccl_abi.h"

int main() {
  int version = 0;
  if (ncclGetVersion(&version) != ncclSuccess || ncclGetVersion(&version) != ncclSuccess) return 1;
  std::printf("version %d\n", version);
  std::fflush(stdout);
  return ncclGetVersion(nullptr) == ncclInvalidArgument ? 0 : 1;
}
