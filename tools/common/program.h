// SPDX-License-Identifier: Apache-2.0
// What command lines over the C API share: their name, how they end, and text that is fit for XML. One
// thread.
#pragma once

#include <string>

#include "rondo/rondo.h"

namespace rondo::tool {

/// Each program's own; errors begin with it.
extern const char* const kProgramName;

/// The exit codes of a program that could not do what was requested, or was called wrongly.
inline constexpr int kFailed = 1;
inline constexpr int kBadOptions = 2;

/// Ends the program with the library's error unless a call succeeded.
void require(rondo_status_t status);

/// Ends the program with that cause.
[[noreturn]] void fail(const std::string& cause);

/// Ends the program with what is wrong with its options.
[[noreturn]] void refuse(const std::string& problem);

/// What CLI11 prints of options that it cannot read: the same, with where they are described.
std::string option_error(const std::string& problem);

/// As require(), of a call whose arguments the options give: if they are wrong, so are the options.
void require_options(rondo_status_t status);

/// The exit code of a program that is done: `code` unless its output could not be written.
int ended(int code);

/// "rondo-topo 0.1.0"
std::string version_text();

/// A struct of the C API, with its size.
template <typename Struct>
Struct sized() {
  Struct made = {};
  made.size = sizeof(made);
  return made;
}

/// As text or an attribute of XML.
std::string escaped(const std::string& text);
/// With a question mark for each byte that is no character in UTF-8, or a control character.
std::string printable(const std::string& text);

}  // namespace rondo::tool
