// SPDX-License-Identifier: Apache-2.0
// User objects: kept alive by graphs. Guarded by Driver::mutex.
#pragma once

#include <cuda.h>

struct CUuserObject_st {
  CUuserObject_st(void* of, CUhostFn with) : object(of), destroy(with) {}
  CUuserObject_st(const CUuserObject_st&) = delete;
  CUuserObject_st& operator=(const CUuserObject_st&) = delete;
  /// Destroys the object on another thread, as CUDA does, which must not call the driver.
  ~CUuserObject_st();

  void* object;
  CUhostFn destroy;
  unsigned user_references = 0;
};
