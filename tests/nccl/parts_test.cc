// SPDX-License-Identifier: Apache-2.0
// Parts of the binding in isolation: the environment, and the conversion of statuses.
#include <array>

#include "catch.h"
#include "config.h"
#include "nccl_abi.h"
#include "scoped_environment.h"
#include "variables.h"

namespace rondo::test {
namespace {

nccl::Config config_with(const Environment::Variables& variables) {
  const Environment environment(variables);
  nccl::Config config;
  REQUIRE(nccl::read_config(nullptr, nullptr, config).ok());
  return config;
}

}  // namespace

TEST_CASE("NCCL's variables become settings, and Rondo's own take precedence") {
  CHECK(config_with({}).algorithm.empty());
  CHECK(config_with({{"NCCL_ALGO", "Ring"}}).algorithm.starts_with("all_reduce=ring;"));
  CHECK(config_with({{"NCCL_ALGO", "TREE"}}).algorithm == "all_reduce=double_binary_tree");
  CHECK(config_with({{"NCCL_ALGO", "NVLS"}}).algorithm.empty());
  CHECK(config_with({{"NCCL_ALGO", "Ring"}, {"RONDO_ALGORITHM", "all_reduce=one_shot"}}).algorithm.empty());
  CHECK(config_with({{"NCCL_PROTO", "LL128"}}).protocol == "ll128");
  CHECK(config_with({{"NCCL_PROTO", "LL,Simple"}}).protocol.empty());
  CHECK(config_with({{"NCCL_PROTO", "LL"}, {"RONDO_PROTOCOL", "simple"}}).protocol.empty());
  CHECK(config_with({{"NCCL_MAX_NCHANNELS", "3"}}).channels == 3);
  CHECK(config_with({{"NCCL_MAX_CTAS", "1000"}}).channels == 64);
  CHECK(config_with({{"NCCL_MAX_CTAS", "5"}, {"NCCL_MAX_NCHANNELS", "4"}}).channels == 4);
  CHECK(config_with({{"NCCL_MAX_NCHANNELS", "4"}, {"RONDO_CHANNELS", "2"}}).channels == 0);
  CHECK(config_with({{"NCCL_SHM_DISABLE", "1"}}).transport == "tcp");
  CHECK(config_with({{"NCCL_SHM_DISABLE", "0"}}).transport.empty());
  CHECK(config_with({}).blocking);
  CHECK_FALSE(config_with({{"NCCL_COMM_BLOCKING", "0"}}).blocking);
}

TEST_CASE("algorithms selected by NCCL_ALGO exist") {
  for (const char* name : {"Ring", "Tree"}) {
    const nccl::Config config = config_with({{"NCCL_ALGO", name}});
    const rondo_config_t view = config.view();
    rondo_comm_t comm = nullptr;
    REQUIRE(rondo_init_all(&comm, 1, &view) == RONDO_OK);
    CHECK(rondo_destroy(comm) == RONDO_OK);
  }
}

TEST_CASE("a variable without effect is reported with the reason, once, and others are not") {
  const Environment environment({{"NCCL_SOCKET_FAMILY", "1"},
                                 {"NCCL_NO_SUCH", "1"},
                                 {"NCCL_ALGO", "NVLS"},
                                 {"NCCL_PROTO", "LL"},
                                 {"NCCL_GRAPH_FILE", ""},
                                 {"NCCL_SOCKET_IFNAME", "lo"}});
  const std::vector<std::string> sentences = nccl::variables_without_effect();
  REQUIRE(sentences.size() == 3);
  CHECK(sentences[0].starts_with("NCCL_ALGO=NVLS has no effect: "));
  CHECK(sentences[1] == "NCCL_NO_SUCH has no effect: Rondo does not know it");
  CHECK(sentences[2] ==
        "NCCL_SOCKET_FAMILY has no effect: addresses of both families are tried; choose by "
        "RONDO_SOCKET_IFNAME");
}

TEST_CASE("a deadline maps to a number that programs of the reported version know") {
  CHECK(nccl::reported_version() == 22907);
  CHECK(nccl::result_of(RONDO_TIMEOUT) == ncclRemoteError);
  const Environment environment("RONDO_NCCL_VERSION", "23007");
  CHECK(nccl::reported_version() == 23007);
  CHECK(nccl::result_of(RONDO_TIMEOUT) == ncclTimeout);
}

TEST_CASE("librondo.so and libnccl.so.2 may be in one process") {
  std::array<rondo_comm_t, 2> ours{};
  std::array<ncclComm_t, 2> theirs{};
  REQUIRE(rondo_init_all(ours.data(), 2, nullptr) == RONDO_OK);
  REQUIRE(ncclCommInitAll(theirs.data(), 2, nullptr) == ncclSuccess);
  std::array<int, 4> values{1, 2, 3, 4};
  REQUIRE(rondo_group_start() == RONDO_OK);  // unknown to the other library
  for (size_t i = 0; i < 2; ++i)
    CHECK(rondo_all_reduce(&values[i], &values[i], 1, RONDO_INT32, RONDO_SUM, ours[i], nullptr) == RONDO_OK);
  REQUIRE(ncclGroupStart() == ncclSuccess);
  for (size_t i = 0; i < 2; ++i)
    CHECK(ncclAllReduce(&values[i + 2], &values[i + 2], 1, ncclInt32, ncclSum, theirs[i], nullptr) ==
          ncclSuccess);
  REQUIRE(ncclGroupEnd() == ncclSuccess);
  CHECK(values == std::array<int, 4>{1, 2, 7, 7});
  REQUIRE(rondo_group_end() == RONDO_OK);
  CHECK(values == std::array<int, 4>{3, 3, 7, 7});
  for (const ncclComm_t comm : theirs) CHECK(ncclCommDestroy(comm) == ncclSuccess);
  for (const rondo_comm_t comm : ours) CHECK(rondo_destroy(comm) == RONDO_OK);
}

TEST_CASE("every status has a result") {
  for (int status = RONDO_OK; status <= RONDO_OUT_OF_MEMORY; ++status) {
    INFO(status);
    const ncclResult_t result = nccl::result_of(static_cast<rondo_status_t>(status));
    CHECK((result == ncclSuccess) == (status == RONDO_OK));
    CHECK((result == ncclInternalError) == (status == RONDO_INTERNAL_ERROR));
  }
}

}  // namespace rondo::test
