// SPDX-License-Identifier: Apache-2.0
// Secret: 32 random bytes that the ranks of a session share, and the keyed hash that proves knowledge of
// them. Any thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/status.h"

namespace rondo {

using Digest = std::array<std::byte, 32>;

struct Secret {
  Digest bytes{};
};

/// From the system's random number generator.
Secret random_secret();
uint64_t random_u64();

/// The secret derived from a user's text. 32 random bytes, as 64 hexadecimal digits or in base64, are only
/// hashed; any other text can be guessed, and is stretched to make guessing expensive, once per process, text
/// and salt.
Result<Secret> secret_from_text(std::string_view text, std::string_view salt);

/// HMAC-SHA-256 of the concatenated parts.
Digest keyed_hash(const Secret& secret, std::initializer_list<std::span<const std::byte>> parts);

/// Compares in constant time.
bool same_digest(const Digest& a, const Digest& b);

}  // namespace rondo
