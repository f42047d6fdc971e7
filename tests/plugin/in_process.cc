// SPDX-License-Identifier: Apache-2.0
#include "in_process.h"

#include <cstdlib>

#include "base/log.h"
#include "captured_log.h"
#include "process.h"

namespace rondo::plugin_test {

std::string plugin_file(const std::string& name) {
  const char* const folder = std::getenv("RONDO_TEST_NET_FOLDER");
  test::require(folder != nullptr, "RONDO_TEST_NET_FOLDER is not set");
  return std::string(folder) + "/libnccl-net-" + name + ".so";
}

Variables with_fault(const std::string& fault) {
  return {{"RONDO_NET_PLUGIN", plugin_file("test11")}, {"RONDO_TEST_NET_FAULT", fault}};
}

std::string in_process(const Variables& variables, const std::function<void()>& body) {
  test::Process process([&] {
    for (const char* const name : {"RONDO_NET_PLUGIN", "NCCL_NET_PLUGIN"}) ::unsetenv(name);
    for (const auto& [name, value] : variables) ::setenv(name.c_str(), value.c_str(), 1);
    static_cast<void>(read_log_level());
    body();
  });
  return process.wait(60).failure();
}

std::string log_of(const Variables& variables, const std::function<void()>& body) {
  return test::captured_log([&](const auto& logging) { return in_process(variables, logging); }, body);
}

const Transport& plugin_transport() { return *transport_by_name("plugin").value(); }

}  // namespace rondo::plugin_test
