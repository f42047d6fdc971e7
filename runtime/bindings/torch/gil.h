// SPDX-License-Identifier: Apache-2.0
// WithoutGil: releases the GIL while this thread waits for others, which may need it: their futures call
// Python.
#pragma once

#include <Python.h>

namespace rondo::torch_binding {

class WithoutGil {
 public:
  WithoutGil() : saved_(Py_IsInitialized() && PyGILState_Check() ? PyEval_SaveThread() : nullptr) {}
  ~WithoutGil() {
    if (saved_ != nullptr) PyEval_RestoreThread(saved_);
  }
  WithoutGil(const WithoutGil&) = delete;
  WithoutGil& operator=(const WithoutGil&) = delete;

 private:
  PyThreadState* saved_;
};

}  // namespace rondo::torch_binding
