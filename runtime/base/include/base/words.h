// Words: what people write in variables and on command lines: sizes, switches, and names with a slip in them.
// Pure functions: any thread.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace rondo {

/// "8", "4K", "64M", "1.5G" as bytes: K, M, G and T are powers of 1024 in either case, with or without "B" or
/// "iB" after them. Nothing where it is no whole number of bytes.
std::optional<size_t> parse_size(std::string_view text);

/// 1, yes, true and on; 0, no, false and off; in any case.
std::optional<bool> parse_switch(std::string_view text);

/// Whether they are the same but for upper and lower case.
bool same_word(std::string_view a, std::string_view b);

/// The name in lower case without '_' and '-': "all_reduce", "AllReduce" and "all-reduce" have the same.
std::string plain_name(std::string_view name);

/// "; did you mean all_reduce?" where one of the names is close to the word; nothing otherwise. What word and
/// names all begin with is left out of both, and put before the answer.
std::string did_you_mean(std::string_view word, std::span<const std::string_view> names,
                         std::string_view prefix = "");

}  // namespace rondo
