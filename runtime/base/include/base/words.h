// SPDX-License-Identifier: Apache-2.0
// Words: parses values of variables and command-line arguments: sizes, numbers, switches, and misspelled
// names. Pure functions: any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace rondo {

/// "8", "4K", "64M", "1.5G" as bytes: K, M, G and T are powers of 1024 in either case, optionally followed by
/// "B" or "iB". Nothing if it is not a whole number of bytes.
std::optional<size_t> parse_size(std::string_view text);

/// A whole number, decimal or hexadecimal with "0x" before it, with '-' before either.
std::optional<int64_t> parse_integer(std::string_view text);

/// 1, yes, true and on; 0, no, false and off; in any case.
std::optional<bool> parse_switch(std::string_view text);

/// Whether they are equal, ignoring case.
bool same_word(std::string_view a, std::string_view b);

/// The name in lower case without '_' and '-': the same for "all_reduce", "AllReduce" and "all-reduce".
std::string plain_name(std::string_view name);

/// The same in all processes and versions (FNV-1a).
uint64_t hash_text(std::string_view text);

/// "; did you mean all_reduce?" if one of the names is close to the word, else "". A prefix common to the
/// word and all names is passed separately; the suggestion includes it.
std::string did_you_mean(std::string_view word, std::span<const std::string_view> names,
                         std::string_view prefix = "");

}  // namespace rondo
