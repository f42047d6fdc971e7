// SPDX-License-Identifier: Apache-2.0
// How libibverbs is looked up: what is missing is named.
#include "verbs/library.h"

#include "catch.h"

namespace rondo::verbs {
namespace {

TEST_CASE("a library for verbs that does not exist is named") {
  const auto loaded = load_library("libno_such_verbs.so.1");
  REQUIRE_FALSE(loaded.ok());
  REQUIRE(loaded.status().code() == Code::Unsupported);
  REQUIRE(loaded.status().message().find("libno_such_verbs.so.1") != std::string::npos);
}

TEST_CASE("a library for verbs without a function is named, with the function and its version") {
  const auto loaded = load_library("libm.so.6");
  REQUIRE_FALSE(loaded.ok());
  REQUIRE(loaded.status().code() == Code::Unsupported);
  REQUIRE(loaded.status().message() ==
          "libm.so.6 has no ibv_get_device_list (IBVERBS_1.1): InfiniBand verbs need rdma-core 33 or later");
}

TEST_CASE("a complete library for verbs has every function") {
  const auto loaded = load_library("libibverbs.so.1");
  INFO(loaded.status().message());
  REQUIRE(loaded.ok());
  const Library& functions = loaded.value();
#define X(name, version) CHECK(functions.name != nullptr);
  RONDO_VERBS_FUNCTIONS(X)
#undef X
  CHECK(functions.query_gid_table != nullptr);
  REQUIRE(std::string(functions.wc_status_str(IBV_WC_SUCCESS)) == "success");
}

}  // namespace
}  // namespace rondo::verbs
