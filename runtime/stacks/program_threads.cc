// SPDX-License-Identifier: Apache-2.0
#include "program_threads.h"

#include <dirent.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <memory>
#include <string_view>

#include "base/file_contents.h"
#include "stacks/process_trouble.h"

namespace rondo {
namespace {

constexpr std::string_view kOwnPrefix = "rondo-";

std::string of_thread(pid_t thread, const char* what) {
  return file_contents(fmt::format("/proc/self/task/{}/{}", thread, what));
}

std::string without_newline(std::string text) {
  while (text.ends_with('\n')) text.pop_back();
  return text;
}

/// The value of a line "NAME:\tVALUE" of a status file.
std::string field_of(const std::string& status, const std::string& name) {
  const size_t at = ("\n" + status).find("\n" + name + ":");
  if (at == std::string::npos) return {};
  const size_t begin = status.find_first_not_of(" \t", at + name.size() + 1);
  return begin == std::string::npos ? "" : status.substr(begin, status.find('\n', begin) - begin);
}

}  // namespace

std::vector<pid_t> program_threads() {
  std::vector<pid_t> threads;
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(::opendir("/proc/self/task"), ::closedir);
  if (folder == nullptr) return threads;
  while (const dirent* const entry = ::readdir(folder.get())) {
    pid_t thread = 0;
    const std::string_view name = entry->d_name;
    if (std::from_chars(name.data(), name.data() + name.size(), thread).ec != std::errc()) continue;
    if (!thread_name(thread).starts_with(kOwnPrefix)) threads.push_back(thread);
  }
  std::ranges::sort(threads, {}, [](pid_t one) { return std::pair(one != ::getpid(), one); });
  return threads;
}

std::string thread_name(pid_t thread) { return without_newline(of_thread(thread, "comm")); }

ThreadActivity thread_activity(pid_t thread) {
  const std::string text = of_thread(thread, "syscall");
  unsigned long stack = 0;
  unsigned long next = 0;
  long call = 0;
  const bool is_call =
      std::sscanf(text.c_str(), "%ld %*x %*x %*x %*x %*x %*x %lx %lx", &call, &stack, &next) == 3;
  if (!is_call && std::sscanf(text.c_str(), "-1 %lx %lx", &stack, &next) != 2)
    return {.runs = text.starts_with("running")};
  return {.wait = KernelWait{.call = is_call ? call : -1, .stack = stack, .next = next}};
}

std::string times_waited(pid_t thread) {
  return field_of(of_thread(thread, "status"), "voluntary_ctxt_switches");
}

bool takes_signal(pid_t thread, int signal) {
  const std::string blocked = field_of(of_thread(thread, "status"), "SigBlk");
  uint64_t mask = 0;
  const auto [end, failure] = std::from_chars(blocked.data(), blocked.data() + blocked.size(), mask, 16);
  return failure == std::errc() && !blocked.empty() && (mask >> (signal - 1) & 1) == 0;
}

std::string process_trouble(pid_t process) {
  const std::string folder = fmt::format("/proc/{}/", process);
  const std::string status = file_contents(folder + "status");
  const std::string tracer = field_of(status, "TracerPid");
  const std::string state = field_of(status, "State");
  const bool is_stopped = state.starts_with('T') || state.starts_with('t');
  if (is_stopped && !tracer.empty() && tracer != "0") {
    const std::string name = without_newline(file_contents("/proc/" + tracer + "/comm"));
    return fmt::format("is held by process {} ({}), which traces it", tracer, name);
  }
  if (is_stopped) return "is stopped (SIGSTOP or job control)";
  if (state.starts_with('Z')) return "has ended, and its parent has not waited for it (zombie)";
  if (!state.starts_with('D')) return {};
  const std::string place = without_newline(file_contents(folder + "wchan"));
  const bool is_known = !place.empty() && place != "0";
  return "is in an uninterruptible wait of the kernel" + (is_known ? " (" + place + ")" : "");
}

}  // namespace rondo
