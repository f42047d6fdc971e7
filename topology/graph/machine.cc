// SPDX-License-Identifier: Apache-2.0
#include "graph/machine.h"

#include <algorithm>

namespace rondo {
namespace {

bool is_hex(std::string_view text) {
  return !text.empty() &&
         std::ranges::all_of(text, [](char c) { return std::isxdigit(static_cast<unsigned char>(c)) != 0; });
}

Status not_a_bus_id(std::string_view text) {
  return error(Code::InvalidArgument, "'{}' is not a PCI address such as 0000:3b:00.0", text.substr(0, 64));
}

}  // namespace

Result<std::string> normalized_bus_id(std::string_view text) {
  const size_t dot = text.rfind('.');
  const size_t second = text.rfind(':');
  if (dot == std::string_view::npos || second == std::string_view::npos || second > dot)
    return not_a_bus_id(text);
  const size_t first = second == 0 ? std::string_view::npos : text.rfind(':', second - 1);
  const bool has_domain = first != std::string_view::npos;
  const std::string_view domain = has_domain ? text.substr(0, first) : "0000";
  const size_t bus_at = has_domain ? first + 1 : 0;
  const std::string_view bus = text.substr(bus_at, second - bus_at);
  const std::string_view device = text.substr(second + 1, dot - second - 1);
  const std::string_view function = text.substr(dot + 1);
  if (!is_hex(domain) || domain.size() > 8 || !is_hex(bus) || bus.size() > 2 || !is_hex(device) ||
      device.size() > 2 || !is_hex(function) || function.size() != 1)
    return not_a_bus_id(text);
  // NVML prints eight digits of domain, the kernel four.
  const size_t zeros = std::min(domain.find_first_not_of('0'), domain.size());
  const std::string_view digits =
      domain.substr(std::min(zeros, domain.size() - std::min<size_t>(4, domain.size())));
  std::string result = fmt::format("{:0>4}:{:0>2}:{:0>2}.{}", digits, bus, device, function);
  std::ranges::transform(result, result.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return result;
}

std::string place(const Machine& machine, int line) {
  return line > 0 ? fmt::format("{}:{}", machine.source, line) : machine.source;
}

}  // namespace rondo
