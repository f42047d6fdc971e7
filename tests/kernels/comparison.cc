// SPDX-License-Identifier: Apache-2.0
#include "comparison.h"

#include <algorithm>
#include <cstring>

namespace rondo {
namespace {

constexpr size_t kGuardBytes = 64;
constexpr uint8_t kPoison = 0xA5;

// Elements at some offset from alignment, with nothing after them, so that AddressSanitizer sees overreads.
struct Placed {
  Placed(ElementType type, size_t bytes, size_t alignment, std::mt19937_64& random)
      : offset(random() % 64 / alignment * alignment), memory(offset + bytes) {
    fill_samples(std::span(memory).subspan(offset), type, random);
  }
  const uint8_t* data() const { return memory.data() + offset; }

  size_t offset;
  Bytes memory;
};

// A result between poisoned bytes.
struct Guarded {
  Guarded(size_t bytes, size_t offset)
      : start(kGuardBytes + offset), memory(start + bytes + kGuardBytes, kPoison) {}
  uint8_t* data() { return memory.data() + start; }
  bool intact(size_t bytes) const {
    const auto is_poison = [](uint8_t byte) { return byte == kPoison; };
    const auto first = memory.begin() + static_cast<std::ptrdiff_t>(start);
    return std::all_of(memory.begin(), first, is_poison) &&
           std::all_of(first + static_cast<std::ptrdiff_t>(bytes), memory.end(), is_poison);
  }

  size_t start;
  Bytes memory;
};

std::string describe(const ComparedCall& call) {
  return std::string(element_info(call.type).name) + " " + std::string(reduction_name(call.op)) + " of " +
         std::to_string(call.count) + " elements from " + std::to_string(call.sources) +
         " sources, out aliases source " + std::to_string(call.aliased) + ", scaled source " +
         std::to_string(call.scaled) + ", divisor " + std::to_string(call.divisor);
}

std::string first_difference(const ComparedCall& call, const uint8_t* got, const uint8_t* expected,
                             const std::vector<Placed>& sources) {
  const size_t size = element_info(call.type).bytes;
  size_t index = 0;
  while (std::memcmp(got + index * size, expected + index * size, size) == 0) ++index;
  std::string text = describe(call) + ": element " + std::to_string(index) + " is " +
                     hex(got + index * size, size) + ", the reference says " +
                     hex(expected + index * size, size) + "; the operands are";
  for (const Placed& source : sources) text.append(" ").append(hex(source.data() + index * size, size));
  return text;
}

}  // namespace

std::optional<std::string> compare(const ComparedCall& call, std::mt19937_64& random,
                                   const Reducer& reducer) {
  const size_t bytes = call.count * element_info(call.type).bytes;
  std::vector<Placed> sources;
  sources.reserve(static_cast<size_t>(call.sources));
  for (int k = 0; k < call.sources; ++k) sources.emplace_back(call.type, bytes, call.alignment, random);
  const std::vector<Placed> before = sources;
  const Placed scalar(call.type, element_info(call.type).bytes, call.alignment, random);
  Guarded out(bytes, random() % 64 / call.alignment * call.alignment), expected(bytes, 0);

  std::vector<const void*> pointers;
  pointers.reserve(sources.size());
  for (const Placed& source : sources) pointers.push_back(source.data());
  ReduceArgs args;
  args.sources = pointers;
  args.count = call.count;
  args.type = call.type;
  args.op = call.op;
  args.divisor = call.divisor;
  args.scaled_source = call.scaled;
  args.scalar = scalar.data();
  args.out = expected.data();
  reduce_reference(args);

  args.out = out.data();
  if (call.aliased >= 0) {
    if (bytes != 0) std::memcpy(out.data(), sources[static_cast<size_t>(call.aliased)].data(), bytes);
    pointers[static_cast<size_t>(call.aliased)] = out.data();
  }
  reducer(args);

  if (bytes != 0 && std::memcmp(out.data(), expected.data(), bytes) != 0) {
    return first_difference(call, out.data(), expected.data(), before);
  }
  if (!out.intact(bytes)) return describe(call) + ": wrote outside of the result";
  for (size_t k = 0; k < sources.size(); ++k) {
    if (sources[k].memory != before[k].memory) {
      return describe(call) + ": changed source " + std::to_string(k);
    }
  }
  return std::nullopt;
}

}  // namespace rondo
