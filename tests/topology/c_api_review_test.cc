// SPDX-License-Identifier: Apache-2.0
// Reviews of rondo/topology.h as a program uses them.
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>

#include "c_api_checks.h"
#include "folder.h"

using namespace rondo::test;

TEST_CASE("a review says what two topologies differ in, with the limits of each difference alone") {
  Owned dgx, eight, sixteen;
  named(dgx, "dgx-1v");
  named(eight, "hgx-h100");
  named(sixteen, "dgx-2");
  rondo_topology_review_t review = nullptr;
  rondo_topology_finding_t finding = {};
  finding.size = sizeof(finding);
  REQUIRE(rondo_topology_compare(&review, dgx.topology, dgx.topology) == RONDO_OK);
  REQUIRE(rondo_topology_finding(review, 0, &finding) == RONDO_OK);
  CHECK(finding.text == nullptr);
  REQUIRE(rondo_topology_review_free(review) == RONDO_OK);

  REQUIRE(rondo_topology_compare(&review, eight.topology, sixteen.topology) == RONDO_OK);
  int narrower = 0, additional = 0;
  for (int i = 0; rondo_topology_finding(review, i, &finding) == RONDO_OK && finding.text != nullptr; ++i) {
    CHECK(finding.advice == std::string());
    if (std::strstr(finding.text, "6 NVLinks instead of 18") != nullptr) {
      ++narrower;
      CHECK(finding.all_gather == Approx(123.6));
      CHECK(finding.all_reduce == Approx(123.6));
    }
    additional +=
        std::strncmp(finding.text, "gpu", 3) == 0 && std::strstr(finding.text, "additional") ? 1 : 0;
  }
  CHECK(narrower == 8);
  CHECK(additional == 8);
  CHECK(rondo_topology_review_free(review) == RONDO_OK);
  CHECK(rondo_topology_review_free(nullptr) == RONDO_OK);
}

TEST_CASE("the limits of a review are those of the first topology's settings") {
  Owned box, boxes;
  rondo_topology_config_t config = RONDO_TOPOLOGY_CONFIG_INITIALIZER;
  config.hosts = 2;
  named(box, "hgx-h100");
  named(boxes, "dgx-1v", &config);
  rondo_topology_review_t review = nullptr;
  REQUIRE(rondo_topology_compare(&review, boxes.topology, box.topology) == RONDO_OK);
  rondo_topology_finding_t finding = {};
  finding.size = sizeof(finding);
  bool found = false;
  for (int i = 0; rondo_topology_finding(review, i, &finding) == RONDO_OK && finding.text != nullptr; ++i) {
    if (std::strstr(finding.text, "nic mlx5_0: PCIe") == nullptr) continue;
    found = true;
    // Of four NICs with ports of 12.5 GB/s, three keep PCIe links of 12 GB/s.
    CHECK(finding.all_gather == Approx((12.5 + 3 * 12) * 15 / 8));
  }
  CHECK(found);
  CHECK(rondo_topology_review_free(review) == RONDO_OK);
}

TEST_CASE("a diagnosis has what is wrong, worst first, with what to do and the limits once it is repaired") {
  const Folder folder;
  const std::string path = folder.path() + "/box.xml";
  Owned box, broken;
  rondo_topology_config_t no_p2p = RONDO_TOPOLOGY_CONFIG_INITIALIZER;
  no_p2p.p2p_below_switches = 0;
  named(box, "pcie-8gpu", &no_p2p);
  rondo_topology_review_t review = nullptr;
  rondo_topology_finding_t finding = {};
  finding.size = sizeof(finding);
  REQUIRE(rondo_topology_diagnose(&review, box.topology) == RONDO_OK);
  REQUIRE(rondo_topology_finding(review, 0, &finding) == RONDO_OK);
  CHECK_THAT(finding.text, Catch::StartsWith("no P2P"));
  CHECK_THAT(finding.advice, Catch::Contains("ACS"));
  CHECK(finding.all_gather == Approx(17.5));
  CHECK(finding.all_reduce == Approx(17.5));
  REQUIRE(rondo_topology_finding(review, 1, &finding) == RONDO_OK);
  CHECK(finding.text == nullptr);
  CHECK(rondo_topology_review_free(review) == RONDO_OK);

  std::ofstream(path) << R"(<system version="1"><cpu numaid="-1">
    <pci busid="0000:01:00.0" class="0x030200" link_width="0"><gpu dev="0" sm="80">
      <nvlink target="0000:02:00.0" count="4" tclass="0x030200"/></gpu></pci>
    <pci busid="0000:02:00.0" class="0x030200" link_width="0"><gpu dev="1" sm="80">
      <nvlink target="0000:01:00.0" count="3" tclass="0x030200"/></gpu></pci></cpu></system>)";
  REQUIRE(rondo_topology_load(&broken.topology, path.c_str(), nullptr) == RONDO_OK);
  REQUIRE(rondo_topology_diagnose(&review, broken.topology) == RONDO_OK);
  REQUIRE(rondo_topology_finding(review, 0, &finding) == RONDO_OK);
  CHECK(finding.text == std::string("gpu0 has 4 NVLinks to gpu1, which has 3 back"));
  CHECK(finding.all_gather == Approx(80));
  REQUIRE(rondo_topology_finding(review, 1, &finding) == RONDO_OK);
  REQUIRE(finding.text != nullptr);
  CHECK_THAT(finding.text, Catch::StartsWith("the PCI tree is hidden"));
  CHECK(finding.all_gather == -1);
  CHECK(finding.advice != std::string());
  REQUIRE(rondo_topology_finding(review, 2, &finding) == RONDO_OK);
  CHECK(finding.text == nullptr);
  CHECK(rondo_topology_review_free(review) == RONDO_OK);
}

TEST_CASE("a diagnosis of a host has what to do, and no limits") {
  const Folder folder;
  std::filesystem::create_directories(folder.path() + "/proc/self");
  std::filesystem::create_directories(folder.path() + "/sys/class/infiniband/mlx5_0");
  std::ofstream(folder.path() + "/proc/self/limits") << "Max locked memory  65536  65536  bytes\n";
  rondo_topology_review_t review = nullptr;
  rondo_topology_finding_t finding = {};
  finding.size = sizeof(finding);
  REQUIRE(rondo_topology_diagnose_host(&review, folder.path().c_str()) == RONDO_OK);
  REQUIRE(rondo_topology_finding(review, 0, &finding) == RONDO_OK);
  CHECK_THAT(finding.text, Catch::StartsWith("this process may lock 64 KiB"));
  CHECK_THAT(finding.advice, Catch::StartsWith("ulimit -l unlimited"));
  CHECK(finding.all_gather == -1);
  CHECK(rondo_topology_review_free(review) == RONDO_OK);
  REQUIRE(rondo_topology_diagnose_host(&review, nullptr) == RONDO_OK);
  CHECK(rondo_topology_review_free(review) == RONDO_OK);
  refused(rondo_topology_diagnose_host(nullptr, nullptr), RONDO_INVALID_ARGUMENT, "review is NULL");
}

TEST_CASE("reviews of what is no topology are refused by name") {
  Owned box;
  named(box, "hgx-a100");
  rondo_topology_review_t review = nullptr;
  refused(rondo_topology_compare(nullptr, box.topology, box.topology), RONDO_INVALID_ARGUMENT,
          "review is NULL");
  refused(rondo_topology_compare(&review, nullptr, box.topology), RONDO_INVALID_ARGUMENT, "a is NULL");
  refused(rondo_topology_compare(&review, box.topology, nullptr), RONDO_INVALID_ARGUMENT, "b is NULL");
  refused(rondo_topology_diagnose(&review, nullptr), RONDO_INVALID_ARGUMENT, "topology is NULL");
  CHECK(review == nullptr);
  rondo_topology_finding_t finding = {};
  refused(rondo_topology_finding(nullptr, 0, &finding), RONDO_INVALID_ARGUMENT, "review is NULL");
  REQUIRE(rondo_topology_compare(&review, box.topology, box.topology) == RONDO_OK);
  refused(rondo_topology_finding(review, 0, &finding), RONDO_INVALID_ARGUMENT, "finding->size is 0");
  finding.size = sizeof(finding);
  CHECK(rondo_topology_finding(review, -1, &finding) == RONDO_OK);
  CHECK(finding.text == nullptr);
  CHECK(rondo_topology_review_free(review) == RONDO_OK);
}
