// SPDX-License-Identifier: Apache-2.0
#include "base/log.h"

#include <fcntl.h>
#include <fmt/ranges.h>
#include <spdlog/sinks/base_sink.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <mutex>
#include <span>
#include <vector>

#include "base/error_kinds.h"
#include "base/fd.h"
#include "base/file_name.h"
#include "base/per_process.h"
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
  return error(ErrorKind::SettingInvalid, "{} is '{}', which is not a log level; expected one of {}{}",
               setting_info(which).variable, text, fmt::join(names, ", "), did_you_mean(text, names));
}

Result<Level> wanted_level() {
  if (const auto text = setting(Setting::Log)) return level_named(Setting::Log, *text, kLevels);
  if (const auto text = setting(Setting::NcclDebug))
    return level_named(Setting::NcclDebug, *text, kNcclLevels);
  return Level::warn;
}

/// Adds lines to the file of RONDO_LOG_FILE, or to standard error without one. The file is opened for each
/// line: a program may close descriptors that it does not know, or fork, and files are moved away.
class LogSink final : public spdlog::sinks::base_sink<std::mutex> {
 public:
  void set_file(const std::string& name) {
    const std::lock_guard lock(mutex_);
    if (name == name_) return;
    name_ = name;
    is_usable_ = true;
  }

 private:
  void sink_it_(const spdlog::details::log_msg& message) override {
    spdlog::memory_buf_t line;
    formatter_->format(message, line);
    const std::string_view text(line.data(), line.size());
    if (!name_.empty() && is_usable_ && is_added(text)) return;
    std::fwrite(text.data(), 1, text.size(), stderr);
    std::fflush(stderr);
  }
  void flush_() override {}

  /// Whether it is in the file. The first failure is said on standard error, to which the log goes from then
  /// on.
  bool is_added(std::string_view line) {
    const std::string path = expanded_file_name(name_);
    constexpr mode_t kReadable = 0666;  // as umask allows
    errno = 0;
    // A pipe without a reader must not make a call wait.
    const Fd file(
        ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, kReadable));
    if (file.valid() && ::write(file.get(), line.data(), line.size()) == static_cast<ssize_t>(line.size()))
      return true;
    is_usable_ = false;
    const Status why =
        system_error("cannot write " + path, errno == 0 ? ENOSPC : errno, ErrorKind::FileUnwritable);
    fmt::print(stderr, "rondo: {}: {}; the log goes to standard error\n",
               setting_info(Setting::LogFile).variable, why.message());
    return false;
  }

  std::string name_;        // with marks; empty: standard error
  bool is_usable_ = false;  // nothing has gone wrong with the file yet
};

/// What a process logs by.
struct ProcessLog {
  ProcessLog() {
    static_cast<void>(read_file());  // said when the first communicator is created
    logger.set_pattern("[%H:%M:%S.%e %P rondo %l] %v");
    const auto level = wanted_level();
    logger.set_level(level.ok() ? level.value() : Level::warn);
  }
  Status read_file() {
    const std::string name = setting(Setting::LogFile).value_or("");
    RONDO_TRY(check_file_name(setting_info(Setting::LogFile).variable, name, "hp"));
    sink->set_file(name);
    return {};
  }

  const std::shared_ptr<LogSink> sink = std::make_shared<LogSink>();
  spdlog::logger logger{"rondo", sink};
};

spdlog::logger& logger() { return per_process<ProcessLog>().logger; }

Level level_of(LogLevel level) {
  switch (level) {
    case LogLevel::Debug: return Level::debug;
    case LogLevel::Info: return Level::info;
    case LogLevel::Warn: break;
  }
  return Level::warn;
}

}  // namespace

Status read_log_file() { return per_process<ProcessLog>().read_file(); }

Status read_log_level() {
  const auto level = wanted_level();
  logger().set_level(level.ok() ? level.value() : Level::warn);
  if (level.ok() || setting(Setting::Log)) return level.status();
  // NCCL ignores unknown values, and programs written for it rely on that.
  static std::atomic_flag is_said;
  if (!is_said.test_and_set()) log().warn("{}", level.status().text());
  return {};
}

bool log_shows_info() { return logger().should_log(Level::info); }

bool Log::enabled(LogLevel level) { return logger().should_log(level_of(level)); }

void Log::write(LogLevel level, std::string_view text) {
  logger().log(level_of(level), spdlog::string_view_t(text.data(), text.size()));
}

}  // namespace rondo
