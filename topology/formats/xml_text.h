// SPDX-License-Identifier: Apache-2.0
// Pieces of text in XML: names and values of attributes, as they are read, written and shown. Pure functions:
// any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace rondo {

/// Whether it is UTF-8 without control characters.
bool is_plain_text(std::string_view text);

/// A piece of a stranger's text, fit for a message: at most 64 bytes, all of them printable.
std::string shown(std::string_view text);

/// The value of an attribute, fit to be written between quotes.
std::string escaped(std::string_view value);

/// A whole number, decimal or with 0x; nothing if it is none, or has more than 64 bits.
std::optional<int64_t> whole_number(std::string_view text);

}  // namespace rondo
