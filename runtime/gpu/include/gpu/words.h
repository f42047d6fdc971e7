// SPDX-License-Identifier: Apache-2.0
// Stream operations on words of memory. A waiting stream occupies no resources of the device. Any thread.
#pragma once

#include <cstdint>
#include <span>

#include "base/status.h"
#include "gpu/stream.h"

namespace rondo::gpu {

struct WordOperation {
  enum class Type {
    Write,  // stores `value`, after all previous work of the stream
    Wait,   // until the word is at least `value`
  };
  Type type = Type::Write;
  uint32_t* word = nullptr;  // its address on the device
  uint32_t value = 0;
};

/// Issues the operations in stream order. The device's context must be current.
Status operate(Stream stream, std::span<const WordOperation> operations);

}  // namespace rondo::gpu
