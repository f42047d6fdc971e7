// SPDX-License-Identifier: Apache-2.0
#include "python_frames.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <charconv>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <new>
#include <string_view>

#include "base/per_process.h"
#include "base/quiet_thread.h"

namespace rondo {
namespace {

constexpr std::chrono::milliseconds kMaxWait{200};

/// Leaves in `text` a line for each frame: thread, file, line and function, with tabs between. Imports
/// nothing: a module that is being imported by the thread in question would never come.
constexpr const char* kProgram = R"(
def walk():
    threading = sys.modules.get("threading")
    known = {} if threading is None else {
        ident: getattr(thread, "_native_id", None) for ident, thread in dict(threading._active).items()}
    lines = []
    frames = sys._current_frames()
    main = getattr(getattr(threading, "_main_thread", None), "ident", None)
    # Taken out: this function's own frame is among them, and the cycle would keep the variables of all.
    while frames:
        ident, frame = frames.popitem()
        thread = known.get(ident)
        if thread is None:
            thread = 0 if main not in (None, ident) else process
        count = 0
        while frame is not None and count < 64:
            code = frame.f_code
            if code.co_filename != "<rondo>":
                name = getattr(code, "co_qualname", code.co_name)
                fields = (str(thread), code.co_filename, str(frame.f_lineno or 0), name)
                lines.append("\t".join(field.replace("\t", " ").replace("\n", " ") for field in fields))
            frame = frame.f_back
            count += 1
    return "\n".join(lines).encode("utf-8", "replace").decode("utf-8")
text = walk()
del walk
)";

using Object = void;  // a PyObject

/// What is used of Python's stable ABI.
struct PythonApi {
  int (*is_initialized)() = nullptr;
  int (*ensure)() = nullptr;
  void (*release)(int) = nullptr;
  Object* (*add_module)(const char*) = nullptr;
  Object* (*new_dict)() = nullptr;
  int (*set_item)(Object*, const char*, Object*) = nullptr;
  Object* (*get_item)(Object*, const char*) = nullptr;
  Object* (*new_number)(long) = nullptr;
  Object* (*compile)(const char*, const char*, int) = nullptr;
  Object* (*evaluate)(Object*, Object*, Object*) = nullptr;
  const char* (*text_of)(Object*, ssize_t*) = nullptr;
  void (*drop)(Object*) = nullptr;
  void (*clear_error)() = nullptr;
  // Absent before Python 3.10: then an allocation may collect garbage.
  int (*disable_gc)() = nullptr;
  int (*enable_gc)() = nullptr;

  /// Null: there is no interpreter, or one without these functions. The dynamic linker is asked only if
  /// `looks`: its lock may be what the program waits for.
  static const PythonApi* find(bool looks) {
    static std::atomic<const PythonApi*> known{nullptr};
    if (looks && known.load() == nullptr) {
      const auto* const found = new PythonApi;  // never freed: threads may outlive static objects
      if (found->is_complete_)
        known = found;
      else
        delete found;
    }
    const PythonApi* const python = known.load();
    return python != nullptr && python->is_initialized() != 0 ? python : nullptr;
  }

 private:
  PythonApi() {
    is_complete_ = look_up("Py_IsInitialized", is_initialized) && look_up("PyGILState_Ensure", ensure) &&
                   look_up("PyGILState_Release", release) && look_up("PyImport_AddModule", add_module) &&
                   look_up("PyDict_New", new_dict) && look_up("PyDict_SetItemString", set_item) &&
                   look_up("PyDict_GetItemString", get_item) && look_up("PyLong_FromLong", new_number) &&
                   look_up("Py_CompileString", compile) && look_up("PyEval_EvalCode", evaluate) &&
                   look_up("PyUnicode_AsUTF8AndSize", text_of) && look_up("Py_DecRef", drop) &&
                   look_up("PyErr_Clear", clear_error);
    look_up("PyGC_Disable", disable_gc);
    look_up("PyGC_Enable", enable_gc);
  }
  template <typename Function>
  static bool look_up(const char* name, Function& function) {
    function = reinterpret_cast<Function>(::dlsym(RTLD_DEFAULT, name));
    return function != nullptr;
  }
  bool is_complete_ = false;
};

/// With the interpreter's lock.
std::string run_program(const PythonApi& python) {
  constexpr int kFileInput = 257;  // Py_file_input
  std::string text;
  Object* const names = python.new_dict();
  Object* const process = python.new_number(::getpid());
  Object* const code = python.compile(kProgram, "<rondo>", kFileInput);
  if (names != nullptr && process != nullptr && code != nullptr) {
    python.set_item(names, "process", process);
    for (const char* module : {"sys", "builtins"})
      if (Object* const one = python.add_module(module); one != nullptr)
        python.set_item(names, *module == 's' ? "sys" : "__builtins__", one);
    Object* const done = python.evaluate(code, names, names);
    ssize_t bytes = 0;
    Object* const result = done == nullptr ? nullptr : python.get_item(names, "text");
    const char* const characters = result == nullptr ? nullptr : python.text_of(result, &bytes);
    if (characters != nullptr) text.assign(characters, static_cast<size_t>(bytes));
    python.drop(done);
  }
  python.clear_error();
  python.drop(code);
  python.drop(process);
  python.drop(names);
  return text;
}

std::string text_of_all_frames(const PythonApi& python) {
  const int before = python.ensure();
  const bool has_switch = python.disable_gc != nullptr && python.enable_gc != nullptr;
  // Garbage is not collected on this thread: its destructors belong to the program.
  const bool was_on = has_switch && python.disable_gc() != 0;
  // No guard: a thread that an ending interpreter unwinds in here has no lock to give back.
  std::string text;
  try {
    text = run_program(python);
  } catch (const std::bad_alloc&) {
    text.clear();
  }
  if (was_on) python.enable_gc();
  python.release(before);
  return text;
}

/// One request to the interpreter. The thread that carries it out may wait for the lock for ever: it is left
/// alone then, and no other is started.
struct PythonRequest {
  std::mutex mutex;
  std::condition_variable changed;
  bool is_under_way = false;
  uint64_t done = 0;
  std::string text;

  /// False: it did not end in time.
  bool run(const PythonApi& python, std::string& result) {
    std::unique_lock lock(mutex);
    const auto until = std::chrono::system_clock::now() + kMaxWait;
    // A plain thread function: at its end an interpreter ends threads that wait for its lock, by unwinding.
    if (!is_under_way) {
      auto started = try_quiet_thread("rondo-python", [this, &python] { carry_out(python); });
      if (!started.ok()) return false;
      started.value().detach();
      is_under_way = true;
    }
    const uint64_t target = done + 1;
    if (!changed.wait_until(lock, until, [&] { return done >= target; })) return false;
    result = text;
    return true;
  }

 private:
  void carry_out(const PythonApi& python) {
    std::string found = text_of_all_frames(python);
    const std::lock_guard lock(mutex);
    text = std::move(found);
    is_under_way = false;
    ++done;
    changed.notify_all();
  }
};

/// Takes the first field of a line.
std::string_view next_field(std::string_view& line) {
  const size_t end = line.find('\t');
  const std::string_view field = line.substr(0, end);
  line.remove_prefix(end == std::string_view::npos ? line.size() : end + 1);
  return field;
}

int number_in(std::string_view field) {
  int value = 0;
  std::from_chars(field.data(), field.data() + field.size(), value);
  return value;
}

}  // namespace

void look_for_python() { PythonApi::find(true); }

PythonFrames python_frames() {
  PythonFrames frames;
  const PythonApi* const python = PythonApi::find(false);
  if (python == nullptr) return frames;
  std::string text;
  if (!per_process<PythonRequest>().run(*python, text)) {
    frames.obstacle = fmt::format(
        "its Python frames are unknown, as the interpreter's lock was held for {} ms", kMaxWait.count());
    return frames;
  }
  for (std::string_view left = text; !left.empty();) {
    const size_t end = left.find('\n');
    std::string_view line = left.substr(0, end);
    left.remove_prefix(end == std::string_view::npos ? left.size() : end + 1);
    const pid_t thread = number_in(next_field(line));
    PythonPlace frame;
    frame.file = next_field(line);
    frame.line = number_in(next_field(line));
    frame.function = next_field(line);
    frames.threads[thread].push_back(std::move(frame));
  }
  return frames;
}

}  // namespace rondo
