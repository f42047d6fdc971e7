// SPDX-License-Identifier: Apache-2.0
#include "base/log.h"

#include <fmt/ranges.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <mutex>
#include <span>
#include <vector>

#include "base/settings.h"
#include "base/words.h"

namespace rondo {
namespace {

using Level = spdlog::level::level_enum;

struct LevelName {
  std::string_view name;
  Level level;
};
constexpr LevelName kLevels[] = {{"trace", Level::trace}, {"debug", Level::debug}, {"info", Level::info},
                                 {"warn", Level::warn},   {"error", Level::err},   {"off", Level::off}};
// NCCL's levels are cumulative in this order: ABORT includes INFO.
constexpr LevelName kNcclLevels[] = {{"NONE", Level::off},   {"VERSION", Level::warn},
                                     {"WARN", Level::warn},  {"INFO", Level::info},
                                     {"ABORT", Level::info}, {"TRACE", Level::trace}};

Result<Level> level_named(Setting which, const std::string& text, std::span<const LevelName> rows) {
  std::vector<std::string_view> names;
  for (const LevelName& row : rows) {
    if (same_word(text, row.name)) return row.level;
    names.push_back(row.name);
  }
  return error(Code::InvalidArgument, "{} is '{}', which is not a log level; expected one of {}{}",
               setting_info(which).variable, text, fmt::join(names, ", "), did_you_mean(text, names));
}

Result<Level> wanted_level() {
  if (const auto text = setting(Setting::Log)) return level_named(Setting::Log, *text, kLevels);
  if (const auto text = setting(Setting::NcclDebug))
    return level_named(Setting::NcclDebug, *text, kNcclLevels);
  return Level::warn;
}

spdlog::logger& logger() {
  static spdlog::logger& one = *[] {
    // Never freed: threads may log during process exit.
    auto* made = new spdlog::logger("rondo", std::make_shared<spdlog::sinks::stderr_sink_mt>());
    made->set_pattern("[%H:%M:%S.%e %P rondo %l] %v");
    const auto level = wanted_level();
    made->set_level(level.ok() ? level.value() : Level::warn);
    return made;
  }();
  return one;
}

Level level_of(LogLevel level) {
  switch (level) {
    case LogLevel::Debug: return Level::debug;
    case LogLevel::Info: return Level::info;
    case LogLevel::Warn: break;
  }
  return Level::warn;
}

}  // namespace

Status read_log_level() {
  const auto level = wanted_level();
  logger().set_level(level.ok() ? level.value() : Level::warn);
  if (level.ok() || setting(Setting::Log)) return level.status();
  // NCCL ignores unknown values, and programs written for it rely on that.
  static std::once_flag once;
  std::call_once(once, [&] { log().warn("{}", level.status().message()); });
  return {};
}

bool log_shows_info() { return logger().should_log(Level::info); }

bool Log::enabled(LogLevel level) { return logger().should_log(level_of(level)); }

void Log::write(LogLevel level, std::string_view text) {
  logger().log(level_of(level), spdlog::string_view_t(text.data(), text.size()));
}

}  // namespace rondo
