// SPDX-License-Identifier: Apache-2.0
#include "stacks/program_place.h"

#include <fmt/format.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <new>
#include <optional>

#include "base/clock.h"
#include "base/disowned.h"
#include "base/quiet_thread.h"
#include "base/settings.h"
#include "function_names.h"
#include "held_thread.h"
#include "program_threads.h"
#include "python_frames.h"

namespace rondo {
namespace {

constexpr size_t kMaxThreads = 64;
/// A file that is not there, or a lock that is never free, must not keep a rank from its end.
constexpr std::chrono::seconds kMaxSearch{1};
/// After this time of it no more threads are interrupted, as each may take long to come.
constexpr int64_t kMaxSignals_ms = 500;
/// A thread counts as running if it does in all of some looks, and has not waited between them.
constexpr int kLooks = 10;
constexpr timespec kBetweenLooks{.tv_sec = 0, .tv_nsec = 1'000'000};
/// Frames in a line.
constexpr size_t kMaxPython = 3;
constexpr size_t kMaxNative = 4;

#if defined(__x86_64__)
constexpr bool kHasNative = true;
#else
constexpr bool kHasNative = false;
#endif

std::atomic<bool> is_on{true};

/// What is read once for all threads.
struct ProcessImage {
  LoadedModules modules;
  OwnMemory memory;
  FunctionNames names;
};

/// Reads a stack while its thread waits; nothing if it went on meanwhile.
std::optional<std::vector<uint64_t>> stack_of_waiting(pid_t thread, const KernelWait& wait,
                                                      const ProcessImage& image) {
  ThreadRegisters registers;
  registers[DwarfRegister::kStack] = wait.stack;
  registers[DwarfRegister::kReturn] = wait.next;
  auto found = walk_stack(registers, image.modules, image.memory);
  if (thread_activity(thread).wait != wait) return std::nullopt;
  return found;
}

/// On a busy host the thread may come late, or this one: there is a second try.
std::vector<uint64_t> stack_of_running(pid_t thread, const std::string& waited, const ProcessImage& image) {
  for (int tries = 0; tries < 2; ++tries) {
    HeldThread held(thread, waited);
    const auto registers = held.registers();
    if (!registers) continue;
    std::vector<uint64_t> found = walk_stack(*registers, image.modules, image.memory);
    if (held.release()) return found;
  }
  return {};
}

std::vector<uint64_t> stack_of(ThreadPlace& place, const ProcessImage& image, WhileRunning how) {
  const std::string waited = times_waited(place.thread);
  place.runs = true;
  for (int look = 0; look < kLooks; ++look) {
    if (look > 0) ::nanosleep(&kBetweenLooks, nullptr);
    const ThreadActivity activity = thread_activity(place.thread);
    place.runs = place.runs && activity.runs;
    if (!activity.wait) continue;
    if (auto found = stack_of_waiting(place.thread, *activity.wait, image)) return *found;
  }
  place.runs = place.runs && times_waited(place.thread) == waited;
  const bool may_signal = place.runs && how == WhileRunning::Signal;
  return may_signal ? stack_of_running(place.thread, waited, image) : std::vector<uint64_t>();
}

NativePlace native_place(uint64_t address, ProcessImage& image) {
  const LoadedModule* const module = image.modules.find(address);
  if (module == nullptr) return {.function = "", .module = "", .build_id = "", .offset = address};
  const uint64_t offset = address - module->bias;
  return {.function = image.names.at(*module, offset),
          .module = module->path,
          .build_id = module->build_id,
          .offset = offset,
          .library = module->library()};
}

ThreadPlace place_of(pid_t thread, ProcessImage& image, WhileRunning how) {
  ThreadPlace place;
  place.thread = thread;
  place.name = thread_name(thread);
  if (!kHasNative) return place;
  for (const uint64_t address : stack_of(place, image, how))
    place.native.push_back(native_place(address, image));
  return place;
}

std::vector<PythonPlace> of_thread(pid_t thread, const PythonFrames& frames) {
  const auto found = frames.threads.find(thread);
  return found == frames.threads.end() ? std::vector<PythonPlace>() : found->second;
}

std::string file_name(const std::string& path) { return path.substr(path.rfind('/') + 1); }

std::string joined(const std::vector<std::string>& frames) {
  std::string text;
  for (size_t i = 0; i < frames.size(); ++i)
    text += (i == 0 ? "is in " : i == 1 ? ", called from " : ", ") + frames[i];
  return text;
}

/// What is within Rondo's package says nothing of the program that called it.
bool is_of_package(const PythonPlace& frame) { return frame.file.find("/rondo/_") != std::string::npos; }

std::string text_of(const std::vector<PythonPlace>& frames) {
  std::vector<std::string> shown;
  for (auto frame = std::ranges::find_if_not(frames, is_of_package); frame != frames.end(); ++frame)
    if (shown.size() < kMaxPython)
      shown.push_back(fmt::format("{}:{} ({})", file_name(frame->file), frame->line, frame->function));
  return joined(shown);
}

std::string text_of(const NativePlace& frame) {
  if (frame.module.empty()) return fmt::format("code at {:#x}", frame.offset);
  if (!frame.library.empty() && !frame.function.empty())
    return fmt::format("{}() of {}", frame.function, frame.library);
  const std::string at = fmt::format("{}+{:#x}", file_name(frame.module), frame.offset);
  return frame.function.empty() ? at : fmt::format("{}() ({})", frame.function, at);
}

/// What a library does within the function that the program called, and what precedes main(), says nothing of
/// the program.
std::string text_of(const std::vector<NativePlace>& frames) {
  const auto is_of_library = [](const NativePlace& frame) { return !frame.library.empty(); };
  auto end = std::ranges::find_if(frames, [&](const NativePlace& frame) {
    return is_of_library(frame) && frame.function.starts_with("__libc_start_main");
  });
  auto begin = std::find_if_not(frames.begin(), end, is_of_library);
  while (end != begin && (is_of_library(end[-1]) || end[-1].function == "_start")) --end;
  if (begin != frames.begin()) --begin;
  std::vector<std::string> shown;
  for (auto frame = begin; frame != end && shown.size() < kMaxNative; ++frame)
    shown.push_back(text_of(*frame));
  return joined(shown);
}

}  // namespace

Status read_stacks_setting() {
  RONDO_TRY_ASSIGN(const bool value, switch_setting(Setting::Stacks, true));
  is_on = value;
  if (value) look_for_python();
  return {};
}

std::string ThreadPlace::text() const {
  const std::string where = python.empty() ? text_of(native) : text_of(python);
  return clean_place(where.empty() && runs ? "runs" : where);
}

namespace {

ProgramPlace found_place(WhileRunning how) {
  ProgramPlace program;
  const PythonFrames python = python_frames();
  program.obstacle = python.obstacle;
  ProcessImage image;
  const Deadline deadline = Deadline::in_ms(kMaxSignals_ms);
  for (const pid_t thread : program_threads()) {
    if (program.threads.size() == kMaxThreads) break;
    if (deadline.passed()) how = WhileRunning::LeaveAlone;
    program.threads.push_back(place_of(thread, image, how));
    program.threads.back().python = of_thread(thread, python);
  }
  return program;
}

/// What the thread that searches shares with the one that waits for it, which may give up.
struct PlaceSearch {
  std::mutex mutex;
  std::condition_variable changed;
  std::optional<ProgramPlace> found;

  void run(WhileRunning how) {
    ProgramPlace place;
    try {
      place = found_place(how);
    } catch (const std::bad_alloc&) {
      place = {.threads = {}, .obstacle = "no memory is left to find out"};
    }
    const std::lock_guard lock(mutex);
    found = std::move(place);
    changed.notify_all();
  }
};

}  // namespace

ProgramPlace program_place(WhileRunning how) {
  if (!is_on || is_disowned()) return {};
  const auto search = std::make_shared<PlaceSearch>();
  auto started = try_quiet_thread("rondo-stacks", [search, how] { search->run(how); });
  if (!started.ok()) return {.threads = {}, .obstacle = started.status().message()};
  started.value().detach();
  std::unique_lock lock(search->mutex);
  const auto until = std::chrono::system_clock::now() + kMaxSearch;
  if (!search->changed.wait_until(lock, until, [&] { return search->found.has_value(); }))
    return {.threads = {}, .obstacle = fmt::format("not known after {} s", kMaxSearch.count())};
  return *search->found;
}

std::string place_text(pid_t thread) {
  if (!is_on || is_disowned()) return {};
  const std::vector<pid_t> all = program_threads();
  if (std::ranges::find(all, thread) == all.end()) thread = ::getpid();
  const PythonFrames python = python_frames();
  ThreadPlace place;
  place.python = of_thread(thread, python);
  if (!place.python.empty()) return place.text();
  ProcessImage image;
  const std::string text = place_of(thread, image, WhileRunning::Signal).text();
  if (text.empty() || python.obstacle.empty()) return text + python.obstacle;
  return clean_place(text + "; " + python.obstacle);
}

std::string clean_place(std::string text) {
  if (text.size() > kMaxPlaceBytes) text = text.substr(0, kMaxPlaceBytes - 3) + "...";
  std::ranges::replace_if(
      text, [](unsigned char c) { return c < 0x20 || c == 0x7f; }, '?');
  return text;
}

}  // namespace rondo
