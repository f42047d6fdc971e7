// SPDX-License-Identifier: Apache-2.0
#include "base/settings.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <utility>

#include "base/error_kinds.h"
#include "base/words.h"

namespace rondo {
namespace {

constexpr SettingInfo kRows[] = {
#define X(enumerator, variable, meaning) {variable, meaning},
    RONDO_SETTINGS(X)
#undef X
};

constexpr std::string_view kPrefix = "RONDO_";

// Read not by the library but by libnccl.so.2, librondo-heap.so, the Python package, the benchmarks, the
// scripts in tools/ and the tests.
constexpr std::string_view kReadElsewhere[] = {
    "RONDO_NCCL_VERSION", "RONDO_NCCL_BANNER", "RONDO_BENCH_TARGET",  "RONDO_WERROR",
    "RONDO_JOBS",         "RONDO_CUDA",        "RONDO_TORCH",         "RONDO_TORCH_ENV",
    "RONDO_TORCH_PYTHON", "RONDO_TEST_DATA",   "RONDO_TORCH_BACKEND", "RONDO_TORCH_VERSION",
    "RONDO_FAULT_TRIALS", "RONDO_FAULT_SEED",  "RONDO_FUZZ_SECONDS",  "RONDO_HEAP_FROM",
    "RONDO_LEND_TENSORS", "RONDO_SERVE"};
constexpr std::string_view kReadByTests[] = {"RONDO_TEST_", "RONDO_STANDIN_"};  // and whatever follows

bool is_known(std::string_view name) {
  const auto is_row = [&](const SettingInfo& row) { return row.variable == name; };
  return std::any_of(std::begin(kRows), std::end(kRows), is_row) ||
         std::find(std::begin(kReadElsewhere), std::end(kReadElsewhere), name) != std::end(kReadElsewhere) ||
         std::any_of(std::begin(kReadByTests), std::end(kReadByTests),
                     [&](std::string_view beginning) { return name.starts_with(beginning); });
}

/// Rondo's own names without their common prefix, which would make any two look alike.
std::vector<std::string_view> own_names() {
  std::vector<std::string_view> names;
  for (const SettingInfo& row : kRows)
    if (row.variable.starts_with(kPrefix)) names.push_back(row.variable.substr(kPrefix.size()));
  return names;
}

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
    return error(ErrorKind::SettingInvalid, "{} is '{}': it must be a whole number from {} to {}",
                 setting_info(which).variable, *text, least, most);
  return value;
}

Result<int64_t> size_setting(Setting which, int64_t least, int64_t most, int64_t otherwise) {
  const auto text = setting(which);
  if (!text) return otherwise;
  const auto bytes = parse_size(*text);
  if (!bytes || std::cmp_less(*bytes, least) || std::cmp_greater(*bytes, most))
    return error(ErrorKind::SettingInvalid,
                 "{} is '{}': it must be a number of bytes from {} to {}, for example 64K or 1M",
                 setting_info(which).variable, *text, least, most);
  return static_cast<int64_t>(*bytes);
}

Result<bool> switch_setting(Setting which, bool otherwise) {
  const auto text = setting(which);
  if (!text) return otherwise;
  if (const auto value = parse_switch(*text)) return *value;
  return error(ErrorKind::SettingInvalid,
               "{} is '{}': it must be 1, yes, true or on, or else 0, no, false or off",
               setting_info(which).variable, *text);
}

Result<int64_t> seconds_setting_ms(Setting which, int64_t otherwise_ms) {
  const auto text = setting(which);
  if (!text) return otherwise_ms;
  constexpr double kMaxSeconds = 1e9;
  char* end = nullptr;
  const double seconds = std::strtod(text->c_str(), &end);
  if (*end != '\0' || !(seconds >= 0.001) || seconds > kMaxSeconds)
    return error(ErrorKind::SettingInvalid, "{} is '{}': it must be a number of seconds from 0.001 to 1e9",
                 setting_info(which).variable, *text);
  return static_cast<int64_t>(std::ceil(seconds * 1000));
}

std::vector<std::string> unknown_variables() {
  std::vector<std::string> sentences;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const size_t equals = text.find('=');
    if (equals == std::string_view::npos || equals + 1 == text.size()) continue;  // empty means unset
    const std::string_view name = text.substr(0, equals);
    if (!name.starts_with(kPrefix) || is_known(name)) continue;
    const std::string_view own = name.substr(kPrefix.size());
    sentences.push_back(
        fmt::format("{} is not a variable of Rondo{}", name, did_you_mean(own, own_names(), kPrefix)));
  }
  std::sort(sentences.begin(), sentences.end());
  return sentences;
}

}  // namespace rondo
