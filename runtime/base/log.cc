#include "base/log.h"

#include <spdlog/sinks/stdout_sinks.h>

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

}  // namespace

spdlog::logger& log() {
  static spdlog::logger& logger = *[] {
    // Never freed: threads may log while the process ends.
    auto* made = new spdlog::logger("rondo", std::make_shared<spdlog::sinks::stderr_sink_mt>());
    made->set_pattern("[%H:%M:%S.%e %P rondo %l] %v");
    made->set_level(wanted_level());
    return made;
  }();
  return logger;
}

}  // namespace rondo
