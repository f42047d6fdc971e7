// SPDX-License-Identifier: Apache-2.0
#include "call_text.h"

#include <fmt/core.h>

#include "base/json_text.h"
#include "base/signature_text.h"

namespace rondo {

std::string call_arguments(const Signature& s, const char* algorithm) {
  const bool has_data = s.purpose == CallPurpose::Collective && s.kind != CollectiveKind::Barrier;
  const bool is_reduction = has_data && reduces(s.kind);
  const bool is_rooted = s.purpose == CallPurpose::Collective && has_root(s.kind);
  return fmt::format(
      R"("call":{},"count":{},"bytes":{},"type":{},"op":{},"root":{},"on_gpu":{},)"
      R"("algorithm":{},"plan":"{:016x}")",
      json_string(call_text(s)), s.count, s.count * s.type_bytes,
      has_data ? json_string(type_text(s)) : "null", is_reduction ? json_string(op_text(s)) : "null",
      is_rooted ? std::to_string(s.root) : "null", s.on_gpu != 0, json_string(algorithm), s.plan);
}

}  // namespace rondo
