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
  const auto code = [](const EmbeddedCode& file) { return gpu::Image::Code(file.begin, file.end); };
  std::vector<gpu::Image::Code> parts;
  for (const EmbeddedCode* one = files + 1; one->begin != nullptr; ++one) parts.push_back(code(*one));
  return *new gpu::Image(code(files[0]), std::move(parts));
}

}  // namespace rondo
