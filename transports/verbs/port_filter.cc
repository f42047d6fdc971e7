// SPDX-License-Identifier: Apache-2.0
#include "verbs/port_filter.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "base/error_kinds.h"
#include "base/words.h"

namespace rondo::verbs {
namespace {

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (;;) {
    const size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

bool is_device_name(std::string_view text) {
  constexpr std::string_view kAllowed = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.";
  return !text.empty() && text.find_first_not_of(kAllowed) == std::string_view::npos;
}

/// Removes a character from the beginning; whether it was there.
bool skip(std::string_view& text, char beginning) {
  if (!text.starts_with(beginning)) return false;
  text.remove_prefix(1);
  return true;
}

/// A field after the device's name; nothing if it is empty or -1.
template <typename Number>
Status parse_field(std::string_view what, std::string_view text, int64_t min, std::optional<Number>& out) {
  if (text.empty() || text == "-1") return {};
  constexpr int64_t kMax = std::numeric_limits<Number>::max();
  const auto value = parse_integer(text);
  if (!value || *value < min || *value > kMax)
    return error(ErrorKind::SettingInvalid, "{} '{}' must be a number from {} to {}", what, text, min, kMax);
  out = static_cast<Number>(*value);
  return {};
}

/// "device" and up to `max_fields` numbers: port, rail, plane.
Result<PortRule> parse_rule(std::string_view text, size_t max_fields) {
  const auto fields = split(text, ':');
  if (text.empty()) return error(ErrorKind::SettingInvalid, "a name is empty");
  if (!is_device_name(fields[0]))
    return error(ErrorKind::SettingInvalid, "'{}' is not the name of a device, such as mlx5_0", fields[0]);
  if (fields.size() > max_fields + 1)
    return error(ErrorKind::SettingInvalid, "'{}' has {} numbers, of at most {}", text, fields.size() - 1,
                 max_fields);
  PortRule rule{.device = std::string(fields[0])};
  std::optional<uint16_t> plane;
  if (max_fields == 1 && fields.size() == 2 && fields[1].empty())
    return error(ErrorKind::SettingInvalid, "'{}' has no number after the ':'", text);
  if (fields.size() > 1) RONDO_TRY(parse_field("port", fields[1], 1, rule.number));
  if (fields.size() > 2) RONDO_TRY(parse_field("rail", fields[2], 0, rule.rail));
  if (fields.size() > 3) RONDO_TRY(parse_field("plane", fields[3], 0, plane));
  return rule;
}

std::string names_of(const std::vector<VerbsPort>& ports) {
  if (ports.empty()) return "none";
  std::vector<std::string> names;
  for (const VerbsPort& port : ports) names.push_back(port.name());
  return fmt::format("{}", fmt::join(names, ", "));
}

/// The nearest name that a port has: one of the same device, if there is one.
std::string suggestion(const PortRule& rule, const std::vector<VerbsPort>& ports) {
  const auto same_device = [&](const VerbsPort& port) { return port.device == rule.device; };
  const bool has_device = std::any_of(ports.begin(), ports.end(), same_device);
  std::vector<std::string> names;
  for (const VerbsPort& port : ports)
    if (same_device(port) || !has_device) names.push_back(rule.number ? port.name() : port.device);
  return did_you_mean(rule.text(), std::vector<std::string_view>(names.begin(), names.end()));
}

}  // namespace

bool PortRule::matches(const VerbsPort& port) const {
  const bool same_device = whole_name ? port.device == device : port.device.starts_with(device);
  return same_device && (!number || *number == port.number);
}

std::string PortRule::text() const { return number ? fmt::format("{}:{}", device, *number) : device; }

Result<PortFilter> PortFilter::parse(std::string_view variable, std::string_view value) {
  PortFilter filter;
  filter.setting_ = fmt::format("{} is '{}'", variable, value);
  for (std::string_view name : split(value, ',')) {
    const bool excludes = skip(name, '^');
    if (name.starts_with('='))
      return error(ErrorKind::SettingInvalid, "{}: names are whole without '='; write {}", filter.setting_,
                   name.substr(1));
    auto rule = parse_rule(name, 1);
    if (!rule.ok()) return rule.status().within(filter.setting_);
    rule.value().excludes = excludes;
    filter.rules_.push_back(rule.take());
  }
  return filter;
}

Result<PortFilter> PortFilter::parse_nccl(std::string_view variable, std::string_view value) {
  constexpr size_t kMaxFields = 3;
  PortFilter filter;
  filter.refusal_ = Code::Unsupported;
  filter.setting_ = fmt::format("{} is '{}'", variable, value);
  const bool excludes = skip(value, '^');
  const bool whole_name = skip(value, '=');
  for (const std::string_view name : split(value, ',')) {
    if (name.empty()) continue;  // as after a comma at the end, which NCCL ignores
    auto rule = parse_rule(name, kMaxFields);
    if (!rule.ok()) return rule.status().within(filter.setting_);
    rule.value().excludes = excludes;
    rule.value().whole_name = whole_name;
    filter.rules_.push_back(rule.take());
  }
  if (!filter.rules_.empty()) return filter;
  return error(ErrorKind::SettingInvalid, "{}: it names no device, such as mlx5_0", filter.setting_);
}

/// The first rule to use the port, if any.
const PortRule* PortFilter::rule_for(const VerbsPort& port) const {
  const auto found = std::find_if(rules_.begin(), rules_.end(),
                                  [&](const PortRule& rule) { return !rule.excludes && rule.matches(port); });
  return found == rules_.end() ? nullptr : &*found;
}

bool PortFilter::admits(const VerbsPort& port) const {
  const bool excluded = std::any_of(rules_.begin(), rules_.end(), [&](const PortRule& rule) {
    return rule.excludes && rule.matches(port);
  });
  const bool excludes_only =
      std::all_of(rules_.begin(), rules_.end(), [](const PortRule& rule) { return rule.excludes; });
  return !excluded && (excludes_only || rule_for(port) != nullptr);
}

Status PortFilter::apply(std::vector<VerbsPort>& ports) const {
  std::vector<VerbsPort> admitted;
  for (const VerbsPort& port : ports)
    if (admits(port)) admitted.push_back(port);
  if (admitted.empty() && !ports.empty()) {
    const auto causes = unmatched(ports);
    return error(ErrorKind::PortsExcluded, "{}",
                 causes.empty()
                     ? fmt::format("{}: that excludes every port of this host: {}", setting_, names_of(ports))
                     : causes.front())
        .as(refusal_);
  }
  ports = std::move(admitted);
  for (VerbsPort& port : ports)
    if (const PortRule* rule = rule_for(port); rule != nullptr && rule->rail) port.rail = *rule->rail;
  return {};
}

std::vector<std::string> PortFilter::unmatched(const std::vector<VerbsPort>& ports) const {
  std::vector<std::string> sentences;
  for (const PortRule& rule : rules_) {
    const auto fits = [&](const VerbsPort& port) { return rule.matches(port); };
    // Names to leave out may be absent: one value serves hosts that differ.
    if (rule.excludes || std::any_of(ports.begin(), ports.end(), fits)) continue;
    sentences.push_back(fmt::format("{}: no port of this host {} {}; it has {}{}", setting_,
                                    rule.whole_name ? "is" : "begins with", rule.text(), names_of(ports),
                                    suggestion(rule, ports)));
  }
  return sentences;
}

}  // namespace rondo::verbs
