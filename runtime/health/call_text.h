// SPDX-License-Identifier: Apache-2.0
// A call as fields of a JSON object, for the flight recorder's file and the trace. Pure: any thread.
#pragma once

#include <string>

#include "base/signature.h"

namespace rondo {

/// Its name, its arguments as passed to the C API, and how it was carried out.
std::string call_arguments(const Signature& signature, const char* algorithm);

}  // namespace rondo
