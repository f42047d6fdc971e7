// SPDX-License-Identifier: Apache-2.0
#include "logger.h"

#include <dlfcn.h>
#include <fmt/core.h>
#include <strings.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <initializer_list>
#include <mutex>

#include "outcome.h"
#include "variables.h"

namespace rondo::nccl {
namespace {

std::string host_name() {
  std::array<char, 256> name{};
  ::gethostname(name.data(), name.size() - 1);
  return name.data();
}

Logger::Level wanted_level() {
  const std::string text = variable("NCCL_DEBUG");
  const auto is = [&](const char* name) { return ::strcasecmp(text.c_str(), name) == 0; };
  if (is("VERSION")) return Logger::Level::Version;
  if (is("WARN")) return Logger::Level::Warn;
  if (is("INFO") || is("TRACE") || is("ABORT")) return Logger::Level::Info;
  return Logger::Level::None;
}

/// NCCL_DEBUG_FILE, with %h replaced by the host name and %p by the process id.
std::string file_name() {
  const std::string pattern = variable("NCCL_DEBUG_FILE");
  std::string name;
  for (size_t at = 0; at < pattern.size(); ++at) {
    if (pattern[at] != '%' || at + 1 == pattern.size()) {
      name += pattern[at];
      continue;
    }
    switch (pattern[++at]) {
      case 'h': name += host_name(); break;
      case 'p': name += std::to_string(::getpid()); break;
      case '%': name += '%'; break;
      default: name += std::string("%") + pattern[at];
    }
  }
  return name;
}

struct LogState {
  std::mutex mutex;
  std::atomic<int> level{-1};  // not known yet
  FILE* file = nullptr;        // null: standard output
  bool looked_for_file = false;
};

LogState& log_state() {
  static auto& one = *new LogState;
  return one;
}

void write(const std::string& text, FILE* otherwise) {
  const std::lock_guard lock(log_state().mutex);
  if (!log_state().looked_for_file) {
    log_state().looked_for_file = true;
    if (const std::string name = file_name(); !name.empty())
      log_state().file = std::fopen(name.c_str(), "we");
  }
  FILE* to = log_state().file != nullptr ? log_state().file : otherwise;
  fmt::print(to, "{}\n", text);
  std::fflush(to);
}

std::string prefix() { return fmt::format("{}:{} Rondo ", host_name(), ::getpid()); }

/// The path of this shared library.
std::string own_path() {
  Dl_info info{};
  if (::dladdr(reinterpret_cast<const void*>(&own_path), &info) == 0 || info.dli_fname == nullptr) return "?";
  char* resolved = ::realpath(info.dli_fname, nullptr);
  const std::string path = resolved != nullptr ? resolved : info.dli_fname;
  std::free(resolved);
  return path;
}

std::string banner() { return fmt::format("{} {}", product_text(), own_path()); }

bool is_any_of(const char* text, std::initializer_list<const char*> words) {
  return std::any_of(words.begin(), words.end(),
                     [&](const char* word) { return ::strcasecmp(text, word) == 0; });
}

/// RONDO_NCCL_BANNER requests the banner as soon as the library is loaded.
bool wanted_at_load() {
  const char* wanted = std::getenv("RONDO_NCCL_BANNER");
  return wanted != nullptr && !is_any_of(wanted, {"", "0", "no", "false", "off"});
}

__attribute__((constructor)) void say_that_it_is_loaded() {
  if (wanted_at_load()) fmt::print(stderr, "{}\n", banner());
}

/// Goes to standard error, since standard output belongs to the program, unless NCCL_DEBUG_FILE is set.
void name_variables() {
  const char* level = std::getenv("RONDO_LOG");
  if (level != nullptr && is_any_of(level, {"error", "off"})) return;
  for (const std::string& sentence : variables_without_effect()) write(prefix() + "WARN " + sentence, stderr);
}

}  // namespace

std::string nccl_version_text() {
  const int version = reported_version();
  return fmt::format("{}.{}.{}", version / 10000, version / 100 % 100, version % 100);
}

std::string product_text() {
  int version = 0;
  rondo_version(&version);
  return fmt::format("Rondo {}.{}.{} as libnccl.so.2 (NCCL {} ABI)", version / 10000, version / 100 % 100,
                     version % 100, nccl_version_text());
}

bool Logger::shows(Level level) {
  int now = log_state().level.load(std::memory_order_relaxed);
  if (now < 0) {
    now = static_cast<int>(wanted_level());
    log_state().level.store(now, std::memory_order_relaxed);
  }
  return now >= static_cast<int>(level);
}

void Logger::reopen() { log_state().level.store(-1, std::memory_order_relaxed); }

void Logger::open() {
  static std::once_flag once;
  std::call_once(once, [] {
    if (shows(Level::Version)) write(banner(), stdout);
    name_variables();
  });
}

void Logger::warn(const std::string& text) {
  if (shows(Level::Warn)) write(prefix() + "WARN " + text, stdout);
}

void Logger::info(const std::string& text) {
  if (shows(Level::Info)) write(prefix() + "INFO " + text, stdout);
}

}  // namespace rondo::nccl
