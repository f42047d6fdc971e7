// SPDX-License-Identifier: Apache-2.0
#include "samples.h"

#include <complex>
#include <cstring>
#include <limits>
#include <type_traits>

#include "kernels/small_float.h"

namespace rondo {
namespace {

template <class T>
T special(std::mt19937_64& random) {
  using Limits = std::numeric_limits<T>;
  if constexpr (std::is_floating_point_v<T>) {
    const T values[] = {0,
                        -T{0},
                        1,
                        -1,
                        Limits::infinity(),
                        -Limits::infinity(),
                        Limits::quiet_NaN(),
                        -Limits::quiet_NaN(),
                        Limits::signaling_NaN(),
                        Limits::max(),
                        Limits::lowest(),
                        Limits::min(),
                        -Limits::min(),
                        Limits::denorm_min(),
                        -Limits::denorm_min(),
                        Limits::epsilon()};
    return values[random() % std::size(values)];
  } else {
    const T values[] = {0,
                        1,
                        static_cast<T>(-1),
                        Limits::max(),
                        Limits::min(),
                        static_cast<T>(Limits::max() - 1),
                        static_cast<T>(Limits::min() + 1)};
    return values[random() % std::size(values)];
  }
}

template <class T>
T random_bits(std::mt19937_64& random) {
  const uint64_t bits = random();
  T value;
  std::memcpy(&value, &bits, sizeof(T));
  return value;
}

template <class T>
T number(std::mt19937_64& random) {
  const auto small = static_cast<int>(random() % 201) - 100;
  return std::is_floating_point_v<T> ? static_cast<T>(small / 8.0) : static_cast<T>(small);
}

template <class T>
T sample(std::mt19937_64& random) {
  switch (random() % 3) {
    case 0: return special<T>(random);
    case 1: return number<T>(random);
    default: return random_bits<T>(random);
  }
}

// One element of storage type T.
template <class T>
struct Sample {
  static T draw(std::mt19937_64& random) { return sample<T>(random); }
};

template <class Part>
struct Sample<std::complex<Part>> {
  static std::complex<Part> draw(std::mt19937_64& random) {
    const Part real = sample<Part>(random);
    return {real, sample<Part>(random)};
  }
};

// The special codes of small floats are the lowest and highest ones of either sign.
template <SmallFloat T>
struct Sample<T> {
  static T draw(std::mt19937_64& random) {
    constexpr SmallFloatFormat format = T::kFormat;
    const auto near = static_cast<uint32_t>(random() % 5);
    const uint32_t sign = random() % 2 != 0 ? format.sign() : 0;
    switch (random() % 4) {
      case 0: return code(sign | near);
      case 1: return code(sign | (format.overflow() - 2 + near));
      case 2: return round_to<T>(number<float>(random));
      default: return code(static_cast<uint32_t>(random()));
    }
  }
  static T code(uint32_t bits) { return T{static_cast<decltype(T::bits)>(bits)}; }
};

template <>
struct Sample<Bool8> {
  static Bool8 draw(std::mt19937_64& random) {
    const uint8_t values[] = {0, 0, 1, 2, 0x80, 0xFF};
    return {values[random() % std::size(values)]};
  }
};

template <class T>
void fill(std::span<uint8_t> bytes, std::mt19937_64& random) {
  for (size_t at = 0; at < bytes.size(); at += sizeof(T)) {
    const T value = Sample<T>::draw(random);
    std::memcpy(bytes.data() + at, &value, sizeof(T));
  }
}

}  // namespace

void fill_samples(std::span<uint8_t> bytes, ElementType type, std::mt19937_64& random) {
  switch (type) {
#define X(enumerator, constant, name, storage, kind) \
  case ElementType::enumerator: return fill<storage>(bytes, random);
    RONDO_ELEMENT_TYPES(X)
#undef X
  }
}

std::string hex(const uint8_t* element, size_t bytes) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (size_t i = 0; i < bytes; ++i) {
    text += kDigits[element[i] >> 4];
    text += kDigits[element[i] & 15];
  }
  return text;
}

}  // namespace rondo
