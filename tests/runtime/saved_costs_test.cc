// SPDX-License-Identifier: Apache-2.0
// Costs measured on a host: the file that keeps them, and what ranks of hosts with different costs agree on.
#include "base/saved_costs.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <memory>
#include <random>

#include "base/byte_codec.h"
#include "base/file_contents.h"
#include "bootstrap/peer_info.h"
#include "catch.h"
#include "folder.h"
#include "plan/comm_topology.h"
#include "scoped_environment.h"
#include "seed.h"

namespace rondo::test {
namespace {

HostCosts random_costs(std::mt19937_64& random) {
  HostCosts costs;
  std::uniform_real_distribution<double> exponent(-7, 9);
  for (double& cost : costs) cost = std::pow(10, exponent(random));
  return costs;
}

TEST_CASE("a file gives back the costs that were saved, to six digits") {
  std::mt19937_64 random(test_seed(20));
  for (int i = 0; i < 100; ++i) {
    const HostCosts costs = random_costs(random);
    const auto read = read_saved_costs(saved_costs_text(costs, "2026-11-27"));
    INFO(read.status().message());
    REQUIRE(read.ok());
    CHECK(read.value().date == "2026-11-27");
    for (size_t k = 0; k < costs.size(); ++k) CHECK(read.value().costs[k] == Approx(costs[k]).epsilon(1e-5));
  }
}

TEST_CASE("a file that is damaged is refused, with the line and what was expected") {
  const std::string good = saved_costs_text(host_costs(CostTable()), "2026-11-27");
  const auto refused = [&](const std::string& text, const std::string& words) {
    const auto read = read_saved_costs(text);
    REQUIRE(!read.ok());
    INFO(read.status().message());
    CHECK(read.status().message().find(words) != std::string::npos);
  };
  const auto with = [&](const std::string& old, const std::string& text) {
    std::string changed = good;
    return changed.replace(changed.find(old), old.size(), text);
  };
  for (size_t bytes = 0; bytes < good.size(); ++bytes) refused(good.substr(0, bytes), "line ");
  refused("", "line 1 is '', expected 'rondo-costs 1'");
  refused(with("rondo-costs 1", "rondo-costs 2"), "line 1 is 'rondo-costs 2', expected 'rondo-costs 1'");
  refused(with("version ", "version 9"), "expected 'version ");
  refused(with(" CPUs\n", "0 CPUs\n"), "expected 'host " + processor_text());
  for (const char* date : {"", "2026-11-2", "2026-11-270", "27.11.2026", "yesterday", "2026-11-2\x1b"})
    refused(with("2026-11-27", date), "expected 'measured YYYY-MM-DD'");
  refused(with("turn.latency_us", "turn.latency"), "expected 'turn.latency_us NUMBER'");
  for (const char* number : {"x", "-1", "nan", "inf", "1e300", "0.5 ", "0x10", ""})
    refused(with("pull.latency_us 0", std::string("pull.latency_us ") + number + "\nrest "),
            "line 12 is 'pull.latency_us " + std::string(number) + "', expected 'pull.latency_us NUMBER'");
  refused(with("tcp.latency_us", "\x1b[2J"), "is '?[2J ");
  for (const char* more : {"\n", "x", "the end of the file\n"})
    refused(good + more, "expected 'the end of the file'");
}

TEST_CASE("bytes changed at random never pass as other costs than numbers in range") {
  std::mt19937_64 random(test_seed(20));
  const std::string good = saved_costs_text(host_costs(CostTable()), "2026-11-27");
  for (int i = 0; i < 3000; ++i) {
    std::string text = good;
    for (int changes = 1 + static_cast<int>(random() % 3); changes > 0; --changes)
      text[random() % text.size()] = static_cast<char>(random());
    const auto read = read_saved_costs(text);
    if (read.ok()) CHECK(std::ranges::all_of(read.value().costs, is_cost));
  }
}

TEST_CASE("the file is in the cache of the user, or where RONDO_CALIBRATION says") {
  const Environment::Variables usual{
      {"HOME", "/user"}, {"XDG_CACHE_HOME", std::nullopt}, {"RONDO_CALIBRATION", std::nullopt}};
  const Environment start(usual);
  const auto path = [] {
    const auto found = saved_costs_path();
    return found.ok() ? found.value() : found.status().message();
  };
  CHECK(path().starts_with("/user/.cache/rondo/costs-"));
  {
    const Environment variables("XDG_CACHE_HOME", "/c");
    CHECK(path().starts_with("/c/rondo/costs-"));
  }
  {
    const Environment variables("XDG_CACHE_HOME", "relative");
    CHECK(path().starts_with("/user/.cache/rondo/costs-"));
  }
  {
    const Environment variables("HOME", "relative");
    CHECK(path().find("neither XDG_CACHE_HOME nor HOME is an absolute path") != std::string::npos);
  }
  const Environment variables("RONDO_CALIBRATION", "here");
  CHECK(path() == "here");
}

TEST_CASE("a host's file is read, and one that is damaged or missing is not used") {
  const Folder folder;
  const Environment variables({{"XDG_CACHE_HOME", folder.path()}, {"RONDO_CALIBRATION", std::nullopt}});
  CHECK(!saved_costs());
  std::filesystem::create_directory(folder / "rondo");
  HostCosts costs = host_costs(CostTable());
  costs[0] = 42;
  REQUIRE(replace_file(saved_costs_path().value(), saved_costs_text(costs, "2026-11-27")).ok());
  REQUIRE(saved_costs());
  CHECK(saved_costs()->costs[0] == 42);
  for (const char* off : {"0", "no", "off"}) {
    const Environment none("RONDO_CALIBRATION", off);
    CHECK(!saved_costs());
  }
  REQUIRE(replace_file(saved_costs_path().value(), std::string(100'000, 'x')).ok());
  CHECK(!saved_costs());
  CHECK(!replace_file(folder / "nowhere/costs", "x").ok());
}

std::shared_ptr<const HostCosts> shared(const HostCosts& costs) {
  return std::make_shared<const HostCosts>(costs);
}

TEST_CASE("of hosts with different costs the slower count, at all ranks alike") {
  std::mt19937_64 random(test_seed(20));
  const HostCosts built_in = host_costs(CostTable());
  const HostCosts one = random_costs(random), other = random_costs(random);
  std::vector<PeerInfo> ranks(4);
  const auto slowest = [&] {
    std::vector<const PeerInfo*> members;
    for (const PeerInfo& rank : ranks) members.push_back(&rank);
    const HostCosts found = host_costs(slowest_costs(members));
    std::ranges::reverse(members);
    CHECK(host_costs(slowest_costs(members)) == found);
    return found;
  };
  CHECK(slowest() == built_in);
  for (PeerInfo& rank : ranks) rank.costs = shared(one);
  CHECK(slowest() == one);
  ranks[2].costs = shared(other);
  for (size_t i = 0; i < kHostFigures; ++i) {
    const auto worse = [&](double a, double b) {
      return host_figures()[i].more_is_slower ? std::max(a, b) : std::min(a, b);
    };
    CHECK(slowest()[i] == worse(one[i], other[i]));
  }
  ranks[1].costs.reset();
  CHECK(slowest() == slower_of(slower_of(one, other), built_in));
}

TEST_CASE("measured costs travel with a rank, and only as numbers in range") {
  std::mt19937_64 random(test_seed(20));
  PeerInfo rank;
  rank.host_name = "alpha";
  rank.costs = shared(random_costs(random));
  const auto copy = [&] {
    ByteWriter writer;
    rank.write(writer);
    ByteReader reader(writer.bytes());
    const PeerInfo read = PeerInfo::read(reader);
    return std::pair(reader.ok(), read);
  };
  CHECK(copy().first);
  REQUIRE(copy().second.costs);
  CHECK(*copy().second.costs == *rank.costs);
  CHECK(copy().second.host_name == "alpha");
  HostCosts wrong = *rank.costs;
  wrong[5] = std::numeric_limits<double>::quiet_NaN();
  rank.costs = shared(wrong);
  CHECK(!copy().first);
  rank.costs.reset();
  CHECK(copy().first);
  CHECK(!copy().second.costs);
}

}  // namespace
}  // namespace rondo::test
