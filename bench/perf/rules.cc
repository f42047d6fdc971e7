// SPDX-License-Identifier: Apache-2.0
#include "rules.h"

#include <fmt/format.h>

#include <cstdio>

#include "base/file_contents.h"

namespace rondo::perf {
namespace {

/// As parse_size() reads it.
std::string size_text(size_t bytes) {
  static constexpr const char* kUnits[] = {"", "K", "M", "G", "T"};
  size_t unit = 0;
  for (; bytes != 0 && bytes % 1024 == 0 && unit + 1 < std::size(kUnits); ++unit) bytes /= 1024;
  return fmt::format("{}{}", bytes, kUnits[unit]);
}

}  // namespace

std::string check_rules(const PerfOptions& options) {
  if (options.rules_file.empty()) return "";
  if (options.explain || !options.algorithms.empty())
    return "--rules writes what the library would choose: leave --explain and --algorithm out";
  if (options.ranks.size() > 1 || options.types.size() > 1 || options.ops.size() > 1 ||
      options.roots.size() != 1)
    return "--rules writes one rule for each collective: give one number of --ranks, -d, -o and -r";
  return "";
}

std::string choice_in(std::string_view explanation) {
  constexpr std::string_view kUses = "\nuses ";
  const size_t at = explanation.find(kUses);
  if (at == std::string_view::npos) return "auto";
  const std::string_view choice = explanation.substr(at + kUses.size());
  return std::string(choice.substr(0, choice.find(", ")));
}

std::string rule_of(Collective collective, const std::vector<ChoiceAtSize>& choices) {
  std::string rule(collective_info(collective).name);
  for (size_t i = 0; i < choices.size(); ++i) {
    const auto& [bytes, choice] = choices[i];
    if (i + 1 < choices.size() && choices[i + 1].choice == choice) continue;
    rule += (rule.find('=') == std::string::npos ? "=" : ",") + choice;
    if (collective != Collective::Barrier) rule += ":" + size_text(bytes);
  }
  return rule;
}

bool write_rules(const std::string& path, const std::string& text) {
  if (path == "-") {
    fmt::print("{}", text);
    return std::fflush(stdout) == 0;
  }
  const Status written = replace_file(path, text);
  if (!written.ok()) fmt::print(stderr, "rondo-perf: {}\n", written.message());
  return written.ok();
}

}  // namespace rondo::perf
