// SPDX-License-Identifier: Apache-2.0

#include <map>

#include "base/settings.h"
#include "bootstrap/rendezvous.h"
#include "catch.h"
#include "scoped_environment.h"

namespace rondo {
namespace {

using Variables = test::Environment::Variables;

/// Exactly these variables of Rondo's settings table.
Variables only(const Variables& wanted) {
  Variables all = wanted;
  for (const SettingInfo& row : all_settings()) all.try_emplace(std::string(row.variable));
  return all;
}

LauncherEnv launched_with(const Variables& variables) {
  const test::Environment environment(only(variables));
  const auto launch = read_launch();
  REQUIRE(launch.ok());
  REQUIRE(launch.value().has_value());
  return *launch.value();
}

std::string failure_with(const Variables& variables) {
  const test::Environment environment(only(variables));
  const auto launch = read_launch();
  REQUIRE_FALSE(launch.ok());
  return launch.status().message();
}

}  // namespace

TEST_CASE("every launcher's variables are understood") {
  const LauncherEnv torchrun = launched_with({{"RANK", "3"},
                                              {"WORLD_SIZE", "8"},
                                              {"LOCAL_RANK", "1"},
                                              {"LOCAL_WORLD_SIZE", "2"},
                                              {"MASTER_ADDR", "alpha"},
                                              {"MASTER_PORT", "29500"},
                                              {"TORCHELASTIC_USE_AGENT_STORE", "True"}});
  CHECK(torchrun.rank == 3);
  CHECK(torchrun.size == 8);
  CHECK(torchrun.local_rank == 1);
  CHECK(torchrun.local_size == 2);
  CHECK(torchrun.master_host == "alpha");
  CHECK(torchrun.master_port == 29500);
  CHECK(torchrun.agent_at_port);

  const LauncherEnv open_mpi = launched_with({{"OMPI_COMM_WORLD_RANK", "1"},
                                              {"OMPI_COMM_WORLD_SIZE", "4"},
                                              {"OMPI_COMM_WORLD_LOCAL_SIZE", "4"},
                                              {"PMIX_NAMESPACE", "4711"}});
  CHECK(open_mpi.rank == 1);
  CHECK(open_mpi.size == 4);
  CHECK(open_mpi.local_size == 4);
  CHECK(open_mpi.job == "4711");

  const LauncherEnv mpich = launched_with({{"PMI_RANK", "2"}, {"PMI_SIZE", "3"}, {"MPI_LOCALRANKID", "0"}});
  CHECK(mpich.rank == 2);
  CHECK(mpich.local_rank == 0);

  const LauncherEnv slurm = launched_with({{"SLURM_PROCID", "5"},
                                           {"SLURM_NTASKS", "6"},
                                           {"SLURM_NODELIST", "node[07-09]"},
                                           {"SLURM_JOB_ID", "12"},
                                           {"SLURM_STEP_ID", "3"}});
  CHECK(slurm.rank == 5);
  CHECK(slurm.master_host == "node07");
  CHECK(slurm.job == "12.3");
}

TEST_CASE("without a launcher no variables are found, and a process is alone") {
  const test::Environment environment(only({}));
  CHECK_FALSE(read_launch().value().has_value());
  const auto method = parse_method("env://");
  REQUIRE(method.ok());
  CHECK(method.value().launch.size == 1);
}

TEST_CASE("invalid variables are named with their value") {
  CHECK(failure_with({{"RANK", "x"}, {"WORLD_SIZE", "2"}}) ==
        "RANK is 'x': it must be a whole number from 0 to 1");
  CHECK(failure_with({{"RANK", "2"}, {"WORLD_SIZE", "2"}}).find("RANK is '2'") == 0);
  CHECK(failure_with({{"RANK", "0"}}) == "RANK is set, but WORLD_SIZE is not");
  CHECK(failure_with({{"RANK", "0"}, {"WORLD_SIZE", "2"}, {"MASTER_PORT", "70000"}}).find("MASTER_PORT") ==
        0);
}

TEST_CASE("the first host of a Slurm list") {
  CHECK(first_slurm_host("alpha") == "alpha");
  CHECK(first_slurm_host("alpha,beta") == "alpha");
  CHECK(first_slurm_host("node[03-07,9],login1") == "node03");
  CHECK(first_slurm_host("node[5,7]") == "node5");
  CHECK(first_slurm_host("login1,node[5,7]") == "login1");
}

TEST_CASE("a method takes what it omits from the launcher's variables") {
  const test::Environment environment(only({{"RANK", "1"}, {"WORLD_SIZE", "3"}}));
  for (const char* text : {"tcp://alpha:4000", "file:///x?size=3", "env://?rank=1"}) {
    INFO(text);
    const auto method = parse_method(text);
    REQUIRE(method.ok());
    CHECK(method.value().launch.rank == 1);
    CHECK(method.value().launch.size == 3);
  }
}

TEST_CASE("methods are parsed, and errors in them are named") {
  const test::Environment environment(only({}));
  const auto tcp = parse_method("tcp://[::1]:4000?rank=1&size=2");
  REQUIRE(tcp.ok());
  CHECK(tcp.value().launch.master_host == "::1");
  CHECK(tcp.value().launch.master_port == 4000);
  CHECK(tcp.value().launch.rank == 1);
  const auto file = parse_method("file:///a/b?rank=0&size=2");
  REQUIRE(file.ok());
  CHECK(file.value().path == "/a/b");
  for (const auto& [text, word] : std::map<std::string, std::string>{
           {"udp://x", "udp://x"},
           {"tcp://alpha?rank=0&size=2", "has no port"},
           {"tcp://alpha:99999?rank=0&size=2", "port is '99999'"},
           {"tcp://alpha:29x?rank=0&size=2", "port is '29x'"},
           {"tcp://alpha:?rank=0&size=2", "port is ''"},
           {"tcp://alpha:0?rank=0&size=2", "from 1 to 65535"},
           {"tcp://alpha:4000", "no rank and no size"},
           {"tcp://alpha:4000?size=2", "no rank"},
           {"tcp://alpha:4000?rank=0", "no size"},
           {"file:///x", "no rank and no size"},
           {"env://?size=2", "no rank"},
           {"env://?rnak=1&size=2", "unknown key 'rnak'"},
           {"tcp://alpha:4000?rank=1&world_size=2", "unknown key 'world_size'"},
           {"file:///x?rank=0&&size=2", "unknown key ''"},
           {"file:///x?rank=0&size=2&rank=1", "gives rank twice"},
           {"file://relative", "absolute"},
           {"file:///x?rank=2&size=2", "rank is 2 of 2"},
           {"file:///x?rank=q&size=2", "rank is 'q'"},
           {"file:///x?rank&size=2", "rank is ''"}}) {
    const auto failed = parse_method(text);
    INFO(text);
    REQUIRE_FALSE(failed.ok());
    CHECK(failed.status().message().find(word) != std::string::npos);
  }
}

}  // namespace rondo
