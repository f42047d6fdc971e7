// SPDX-License-Identifier: Apache-2.0
// Access to device code that embed.py has embedded in a program. Thread-safe.
#pragma once

#include "gpu/launch.h"

namespace rondo {

/// One embedded file. Arrays of files hold the linked code, the parts it was linked from, and {null, null}.
struct EmbeddedCode {
  const std::byte* begin;
  const std::byte* end;
};

/// Never freed.
inline gpu::Image& image_of(const EmbeddedCode* files) {
  const auto bytes = [](const EmbeddedCode& file) { return gpu::DeviceCode::Bytes(file.begin, file.end); };
  gpu::DeviceCode code{.linked = bytes(files[0]),
                       .parts = {},
                       .max_registers = RONDO_DEVICE_REGISTERS,
                       .description = RONDO_DEVICE_CODE};
  for (const EmbeddedCode* one = files + 1; one->begin != nullptr; ++one) code.parts.push_back(bytes(*one));
  return *new gpu::Image(std::move(code));
}

}  // namespace rondo
