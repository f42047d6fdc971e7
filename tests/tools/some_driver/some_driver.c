// SPDX-License-Identifier: Apache-2.0
/* The part of libcuda.so.1 that gpu-check queries before it runs anything. SOME_DRIVER: "none" for a driver
 * without devices, or the number of devices. */
#include <stdlib.h>
#include <string.h>

#define EXPORTED __attribute__((visibility("default")))

EXPORTED int cuInit(unsigned flags);
EXPORTED int cuDeviceGetCount(int* count);
EXPORTED int cuDeviceGetName(char* name, int size, int device);
EXPORTED int cuDriverGetVersion(int* version);
EXPORTED int cuGetErrorName(int code, const char** name);

int cuInit(unsigned flags) {
  const char* driver = getenv("SOME_DRIVER");
  (void)flags;
  return driver != NULL && strcmp(driver, "none") == 0 ? 100 : 0;
}

int cuDeviceGetCount(int* count) {
  const char* driver = getenv("SOME_DRIVER");
  *count = driver != NULL ? atoi(driver) : 1;
  return 0;
}

int cuDeviceGetName(char* name, int size, int device) {
  (void)device;
  strncpy(name, "Some GPU 80GB", (size_t)size);
  return 0;
}

int cuDriverGetVersion(int* version) {
  *version = 13020;
  return 0;
}

int cuGetErrorName(int code, const char** name) {
  *name = code == 100 ? "CUDA_ERROR_NO_DEVICE" : "CUDA_ERROR_UNKNOWN";
  return 0;
}
