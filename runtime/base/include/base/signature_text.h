// SPDX-License-Identifier: Apache-2.0
// The parts of a Signature in the words of the C API. Pure functions: any thread.
#pragma once

#include <string>

#include "base/signature.h"

namespace rondo {

/// "all_reduce", "all_gather_v", or the function that makes such calls: "rondo_split() or rondo_duplicate()".
std::string call_text(const Signature& signature);
/// "float32", "user type of 12 bytes"
std::string type_text(const Signature& signature);
/// "sum", "user-defined operation"
std::string op_text(const Signature& signature);

}  // namespace rondo
