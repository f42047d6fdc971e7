// SPDX-License-Identifier: Apache-2.0
// This host, as a file describes it or as it is.
#include "this_host/described_host.h"

#include <unistd.h>

#include <atomic>
#include <fstream>
#include <thread>

#include "catch.h"
#include "folder.h"
#include "nccl_host.h"
#include "process.h"
#include "sanitized.h"
#include "scoped_environment.h"

using namespace rondo;
using namespace rondo::test;

namespace {

std::string written(const Folder& folder, const std::string& name, const std::string& text) {
  std::ofstream(folder / name) << text;
  return folder / name;
}

/// The host according to these values of RONDO_TOPO_FILE and NCCL_TOPO_FILE.
Result<Machine> host_by(const std::optional<std::string>& ours, const std::optional<std::string>& nccls) {
  const Environment variables(Environment::Variables{{"RONDO_TOPO_FILE", ours}, {"NCCL_TOPO_FILE", nccls}});
  return described_host({});
}

}  // namespace

TEST_CASE("a file that a variable names describes the host, Rondo's before NCCL's") {
  const Folder folder;
  const std::string good = written(folder, "host.xml", kHost), other = folder / "none.xml";
  const Machine expected = read(kHost);
  for (const auto& found : {host_by(good, std::nullopt), host_by(std::nullopt, good), host_by(good, other)}) {
    REQUIRE(found.status().message() == "");
    CHECK(found.value().source == good);
    CHECK(TopologyGraph::build(found.value()).value().gpus().size() == graph_of(expected).gpus().size());
  }
}

TEST_CASE("a bad file is an error that names the variable and the file") {
  const Folder folder;
  const Status missing = host_by(std::nullopt, folder / "none.xml").status();
  CHECK(missing.code() == Code::SystemError);
  CHECK(missing.message().starts_with("NCCL_TOPO_FILE: "));
  CHECK(missing.message().find("none.xml") != std::string::npos);
  const Status bad = host_by(written(folder, "bad.xml", "<system"), std::nullopt).status();
  CHECK(bad.code() == Code::InvalidArgument);
  CHECK(bad.message().starts_with("RONDO_TOPO_FILE: "));
}

TEST_CASE("without a file the host is detected") {
  const auto found = host_by(std::nullopt, std::nullopt);
  const auto detected = detect_machine({});
  REQUIRE(found.ok() == detected.ok());
  if (found.ok()) CHECK(TopologyGraph::build(found.value()).ok());
}

TEST_CASE("a child that is forked while another thread makes the host's hash can ask for it") {
  if (kSanitized) return;  // a fork may leave the sanitizer's allocator locked
  const auto fork_meanwhile = [] {
    std::atomic<bool> begins{false};
    std::thread asks([&] {
      begins = true;
      hash_of_this_host();
    });
    while (!begins) continue;
    ::usleep(50);
    const std::string failure = Process([] { hash_of_this_host(); }).wait(5).failure();
    asks.join();
    require(failure.empty(), failure);
  };
  for (int time = 0; time < 10; ++time) CHECK(Process(fork_meanwhile).wait().failure() == "");
}
