// SPDX-License-Identifier: Apache-2.0
// Schedules of MSCCL's files: recorded ones, and small ones made by hand.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>

#include "catch.h"
#include "concrete_run.h"
#include "folder.h"
#include "schedule/verifier.h"
#include "seed.h"
#include "synthesis/msccl_algorithm.h"
#include "synthesis/msccl_schedules.h"

using namespace rondo;

namespace {

std::vector<std::string> recorded_algorithms() {
  const char* data = std::getenv("RONDO_TEST_DATA");
  if (data == nullptr) {
    WARN("skipped: the recorded algorithms, since RONDO_TEST_DATA does not name a folder with algorithms/");
    return {};
  }
  std::set<std::string> found;
  for (const auto& entry : std::filesystem::directory_iterator(std::filesystem::path(data) / "algorithms"))
    if (entry.path().extension() == ".xml") found.insert(entry.path());
  return {found.begin(), found.end()};
}

/// One step of a block: "rrc i0 o1", "s i0", with "@B.S" if it waits for step S of block B, with "*C" if it
/// moves C chunks.
struct BlockText {
  int send;
  int recv;
  std::vector<std::string> steps;
  int channel = 0;
};

std::string step_text(const std::string& step, size_t number) {
  std::istringstream words(step);
  std::string type, src = "i0", dst = "i0", word, count = "1", wait = R"(depid="-1" deps="-1")";
  words >> type >> src;
  dst = src;
  while (words >> word) {
    if (word[0] == '@')
      wait = fmt::format(R"(depid="{}" deps="{}")", word.substr(1, word.find('.') - 1),
                         word.substr(word.find('.') + 1));
    else if (word[0] == '*')
      count = word.substr(1);
    else
      dst = word;
  }
  return fmt::format(
             R"(<step s="{}" type="{}" srcbuf="{}" srcoff="{}" dstbuf="{}" dstoff="{}" cnt="{}" {}/>)",
             number, type, src[0], src.substr(1), dst[0], dst.substr(1), count, wait) +
         "\n";
}

std::string program_text(const std::string& collective, int chunks, bool in_place, int scratch,
                         const std::vector<std::vector<BlockText>>& gpus) {
  std::string text = fmt::format(R"(<algo name="t" nchunksperloop="{}" ngpus="{}" coll="{}" inplace="{}">)",
                                 chunks, gpus.size(), collective, in_place ? 1 : 0);
  for (size_t gpu = 0; gpu < gpus.size(); ++gpu) {
    text += fmt::format("\n<gpu id=\"{}\" s_chunks=\"{}\">\n", gpu, scratch);
    for (size_t block = 0; block < gpus[gpu].size(); ++block) {
      const BlockText& at = gpus[gpu][block];
      text += fmt::format("<tb id=\"{}\" send=\"{}\" recv=\"{}\" chan=\"{}\">\n", block, at.send, at.recv,
                          at.channel);
      for (size_t i = 0; i < at.steps.size(); ++i) text += step_text(at.steps[i], i);
      text += "</tb>\n";
    }
    text += "</gpu>";
  }
  return text + "\n</algo>\n";
}

Result<std::vector<Schedule>> schedules_of_text(const std::string& text) {
  const auto program = msccl_program_from_xml(text, "t.xml");
  REQUIRE(program.status().message() == "");
  return schedules_of(program.value());
}

struct Needs {
  int slots = 1;
  bool in_place = true;
};

void check_right(CollectiveKind kind, const std::vector<Schedule>& ranks, const Needs& needs = {}) {
  const Shape shape{.kind = kind, .nranks = static_cast<int>(ranks.size())};
  for (const bool in_place : {false, true}) {
    if (in_place && !needs.in_place) continue;
    const Status status =
        verify(shape, ranks, {.slots = needs.slots, .tiles = 4, .in_place = in_place, .short_chunks = 3});
    std::string all;
    for (const Schedule& rank : ranks) all += to_string(rank);
    INFO((in_place ? "in place: " : "") << status.message() << "\n" << all);
    REQUIRE(status.ok());
    REQUIRE(
        runs_right(shape, ranks, {.slots = needs.slots, .in_place = in_place, .seed = test::test_seed(1)}));
  }
}

void check_text(CollectiveKind kind, const std::string& text, const Needs& needs = {}) {
  INFO(text);
  const auto ranks = schedules_of_text(text);
  REQUIRE(ranks.status().message() == "");
  check_right(kind, ranks.value(), needs);
}

void refuse_text(const std::string& text, const std::string& sentence) {
  const auto ranks = schedules_of_text(text);
  REQUIRE_FALSE(ranks.ok());
  CHECK(ranks.status().code() == Code::InvalidArgument);
  CHECK(ranks.status().message() == sentence);
}

}  // namespace

TEST_CASE("recorded algorithms verify with one slot and compute what is right, but for one that does not") {
  for (const std::string& path : recorded_algorithms()) {
    INFO(path);
    const auto program = msccl_program_from_xml_file(path);
    REQUIRE(program.status().message() == "");
    const auto ranks = schedules_of(program.value());
    // Without a place to keep it, GPU 3 sends its sum of chunk 7 where GPU 7 adds it to chunk 6.
    if (path.ends_with("ndv2-allreduce-8gpu-simple.xml")) {
      CHECK(ranks.status().message() == path + ":279: <step> of type rrs of GPU 7 adds different chunks");
      continue;
    }
    REQUIRE(ranks.status().message() == "");
    const auto row = msccl_algorithm("file", path);
    REQUIRE(row.status().message() == "");
    check_right(program.value().collective, ranks.value(), {1, row.value().in_place});
    CHECK(row.value().slots == 1);
    CHECK(row.value().in_place == (program.value().collective != CollectiveKind::AllToAll));
    CHECK(row.value().supports(
        {.kind = row.value().kind, .nranks = static_cast<int>(program.value().gpus.size())}));
    CHECK_FALSE(row.value().supports({.kind = row.value().kind, .nranks = 1}));
  }
}

TEST_CASE("sums of scratch, of the output and of both are folded, in place or not") {
  for (const bool in_place : {false, true}) {
    const std::string out = in_place ? "i0" : "o0";
    check_text(
        CollectiveKind::AllReduce,
        program_text(
            "allreduce", 1, in_place, 1,
            {{{1, 1, {"s i0", "r s0"}}, {-1, -1, {"cpy i0 " + out + " @0.0", "re s0 " + out + " @0.1"}}},
             {{0, 0, {"s i0", "r s0"}}, {-1, -1, {"cpy i0 " + out + " @0.0", "re s0 " + out + " @0.1"}}}}));
  }
  // The sum of a place of the input and one of the output.
  check_text(CollectiveKind::AllReduce,
             program_text("allreduce", 1, false, 1,
                          {{{1, 1, {"s i0", "r o0", "re i0 o0"}}}, {{0, 0, {"s i0", "r o0", "re i0 o0"}}}}),
             {1, false});
}

TEST_CASE("a ring of sums in place keeps them in scratch where they are no output") {
  check_text(CollectiveKind::ReduceScatter,
             program_text("reducescatter", 3, true, 0,
                          {{{1, 2, {"s i2", "rrs i1", "rrc i0"}}},
                           {{2, 0, {"s i0", "rrs i2", "rrc i1"}}},
                           {{0, 1, {"s i1", "rrs i0", "rrc i2"}}}}),
             {2, true});
  check_text(CollectiveKind::ReduceScatter,
             program_text("reducescatter", 3, true, 0,
                          {{{1, 2, {"s i2", "rrcs i1", "rrc i0"}}},
                           {{2, 0, {"s i0", "rrcs i2", "rrc i1"}}},
                           {{0, 1, {"s i1", "rrcs i0", "rrc i2"}}}}),
             {2, true});
}

TEST_CASE("blocks that share a connection send in the order of their waits") {
  check_text(CollectiveKind::AllGather, program_text("allgather", 4, false, 0,
                                                     {{{1, -1, {"s i0 o0"}},
                                                       {1, -1, {"s i1 o1 @0.0"}},
                                                       {-1, 1, {"r o2", "r o3"}},
                                                       {-1, -1, {"cpy i0 o0", "cpy i1 o1"}}},
                                                      {{0, -1, {"s i0 o2", "s i1 o3"}},
                                                       {-1, 0, {"r o0"}},
                                                       {-1, 0, {"r o1 @1.0"}},
                                                       {-1, -1, {"cpy i0 o2", "cpy i1 o3"}}}}));
}

using Messages = std::vector<int>;  // by sender, and in the order of its lanes: the chunks of each

void check_messages(CollectiveKind kind, const std::string& text, const Messages& expected, int slots = 1) {
  INFO(text);
  const auto ranks = schedules_of_text(text);
  REQUIRE(ranks.status().message() == "");
  Messages sent;
  for (const Schedule& rank : ranks.value()) {
    CHECK(rank.slot_chunks == *std::ranges::max_element(expected));
    for (const Lane& lane : rank.lanes)
      for (const Step& step : lane.steps)
        if (step.has(kSend)) sent.push_back(step.count);
  }
  CHECK(sent == expected);
  check_right(kind, ranks.value(), {slots, true});
}

TEST_CASE("chunks of a step are one message if both of its ends can take them as one") {
  const auto check = [](int chunks, const std::vector<std::string>& zero, const std::vector<std::string>& one,
                        const Messages& expected, int slots) {
    for (const bool in_place : {false, true}) {
      const auto placed = [&](std::vector<std::string> steps) {
        for (std::string& step : steps)
          if (in_place) std::ranges::replace(step, 'o', 'i');
        return steps;
      };
      check_messages(
          CollectiveKind::AllReduce,
          program_text("allreduce", chunks, in_place, 0, {{{1, 1, placed(zero)}}, {{0, 0, placed(one)}}}),
          expected, slots);
    }
  };
  check(4, {"s i0 *4", "rrc i0 o0 *4"}, {"s i0 *4", "rrc i0 o0 *4"}, {4, 4}, 1);
  // One end has the last two apart.
  check(4, {"s i0 *2", "s i2 *2", "rrc i0 o0 *2", "rrc i2 o2 *2"},
        {"s i0 *2", "s i2", "s i3", "rrc i0 o0 *2", "rrc i2 o2", "rrc i3 o3"}, {2, 1, 1, 2, 1, 1}, 3);
  // The other end has them in steps of other lengths.
  check(3, {"s i0 *3", "rrc i0 o0 *3"}, {"s i0", "s i1 *2", "rrc i0 o0 *2", "rrc i2 o2"}, {2, 1, 1, 2}, 2);
  check(71, {"s i0 *71", "rrc i0 o0 *71"}, {"s i0 *71", "rrc i0 o0 *71"}, {71, 71}, 1);
  // Slots have room for no more, so these become as few messages as possible, of about the same length.
  check(72, {"s i0 *72", "rrc i0 o0 *72"}, {"s i0 *72", "rrc i0 o0 *72"}, Messages(4, 36), 2);
  check(143, {"s i0 *143", "rrc i0 o0 *143"}, {"s i0 *143", "rrc i0 o0 *143"}, {48, 48, 47, 48, 48, 47}, 3);
  check(74, {"s i0 *74", "rrc i0 o0 *74"}, {"s i0 *73", "s i73", "rrc i0 o0 *74"}, {37, 37, 37, 36, 1}, 3);
}

TEST_CASE("sums of a block of its own are received with those of others as one message") {
  const auto halving = [](int own) {
    const auto step = [](const char* verb, int first, int count) {
      return fmt::format("{} i{} *{}", verb, first, count);
    };
    std::vector<BlockText> blocks;
    for (const int half : {4, 2, 1}) {
      const int kept = own & ~(half - 1);
      blocks.push_back({own ^ half, own ^ half, {step("s", kept ^ half, half), step("rrc", kept, half)}});
      if (half < 4) blocks.back().steps[0] += fmt::format(" @{}.1", blocks.size() - 2);
    }
    return blocks;
  };
  std::vector<std::vector<BlockText>> gpus;
  Messages expected;
  for (int gpu = 0; gpu < 8; ++gpu) {
    gpus.push_back(halving(gpu));
    expected.insert(expected.end(), {4, 2, 1});
  }
  check_messages(CollectiveKind::ReduceScatter, program_text("reducescatter", 8, true, 0, gpus), expected);
}

TEST_CASE("a sum of a block of its own that never becomes complete is no result") {
  const auto ranks = schedules_of_text(
      program_text("reducescatter", 3, true, 0,
                   {{{1, 1, {"s i1", "rrc i0"}}}, {{0, 0, {"s i0", "rrc i1"}}}, {{-1, -1, {"cpy i2 i2"}}}}));
  REQUIRE(ranks.status().message() == "");
  const Status status = verify({.kind = CollectiveKind::ReduceScatter, .nranks = 3}, ranks.value(),
                               {.slots = 1, .in_place = true});
  CHECK(status.message() == "output[0] of rank 0, tile 0 is never written");
}

TEST_CASE("the row of a file says how many chunks its longest message has") {
  const test::Folder folder;
  const std::string path = folder / "three.xml";
  const std::vector<std::string> steps{"s i0 *3", "rrc i0 o0 *3"};
  std::ofstream(path) << program_text("allreduce", 3, false, 0, {{{1, 1, steps}}, {{0, 0, steps}}});
  const auto row = msccl_algorithm("file", path);
  REQUIRE(row.status().message() == "");
  CHECK(row.value().slots == 1);
  CHECK(row.value().max_count({.kind = CollectiveKind::AllReduce, .nranks = 2}) == 3);
}

TEST_CASE("a step passes chunks on as one message if they go on as one") {
  const auto ring = [](const std::vector<std::string>& last_of_two) {
    std::vector<std::string> two{"s i0 *2", "cpy i0 o4 *2", "rcs o2 *2"};
    two.insert(two.end(), last_of_two.begin(), last_of_two.end());
    return program_text("allgather", 6, false, 0,
                        {{{1, 2, {"s i0 *2", "cpy i0 o0 *2", "rcs o4 *2", "r o2 *2"}}},
                         {{2, 0, {"s i0 *2", "cpy i0 o2 *2", "rcs o0 *2", "r o4 *2"}}},
                         {{0, 1, two}}});
  };
  check_messages(CollectiveKind::AllGather, ring({"r o0 *2"}), {2, 2, 2, 2, 2, 2}, 2);
  // GPU 2 takes the block of GPU 0 in two, so GPU 1 passes it on in two, and GPU 0 sends it in two.
  check_messages(CollectiveKind::AllGather, ring({"r o0", "r o1"}), {1, 1, 2, 2, 1, 1, 2, 2}, 3);
}

TEST_CASE("a copy of chunks to where others of them are is made one by one") {
  const std::vector<std::string> two{"s i0",         "cpy i0 o2",    "rcs o1",      "r o0",
                                     "cpy o0 s0 *2", "cpy o1 o0 *2", "cpy s0 o0 *2"};
  check_text(CollectiveKind::AllGather,
             program_text("allgather", 3, false, 2,
                          {{{1, 2, {"s i0", "cpy i0 o0", "rcs o2", "r o1"}}},
                           {{2, 0, {"s i0", "cpy i0 o1", "rcs o0", "r o2"}}},
                           {{0, 1, two}}}),
             {2, true});
}

TEST_CASE("a block of its own is sent with those of others as one message") {
  // Recursive doubling in place, where the own block is in the output without a copy.
  const auto doubling = [](int own) {
    const auto step = [](const char* verb, int first, int count) {
      return fmt::format("{} o{} *{}", verb, first, count);
    };
    return std::vector<BlockText>{
        {own ^ 1, own ^ 1, {step("s", own, 1), step("r", own ^ 1, 1)}},
        {own ^ 2, own ^ 2, {step("s", own & 2, 2) + " @0.1", step("r", (own & 2) ^ 2, 2)}}};
  };
  check_messages(CollectiveKind::AllGather,
                 program_text("allgather", 4, true, 0, {doubling(0), doubling(1), doubling(2), doubling(3)}),
                 {1, 2, 1, 2, 1, 2, 1, 2});
  // Out of place, one block copies it and another sends it from the input, whichever is first.
  for (const int copier : {0, 1}) {
    const auto copied = [&](int own) {
      std::vector<BlockText> blocks{
          {own ^ 1, own ^ 1, {"s i0", fmt::format("r o{}", own ^ 1)}},
          {own ^ 2,
           own ^ 2,
           {fmt::format("nop i0 @{}.0", copier), fmt::format("s o{} *2 @{}.1", own & 2, 1 - copier),
            fmt::format("r o{} *2", (own & 2) ^ 2)}}};
      blocks.insert(blocks.begin() + copier, {-1, -1, {fmt::format("cpy i0 o{}", own)}});
      return blocks;
    };
    check_messages(CollectiveKind::AllGather,
                   program_text("allgather", 4, false, 0, {copied(0), copied(1), copied(2), copied(3)}),
                   {1, 2, 1, 2, 1, 2, 1, 2});
  }
}

TEST_CASE("a program that cannot run, or reads what is not there, is refused with the line") {
  refuse_text(
      program_text("allgather", 2, false, 0, {{{1, 1, {"r o1", "s i0"}}}, {{0, 0, {"r o0", "s i0"}}}}),
      "t.xml:4: <step> of type r of GPU 0 never runs: what it waits for never comes");
  refuse_text(program_text("allgather", 2, false, 1, {{{1, -1, {"s s0"}}}, {{-1, 0, {"r o0"}}}}),
              "t.xml:4: <step> of type s of GPU 0 reads what was never written");
  refuse_text(program_text("allgather", 2, false, 0, {{{1, -1, {"s i1"}}}, {{-1, 0, {"r o0"}}}}),
              "t.xml:4: <step> of type s of GPU 0 reads where its memory has ended");
  refuse_text(program_text("allgather", 2, false, 0, {{{1, -1, {"s i0"}}}, {{-1, 0, {"r o2"}}}}),
              "t.xml:9: <step> of type r of GPU 1 writes where its memory has ended");
  refuse_text(program_text("allgather", 2, false, 0, {{{1, -1, {"s i0"}}}, {{-1, 0, {"rrc i0 o0"}}}}),
              "t.xml:9: <step> of type rrc of GPU 1 reduces in a collective that does not");
}

TEST_CASE("a program that does not do what its collective is for is refused with what is wrong") {
  const test::Folder folder;
  const std::string path = folder / "wrong.xml";
  std::ofstream(path) << program_text("allreduce", 1, true, 0,
                                      {{{1, 1, {"s i0", "r i0"}}}, {{0, 0, {"s i0", "r i0"}}}});
  const auto row = msccl_algorithm("file", path);
  REQUIRE_FALSE(row.ok());
  CHECK(row.status().code() == Code::InvalidArgument);
  CHECK(row.status().message().starts_with(path + ": it is no all_reduce: output[0] of rank 0"));
  CHECK(msccl_algorithm("file", folder / "none.xml").status().code() == Code::SystemError);
}

TEST_CASE("thread blocks that wait for one another in a circle are refused with the line") {
  refuse_text(
      program_text(
          "allgather", 2, false, 0,
          {{{-1, -1, {"nop i0 @1.1"}}, {-1, -1, {"nop i0", "nop i0 @2.0"}}, {-1, -1, {"nop i0 @0.0"}}}, {}}),
      "t.xml:4: <step> of type nop of GPU 0 never runs: what it waits for never comes");
}

TEST_CASE("a program of more moves than a proof takes has Schedules, in time that grows with the moves") {
  constexpr int kChunks = 40'000, kBlocks = 20;
  std::vector<std::vector<BlockText>> gpus;
  for (const int peer : {1, 0}) {
    auto& blocks = gpus.emplace_back();
    for (int block = 0; block < kBlocks; ++block) {
      BlockText& at = blocks.emplace_back(BlockText{peer, peer, {}, block});
      for (int chunk = block; chunk < kChunks; chunk += kBlocks) {
        at.steps.push_back(fmt::format("s i{}", chunk));
        at.steps.push_back(fmt::format("rrc i{0} o{0}", chunk));
      }
    }
  }
  const test::Folder folder;
  const std::string path = folder / "long.xml";
  const std::string text = program_text("allreduce", kChunks, false, 0, gpus);
  std::ofstream(path) << text;
  const auto ranks = schedules_of_text(text);
  REQUIRE(ranks.status().message() == "");
  for (const Schedule& rank : ranks.value()) {
    REQUIRE(rank.lanes.size() == kBlocks);
    for (const Lane& lane : rank.lanes) CHECK(lane.steps.size() == 2 * kChunks / kBlocks);
  }
  const auto row = msccl_algorithm("file", path);
  CHECK(row.status().code() == Code::Unsupported);
  CHECK(row.status().message().starts_with(path + ": it is too large to be verified: "));
}

TEST_CASE("sums of many different operands have a peer set each") {
  constexpr int kPlaces = 3'500;
  BlockText block{-1, -1, {}};
  for (int place = 0; place < kPlaces; ++place) block.steps.push_back(fmt::format("cpy i0 s{}", place));
  block.steps.push_back("cpy s0 o0");
  for (int i = 0; i < 10'000; ++i) block.steps.push_back(fmt::format("re s{} o0", i * 3 % kPlaces));
  const auto ranks = schedules_of_text(program_text("allreduce", 1, false, kPlaces, {{block}, {}}));
  REQUIRE(ranks.status().message() == "");
  const Schedule& first = ranks.value()[0];
  CHECK(first.peer_sets.size() == kPlaces);
  std::set<std::vector<int>> different(first.peer_sets.begin(), first.peer_sets.end());
  CHECK(different.size() == first.peer_sets.size());
}

TEST_CASE("more places in scratch than the limit are refused by the limit") {
  std::vector<std::vector<BlockText>> gpus(16, {{-1, -1, {"cpy i0 s65533"}}});
  const auto ranks = schedules_of_text(program_text("allreduce", 1, false, 65'534, gpus));
  CHECK(ranks.status().code() == Code::Unsupported);
  CHECK(ranks.status().message() ==
        "t.xml: more than 500000 chunks in scratch, as the file and as Schedules have them: expected at most "
        "as many");
}

TEST_CASE("copies that wait for too many reads of the input are refused at once") {
  constexpr int kReaders = 1'000, kCopies = 10'000;
  std::vector<BlockText> blocks;
  for (int reader = 0; reader < kReaders; ++reader)
    blocks.push_back({-1, -1, {fmt::format("cpy i0 s{}", reader)}});
  blocks.push_back({-1, -1, {"cpy i0 o0", "cpy i0 o1", fmt::format("cpy o0 s{} *2", kReaders)}});
  blocks.push_back({-1, -1, std::vector<std::string>(kCopies, "cpy i0 o0")});
  const auto ranks = schedules_of_text(program_text("allgather", 2, false, kReaders + 2, {blocks, {}}));
  CHECK(ranks.status().code() == Code::Unsupported);
  CHECK(ranks.status().message() ==
        "t.xml: copies of GPU 0 wait for more than 2000000 reads of its input: expected at most as many");
}
