// SPDX-License-Identifier: Apache-2.0
// Loads the kernels on GPU 0; on failure, prints why.
#include <cstdio>

#include "kernels/device_folds.h"

int main() {
  const rondo::Status loaded = rondo::load_device_kernels(0);
  if (!loaded.ok()) std::fprintf(stderr, "%s\n", loaded.message().c_str());
  return loaded.ok() ? 0 : 1;
}
