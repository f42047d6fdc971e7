// SPDX-License-Identifier: Apache-2.0
// Any text at all as a file of RONDO_ALGORITHM's rules: it is refused with a sentence, or makes one choice
// for every size; a newline at its end makes no difference.
#include "plan/rules.h"

#include "fuzz.h"

using namespace rondo;
using namespace rondo::fuzz;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text{reinterpret_cast<const char*>(data), size};
  const auto rules = Rules::of_file(text, kSource);
  require(Rules::of_file(std::string(text) + "\n", kSource).ok() == rules.ok(),
          "a newline at the end makes a difference");
  if (!rules.ok()) {
    require_named(rules.status());
    return 0;
  }
  Call call;
  call.type = CallType::of(ElementType::UInt8);
  for (const CollectiveKind kind : kAllCollectives) {
    call.kind = kind;
    for (call.count = 0; call.count < size_t{1} << 40; call.count = 2 * call.count + 1) {
      const ForcedChoice choice = rules.value().choice(call, 1);
      require(choice.algorithm.find_first_of(",;\n") == std::string::npos,
              "a separator is no part of a name");
      require(choice.algorithm != "auto", "auto is no algorithm");
    }
  }
  return 0;
}
