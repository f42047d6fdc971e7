// Ranks in several processes of a host make GPU calls together, however many share a device and whatever else
// keeps it busy.
#include <cstdlib>

#include "calls.h"

namespace rondo::test {
namespace {

using Variables = std::vector<std::pair<std::string, std::string>>;

/// Where the stand-in's processes take turns on a device, so that no kernel runs while one of another process
/// does.
class Folder {
 public:
  Folder() { REQUIRE(::mkdtemp(path_.data()) != nullptr); }
  ~Folder() { std::system(("rm -rf " + path_).c_str()); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  Variables with(Variables more = {}) const {
    more.emplace_back("RONDO_STANDIN_DIR", path_);
    return more;
  }

 private:
  std::string path_ = "/tmp/rondo-gpus-XXXXXX";
};

/// So little that most calls need many tiles.
const std::pair<std::string, std::string> kTight{"RONDO_STAGING_BYTES", "28672"};

WorldOptions processes(int nranks, std::vector<std::string> devices, Variables environment = {}) {
  return {.nranks = nranks, .devices = std::move(devices), .environment = std::move(environment)};
}

void is_phased(const Rank& rank) {
  const char* name = nullptr;
  check(rondo_last_algorithm(rank.comm, &name), rank.comm);
  require(std::string(name) == "phased", std::string("went by ") + name);
}

/// The test itself must not use the driver before it forks: a child of such a process cannot.
bool lacks_gpus_in_child(int needed = 1) {
  bool lacks = false;
  const auto outcomes = run_world({.nranks = 1, .devices = {"host"}}, [needed](Rank&) {
    const auto count = gpu::device_count();
    require(count.ok() && count.value() >= needed, "no GPU");
  });
  lacks = !outcomes.front().ok;
  if (lacks) WARN("skipped: " << outcomes.front().error);
  return lacks;
}

TEST_CASE("processes that share a GPU make every collective right") {
  if (lacks_gpus_in_child()) return;
  const Folder folder;
  for (const int nranks : {2, 3, 5}) {
    INFO(nranks << " ranks");
    expect_success(run_world(processes(nranks, {"cuda:0"}, folder.with({kTight})), [](Rank& rank) {
      every_kind(rank, 0);
      is_phased(rank);
    }));
  }
}

TEST_CASE("processes with two GPUs make every collective right") {
  if (lacks_gpus_in_child(2)) return;
  const Folder folder;
  for (const int nranks : {2, 4}) {
    INFO(nranks << " ranks");
    expect_success(run_world(processes(nranks, {"cuda:0", "cuda:1"}, folder.with({kTight})),
                             [](Rank& rank) { every_kind(rank, rank.rank % 2); }));
  }
}

TEST_CASE("processes of several ranks make every collective right") {
  if (lacks_gpus_in_child(2)) return;
  const Folder folder;
  for (const std::vector<std::string>& devices :
       {std::vector<std::string>{"cuda:0"}, {"cuda:0", "cuda:1"}, {"cuda:0", "cuda:0", "cuda:1", "cuda:1"}}) {
    WorldOptions options = processes(4, devices, folder.with({kTight}));
    options.ranks_each = 2;
    expect_success(run_world(options, [&](Rank& rank) {
      every_kind(rank, devices[static_cast<size_t>(rank.rank) % devices.size()].back() - '0');
      is_phased(rank);
    }));
  }
}

}  // namespace
}  // namespace rondo::test
