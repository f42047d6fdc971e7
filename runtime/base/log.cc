#include "base/log.h"

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include "base/settings.h"

namespace rondo {
namespace {

spdlog::level::level_enum wanted_level() {
  if (auto level = setting(Setting::Log)) return spdlog::level::from_str(*level);
  const std::string nccl = setting(Setting::NcclDebug).value_or("");
  if (nccl == "INFO" || nccl == "info") return spdlog::level::info;
  if (nccl == "TRACE" || nccl == "trace") return spdlog::level::trace;
  return spdlog::level::warn;
}

spdlog::logger& logger() {
  static spdlog::logger& one = *[] {
    // Never freed: threads may log while the process ends.
    auto* made = new spdlog::logger("rondo", std::make_shared<spdlog::sinks::stderr_sink_mt>());
    made->set_pattern("[%H:%M:%S.%e %P rondo %l] %v");
    made->set_level(wanted_level());
    return made;
  }();
  return one;
}

spdlog::level::level_enum level_of(LogLevel level) {
  switch (level) {
    case LogLevel::Debug: return spdlog::level::debug;
    case LogLevel::Info: return spdlog::level::info;
    case LogLevel::Warn: break;
  }
  return spdlog::level::warn;
}

}  // namespace

bool Log::enabled(LogLevel level) { return logger().should_log(level_of(level)); }

void Log::write(LogLevel level, std::string_view text) {
  logger().log(level_of(level), spdlog::string_view_t(text.data(), text.size()));
}

}  // namespace rondo
