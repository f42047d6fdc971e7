// SPDX-License-Identifier: Apache-2.0
#include "in_process.h"

#include <dlfcn.h>

#include <cstdlib>
#include <cstring>

#include "captured_log.h"
#include "process.h"

namespace rondo::verbs_test {
namespace {

template <class Function>
Function* standin_function(const char* name) {
  return reinterpret_cast<Function*>(::dlsym(::dlopen("libibverbs.so.1", RTLD_NOW), name));
}

}  // namespace

std::string in_process(const Variables& variables, const std::function<void()>& body) {
  test::Process process([&] {
    for (const auto& [name, value] : variables)
      ::setenv(("RONDO_STANDIN_VERBS" + name).c_str(), value.c_str(), 1);
    body();
  });
  return process.wait(60).failure();
}

std::string log_of(const Variables& variables, const std::function<void()>& body) {
  return test::captured_log([&](const auto& logging) { return in_process(variables, logging); }, body);
}

bool is_standin() { return standin_function<int(const char*)>("rondo_standin_verbs_command") != nullptr; }

void command(const std::string& text) {
  const int error = standin_function<int(const char*)>("rondo_standin_verbs_command")(text.c_str());
  test::require(error == 0, text + ": " + std::strerror(error));
}

uint64_t calls(const std::string& name) {
  return standin_function<uint64_t(const char*)>("rondo_standin_verbs_calls")(name.c_str());
}

}  // namespace rondo::verbs_test
