// SPDX-License-Identifier: Apache-2.0
#include "plan/rules.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>

#include "base/error_kinds.h"
#include "base/file_contents.h"
#include "base/words.h"
#include "plan/executor.h"
#include "synthesis/found_plans.h"

namespace rondo {
namespace {

constexpr size_t kMaxFileBytes = size_t{1} << 20;
constexpr size_t kMaxChoice = 4096;  // characters, as of a path
constexpr size_t kUnlimited = SIZE_MAX;
constexpr std::string_view kFilePrefix = "file:";

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kSpace = " \t";
  text.remove_prefix(std::min(text.find_first_not_of(kSpace), text.size()));
  return text.substr(0, text.find_last_not_of(kSpace) + 1);
}

std::vector<std::string_view> parts(std::string_view text, char separator) {
  std::vector<std::string_view> all;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(separator, begin), text.size());
    all.push_back(trimmed(text.substr(begin, end - begin)));
    begin = end + 1;
  }
  return all;
}

std::string shortened(std::string_view text) {
  constexpr size_t kMaxShown = 100;
  return std::string(text.substr(0, kMaxShown)) + (text.size() > kMaxShown ? "..." : "");
}

bool is_executor(std::string_view name) {
  return std::find(std::begin(kExecutorNames), std::end(kExecutorNames), name) != std::end(kExecutorNames);
}

Status check_executor_name(std::string_view name) {
  if (is_executor(name)) return {};
  return error(ErrorKind::NameUnknown, "unknown executor '{}'; expected one of {}{}", name,
               fmt::join(kExecutorNames, ", "), did_you_mean(name, kExecutorNames));
}

Status check_algorithm_name(CollectiveKind kind, std::string_view name) {
  if (FoundPlans::have(kind, name)) return {};
  const Status status = algorithm_by_name(kind, name).status();
  const auto others = FoundPlans::names(kind);
  if (status.ok() || others.empty()) return status;
  return error(status.code(), "{} (and of the ranks' machine or of a file: {})", status.message(),
               fmt::join(others, ", "))
      .because(status.kind());
}

/// Where the '@' before the executor is; the length if there is none. A path may have one too.
size_t executor_begins(std::string_view choice) {
  const size_t at = std::min(choice.rfind('@'), choice.size());
  const bool is_of_path =
      choice.starts_with(kFilePrefix) && !is_executor(choice.substr(std::min(at + 1, choice.size())));
  return is_of_path ? choice.size() : at;
}

Result<ForcedChoice> parse_choice(CollectiveKind kind, std::string_view text) {
  ForcedChoice choice;
  if (text == "auto") return choice;
  const size_t at = executor_begins(text);
  if (at != text.size()) {
    choice.executor = text.substr(at + 1);
    RONDO_TRY(check_executor_name(choice.executor));
  }
  if (at != 0 || choice.executor.empty()) {
    choice.algorithm = text.substr(0, at);
    RONDO_TRY(check_algorithm_name(kind, choice.algorithm));
  }
  return choice;
}

std::string_view without_comment(std::string_view line) {
  for (size_t at = line.find('#'); at < line.size(); at = line.find('#', at + 1))
    if (at == 0 || line[at - 1] == ' ') return line.substr(0, at);
  return line;
}

bool is_control(unsigned char c) { return c < ' ' || c == 0x7f; }

}  // namespace

Result<Rules::SizedChoice> Rules::parse_sized(CollectiveKind kind, std::string_view text) {
  if (text.size() > kMaxChoice)
    return error(ErrorKind::RuleInvalid, "expected a choice of at most {} characters", kMaxChoice);
  size_t max_bytes = kUnlimited;
  const bool is_of_file = text.starts_with(kFilePrefix);
  const size_t colon = text.rfind(':');
  if (colon != std::string_view::npos && (!is_of_file || colon >= kFilePrefix.size())) {
    const std::string_view limit = trimmed(text.substr(colon + 1));
    if (const auto bytes = parse_size(limit)) {
      max_bytes = *bytes;
      text = trimmed(text.substr(0, colon));
    } else if (!is_of_file) {  // a path may have a ':'
      return error(ErrorKind::RuleInvalid, "the limit '{}' must be a number of bytes, for example 64K or 1M",
                   limit);
    }
  }
  RONDO_TRY_ASSIGN(ForcedChoice choice, parse_choice(kind, text));
  return SizedChoice{max_bytes, std::move(choice)};
}

Status Rules::add(std::string_view rule) {
  constexpr size_t kMaxName = 100;  // longer than any, and short enough to search for similar ones
  const size_t equals = rule.find('=');
  const std::string_view name = trimmed(rule.substr(0, std::min(equals, kMaxName)));
  const auto kind = collective_by_name(name);
  if (equals == std::string_view::npos || !kind)
    return error(ErrorKind::RuleInvalid, "it must be COLLECTIVE=ALGORITHM, as in all_reduce=ring{}",
                 kind ? "" : "; " + no_collective(name));
  const auto [entry, is_first] = choices_.try_emplace(*kind);
  if (!is_first)
    return error(ErrorKind::RuleInvalid, "{} is named twice; each collective may have one rule",
                 collective_name(*kind));
  bool follows_path = false;
  for (const std::string_view part : parts(rule.substr(equals + 1), ',')) {
    const Status added = append(*kind, part);
    if (!added.ok() && follows_path)
      return error(added.code(), "{} (a path in a rule cannot have a comma)", added.message())
          .because(added.kind());
    RONDO_TRY(added);
    follows_path = part.starts_with(kFilePrefix);
  }
  return {};
}

Status Rules::append(CollectiveKind kind, std::string_view text) {
  std::vector<SizedChoice>& choices = choices_[kind];
  if (!choices.empty() && choices.back().max_bytes == kUnlimited)
    return error(ErrorKind::RuleInvalid,
                 "only the last choice may be without a limit, as in two_shot:64K,ring");
  RONDO_TRY_ASSIGN(SizedChoice choice, parse_sized(kind, text));
  if (!choices.empty() && choice.max_bytes <= choices.back().max_bytes)
    return error(ErrorKind::RuleInvalid,
                 "the limit of '{}' must be above that of the choice before it ({} bytes)", shortened(text),
                 choices.back().max_bytes);
  choices.push_back(std::move(choice));
  return {};
}

Status Rules::add_line(std::string line) {
  if (line.ends_with('\r')) line.pop_back();
  std::replace(line.begin(), line.end(), '\t', ' ');
  if (std::any_of(line.begin(), line.end(), is_control))
    return error(ErrorKind::RuleInvalid, "expected text, not a control character");
  for (const std::string_view rule : parts(without_comment(line), ';')) {
    if (rule.starts_with('@')) return error(ErrorKind::RuleInvalid, "a file of rules cannot name another");
    if (!rule.empty()) RONDO_TRY(add(rule));
  }
  return {};
}

Status Rules::add_lines(std::string_view text, const std::string& source) {
  for (int number = 1; !text.empty(); ++number) {
    const size_t end = std::min(text.find('\n'), text.size());  // the last line may lack its newline
    const Status added = add_line(std::string(text.substr(0, end)));
    if (!added.ok()) return added.within(fmt::format("{}:{}", source, number));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return {};
}

Status Rules::add_file(const std::string& path) {
  const std::string text = file_contents(path, kMaxFileBytes + 1);
  if (errno != 0)
    return error(ErrorKind::FileUnreadable, "{}: cannot be read: {}", path, std::strerror(errno))
        .as(Code::InvalidArgument);
  if (text.empty())
    return error(ErrorKind::RuleInvalid, "{}: expected rules, but there is nothing in it", path);
  if (text.size() > kMaxFileBytes)
    return error(ErrorKind::RuleInvalid, "{}: expected a file of rules, of at most 1 MiB", path);
  return add_lines(text, path);
}

Result<Rules> Rules::parse(std::string_view text) {
  Rules rules;
  for (const std::string_view part : parts(text, ';')) {
    if (part.empty()) continue;
    const Status added =
        part.starts_with('@') ? rules.add_file(std::string(part.substr(1))) : rules.add(part);
    RONDO_TRY(added.within(fmt::format("algorithm '{}'", shortened(part))));
  }
  return rules;
}

Result<Rules> Rules::of_file(std::string_view text, const std::string& source) {
  Rules rules;
  RONDO_TRY(rules.add_lines(text, source));
  return rules;
}

ForcedChoice Rules::choice(const Call& call, int nranks) const {
  const auto found = choices_.find(call.kind);
  if (found == choices_.end()) return {};
  const size_t bytes = call.vector_bytes(nranks).value_or(kUnlimited);
  const auto one = std::ranges::lower_bound(found->second, bytes, {}, &SizedChoice::max_bytes);
  return one == found->second.end() ? ForcedChoice() : one->choice;
}

}  // namespace rondo
