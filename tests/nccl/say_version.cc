// A program that asks for the version twice, and makes a mistake: for what is printed meanwhile.
#include <cstdio>

#include "nccl_abi.h"

int main() {
  int version = 0;
  if (ncclGetVersion(&version) != ncclSuccess || ncclGetVersion(&version) != ncclSuccess) return 1;
  std::printf("version %d\n", version);
  std::fflush(stdout);
  return ncclGetVersion(nullptr) == ncclInvalidArgument ? 0 : 1;
}
