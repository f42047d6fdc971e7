// SPDX-License-Identifier: Apache-2.0
#include "base/element.h"

#include <utility>

namespace rondo {

std::optional<ElementType> element_by_name(std::string_view name) {
  for (int i = 0; i < kElementTypes; ++i) {
    if (element_info(static_cast<ElementType>(i)).name == name) return static_cast<ElementType>(i);
  }
  static constexpr std::pair<std::string_view, ElementType> aliases[] = {
      {"half", ElementType::Float16},      {"fp16", ElementType::Float16},
      {"bf16", ElementType::BFloat16},     {"float", ElementType::Float32},
      {"fp32", ElementType::Float32},      {"double", ElementType::Float64},
      {"fp64", ElementType::Float64},      {"f8e4m3", ElementType::Float8E4M3},
      {"f8e5m2", ElementType::Float8E5M2},
  };
  for (auto [alias, type] : aliases) {
    if (alias == name) return type;
  }
  return std::nullopt;
}

}  // namespace rondo
