#include "base/settings.h"

#include <charconv>
#include <cmath>
#include <cstdlib>

namespace rondo {
namespace {

constexpr SettingInfo kRows[] = {
#define X(enumerator, variable, meaning) {variable, meaning},
    RONDO_SETTINGS(X)
#undef X
};

}  // namespace

std::span<const SettingInfo> all_settings() { return kRows; }

const SettingInfo& setting_info(Setting setting) { return kRows[static_cast<size_t>(setting)]; }

std::optional<std::string> setting(Setting setting) {
  const char* value = std::getenv(setting_info(setting).variable.data());
  if (value == nullptr || *value == '\0') return std::nullopt;
  return value;
}

Result<int64_t> number_setting(Setting which, int64_t least, int64_t most, int64_t otherwise) {
  const auto text = setting(which);
  if (!text) return otherwise;
  int64_t value = 0;
  const auto [end, failure] = std::from_chars(text->data(), text->data() + text->size(), value);
  if (failure != std::errc() || end != text->data() + text->size() || value < least || value > most)
    return error(Code::InvalidArgument, "{} is '{}': it must be a whole number from {} to {}",
                 setting_info(which).variable, *text, least, most);
  return value;
}

Result<int64_t> seconds_setting_ms(Setting which, int64_t otherwise_ms) {
  const auto text = setting(which);
  if (!text) return otherwise_ms;
  constexpr double kMostSeconds = 1e9;
  char* end = nullptr;
  const double seconds = std::strtod(text->c_str(), &end);
  if (*end != '\0' || !(seconds >= 0.001) || seconds > kMostSeconds)
    return error(Code::InvalidArgument, "{} is '{}': it must be a number of seconds from 0.001 to 1e9",
                 setting_info(which).variable, *text);
  return static_cast<int64_t>(std::ceil(seconds * 1000));
}

}  // namespace rondo
