// What streams do to words of memory by themselves. A stream that waits holds no part of the device. Any
// thread.
#pragma once

#include <cstdint>
#include <span>

#include "base/status.h"
#include "gpu/stream.h"

namespace rondo::gpu {

struct WordOperation {
  enum class Kind {
    Write,  // `value`, after all that the stream did before
    Wait,   // until the word is at least `value`
  };
  Kind kind = Kind::Write;
  uint32_t* word = nullptr;  // where the device sees it
  uint32_t value = 0;
};

/// One after the other, in the stream's order; the device's context is current.
Status operate(Stream stream, std::span<const WordOperation> operations);

}  // namespace rondo::gpu
