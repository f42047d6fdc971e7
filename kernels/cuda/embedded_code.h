// Device code that embed.py has put into a program. Any thread.
#pragma once

#include "gpu/launch.h"

namespace rondo {

/// One file. They stand in an array: the linked code, then the parts that it was linked from, then an empty one.
struct EmbeddedCode {
  const std::byte* begin;
  const std::byte* end;
};

/// Kept while the process lives.
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
