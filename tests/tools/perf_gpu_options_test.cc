// SPDX-License-Identifier: Apache-2.0
// rondo-perf's GPU options, on machines with and without GPUs.
#include "catch.h"
#include "options.h"

namespace {

using namespace rondo::perf;

ParsedPerfOptions parse(std::vector<const char*> words, int gpus) {
  words.insert(words.begin(), {"rondo-perf", "all_reduce"});
  return parse_options(static_cast<int>(words.size()), words.data(), [gpus] {
    return Gpus{gpus, gpus == 0 ? "there is no CUDA driver" : ""};
  });
}

GpuOptions accepted(std::vector<const char*> words, int gpus) {
  const ParsedPerfOptions parsed = parse(std::move(words), gpus);
  CAPTURE(parsed.message);
  REQUIRE(parsed.run);
  return parsed.options.gpu;
}

void refused(std::vector<const char*> words, int gpus, int code, const char* said) {
  const ParsedPerfOptions parsed = parse(std::move(words), gpus);
  CAPTURE(said, parsed.message);
  REQUIRE(!parsed.run);
  REQUIRE(parsed.code == code);
  REQUIRE(parsed.message.find(said) != std::string::npos);
}

}  // namespace

TEST_CASE("Buffers are in GPU memory if there is a GPU, unless other memory is requested") {
  REQUIRE(accepted({}, 0).space == Space::Host);
  REQUIRE(accepted({}, 1).space == Space::Cuda);
  REQUIRE(accepted({"--memory", "host"}, 1).space == Space::Host);
  REQUIRE(accepted({"--memory", "managed"}, 1).space == Space::Managed);
  REQUIRE(accepted({"--memory", "pinned"}, 1).space == Space::Pinned);
  refused({"--memory", "video"}, 1, 2, "--memory is 'video': use host, cuda, managed, pinned");
}

TEST_CASE("Requesting GPU memory without a GPU has its own exit code and explains why there is none") {
  for (const char* memory : {"cuda", "managed", "pinned"})
    refused({"--memory", memory}, 0, 77, "there is no CUDA driver");
}

TEST_CASE("The machine is not queried for GPUs if none are wanted") {
  const char* words[] = {"rondo-perf", "all_reduce", "--memory", "host"};
  bool asked = false;
  REQUIRE(parse_options(4, words, [&] {
            asked = true;
            return Gpus{1, ""};
          }).run);
  REQUIRE(!asked);
}

TEST_CASE("Ranks take all GPUs in turn, or those that are listed") {
  REQUIRE(accepted({}, 3).devices == std::vector<int>{0, 1, 2});
  REQUIRE(accepted({"--devices", "2,0"}, 3).devices == std::vector<int>{2, 0});
  REQUIRE(accepted({"-t", "4", "--devices", "0"}, 3).devices == std::vector<int>{0});
  for (const char* list : {"3", "-1", "x", "0,3"})
    refused({"--devices", list}, 3, 2, "give numbers from 0 to 2");
}

TEST_CASE("GPU options of nccl-tests have the same meaning") {
  const GpuOptions gpu = accepted({"-g", "2", "-t", "3", "-G", "5"}, 1);
  REQUIRE((gpu.per_thread == 2 && gpu.graph_launches == 5));
  const char* words[] = {"broadcast_perf", "-t", "2", "-g", "2", "--ranks", "2", "-r", "7"};
  REQUIRE(parse_options(9, words, [] { return Gpus{1, ""}; }).run);
  refused({"-g", "0"}, 1, 2, "-g is 0");
  refused({"-G", "-1"}, 1, 2, "-G is -1");
}

TEST_CASE("Contradictory options are refused") {
  refused({"-G", "1", "--queue"}, 1, 2, "leave --queue out");
  refused({"-G", "1", "-z", "1"}, 1, 2, "leave -z at 0");
  refused({"-R", "2"}, 1, 2, "rondo_mem_alloc");
  refused({"-G", "1", "-I", "1"}, 1, 2, "leave -G or -I out");
  refused({"-C", "1", "-I", "1"}, 1, 2, "give -z 2");
  refused({"--limits"}, 0, 2, "--limits");
  refused({"--devices", "0"}, 0, 2, "--devices");
  refused({"--memory", "host", "-g", "2"}, 1, 2, "-g: ranks are not GPUs here");
}

TEST_CASE("CUDA events measure the time unless another clock is requested or they cannot") {
  const auto by_events = [](std::vector<const char*> words, int gpus) {
    return times_by_events(parse(std::move(words), gpus).options);
  };
  REQUIRE(by_events({}, 1));
  REQUIRE(by_events({"-G", "2"}, 1));
  REQUIRE(!by_events({}, 0));
  for (const auto& words : {std::vector<const char*>{"--host_time"}, {"-C", "1"}, {"--queue"}, {"-z", "1"}})
    REQUIRE(!by_events(words, 1));
}
