// CallMemo: what was thought of the last call of a kind, for one like it.
#pragma once

#include <optional>

#include "comm/call.h"

namespace rondo {

template <class T>
class CallMemo {
 public:
  /// Null where the last one was different. Forms with lengths by rank are all different.
  T* find(const Call& call) {
    const bool same = thought_ && !call.varying && !varying_ && count_ == call.count &&
                      type_bytes_ == call.type.bytes && unit_bytes_ == call.unit_bytes() &&
                      root_ == call.root && commutative_ == call.op.commutative;
    return same ? &*thought_ : nullptr;
  }
  T* keep(const Call& call, const T& thought) {
    count_ = call.count;
    type_bytes_ = call.type.bytes;
    unit_bytes_ = call.unit_bytes();
    root_ = call.root;
    commutative_ = call.op.commutative;
    varying_ = call.varying;
    thought_ = thought;
    return &*thought_;
  }

 private:
  std::optional<T> thought_;
  size_t count_ = 0;
  uint32_t type_bytes_ = 0;
  size_t unit_bytes_ = 0;
  int root_ = 0;
  bool commutative_ = true;
  bool varying_ = false;
};

}  // namespace rondo
