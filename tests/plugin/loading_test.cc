// SPDX-License-Identifier: Apache-2.0
// Which plugin is loaded, and what is said of one that cannot be used.
#include "../transports/ends.h"
#include "catch.h"
#include "in_process.h"
#include "process.h"

namespace rondo::plugin_test {
namespace {

using test::require;

/// The bits of the plugin transport, which come first.
uint64_t fabrics() {
  const auto found = plugin_transport().fabrics();
  require(found.ok(), found.status().message());
  return found.value().bits;
}

void check_used(const Variables& variables, uint64_t bits = 1) {
  CHECK(in_process(variables, [&] {
          require(fabrics() == bits, "fabrics: " + std::to_string(fabrics()));
          test::Ends ends;
          const auto made = ends.connect(plugin_transport(), test::small_params(), true);
          require(made.ok() == (bits == 1), made.status().message());
          require(made.ok() || made.status().code() == Code::Unsupported, made.status().message());
        }) == "");
}

TEST_CASE("every version of the interface is used, by a file or by a name") {
  for (const char* const name : {"test8", "test9", "test10", "test11"}) {
    CAPTURE(name);
    check_used({{"RONDO_NET_PLUGIN", plugin_file(name)}});
    check_used({{"NCCL_NET_PLUGIN", plugin_file(name)}});
    check_used({{"RONDO_NET_PLUGIN", name}});  // by the search path
    check_used({{"RONDO_NET_PLUGIN", std::string("libnccl-net-") + name + ".so"}});
  }
}

TEST_CASE("no plugin is loaded unless one is named, and Rondo's variable precedes NCCL's") {
  check_used({}, 0);
  check_used({{"RONDO_NET_PLUGIN", "none"}}, 0);
  check_used({{"RONDO_NET_PLUGIN", "none"}, {"NCCL_NET_PLUGIN", plugin_file("test9")}}, 0);
  check_used({{"RONDO_NET_PLUGIN", plugin_file("test9")}, {"NCCL_NET_PLUGIN", "no_such"}});
  CHECK(log_of({{"NCCL_NET_PLUGIN", "NONE"}}, [] { require(fabrics() == 0, "a fabric"); }) == "");
}

/// The warning and the error name the file and the cause; without a plugin the bits are 0.
void check_useless(Variables variables, const std::string& file, const std::string& cause) {
  variables["RONDO_LOG"] = "warn";
  std::string refusal;
  const std::string log = log_of(variables, [&] {
    require(fabrics() == 0, "a fabric");
    require(fabrics() == 0, "a fabric at the second try");
    test::Ends ends;
    const auto made = ends.connect(plugin_transport(), test::small_params(), true);
    require(made.status().code() == Code::Unsupported, made.status().message());
    const std::string words = "the network plugin " + file + " cannot be used: " + cause;
    require(made.status().message().find(words) == 0, made.status().message());
  });
  const std::string words = "the network plugin " + file + " cannot be used: " + cause;
  CHECK(log.find(words) != std::string::npos);
  CHECK(log.find(words) == log.rfind(words));
  CHECK(log.find("; other hosts are reached over InfiniBand, RoCE or TCP instead") != std::string::npos);
}

void check_useless(const std::string& file, const std::string& cause) {
  check_useless(Variables{{"RONDO_NET_PLUGIN", file}}, file, cause);
}

TEST_CASE("a plugin that cannot be loaded is named, with the cause") {
  check_useless(Variables{{"RONDO_NET_PLUGIN", "no_such"}}, "libnccl-net-no_such.so",
                "libnccl-net-no_such.so: cannot open shared object file");
  check_useless("/nowhere/libnccl-net.so", "/nowhere/libnccl-net.so: cannot open shared object file");
  check_useless("libm.so.6",
                "it has no ncclNetPlugin_vN; versions 8 to 11 of NCCL's interface are supported");
  check_useless(plugin_file("old"), "its newest table is ncclNetPlugin_v6; versions 8 to 11");
  check_useless(plugin_file("incomplete"), "its ncclNetPlugin_v9 has no function irecv");
}

TEST_CASE("a plugin that fails is named, with its function and the result") {
  const std::string file = plugin_file("test11");
  check_useless(with_fault("init"), file, "init() of the network plugin TestNet failed: ncclSystemError (2)");
  check_useless(with_fault("devices"), file,
                "devices() of the network plugin TestNet failed: ncclInternalError (3)");
  check_useless(with_fault("properties"), file, "getProperties() of the network plugin TestNet failed");
  check_useless(with_fault("no_device"), file, "it has no device");
  check_useless(with_fault("gpu_only"), file, "none of its 4 devices takes host memory");
}

TEST_CASE("what a plugin logs appears in the log, warnings as warnings") {
  auto variables = with_fault("init");
  variables["RONDO_LOG"] = "debug";
  const std::string log = log_of(variables, [] { fabrics(); });
  CHECK(log.find("network plugin: version 11 of the tests' plugin is informed") != std::string::npos);
  CHECK(log.find("network plugin: init() fails, with 2") != std::string::npos);
  variables["RONDO_LOG"] = "warn";
  const std::string warnings = log_of(variables, [] { fabrics(); });
  CHECK(warnings.find("is informed") == std::string::npos);
  CHECK(warnings.find("network plugin: init() fails, with 2") != std::string::npos);
}

}  // namespace
}  // namespace rondo::plugin_test
