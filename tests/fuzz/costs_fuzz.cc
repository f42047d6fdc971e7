// SPDX-License-Identifier: Apache-2.0
// Any text at all as a file of measured costs: it is refused with a sentence, or gives numbers in range.
#include <algorithm>

#include "base/saved_costs.h"
#include "fuzz.h"

using namespace rondo;
using namespace rondo::fuzz;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  // What depends on the host is put in front, or no input would be read to its end.
  static const std::string host = [] {
    const std::string text = saved_costs_text({}, "2026-11-27");
    return text.substr(0, text.find("measured"));
  }();
  const std::string_view text{reinterpret_cast<const char*>(data), size};
  for (const std::string& file : {std::string(text), host + std::string(text)}) {
    const auto saved = read_saved_costs(file);
    if (saved.ok()) {
      require(std::ranges::all_of(saved.value().costs, is_cost), "a cost is out of range");
      require(saved.value().date.find_first_not_of("0123456789-") == std::string::npos, "it is no date");
    } else {
      require(saved.status().message().starts_with("line "), "the line is not named");
    }
  }
  return 0;
}
