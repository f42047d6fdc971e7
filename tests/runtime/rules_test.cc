// SPDX-License-Identifier: Apache-2.0
// RONDO_ALGORITHM's rules: which choice they make for which size, and what is wrong with bad ones.
#include "plan/rules.h"

#include <sys/stat.h>

#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>

#include "catch.h"
#include "sanitized.h"

using namespace rondo;

namespace {

constexpr int kRanks = 4;

Call call_of(CollectiveKind kind, size_t bytes) {
  Call call;
  call.kind = kind;
  call.type = CallType::of(ElementType::UInt8);
  call.op = CallOp::of(Reduction::Sum);
  call.count = bytes;
  return call;
}

std::string choice_of(const Rules& rules, const Call& call) {
  const ForcedChoice choice = rules.choice(call, kRanks);
  return choice.algorithm + (choice.executor.empty() ? "" : "@" + choice.executor);
}

std::string choice_of(const char* text, CollectiveKind kind, size_t bytes) {
  auto rules = Rules::parse(text);
  INFO(text << ": " << rules.status().message());
  REQUIRE(rules.ok());
  return choice_of(rules.value(), call_of(kind, bytes));
}

std::string all_reduce(const char* text, size_t bytes) {
  return choice_of(text, CollectiveKind::AllReduce, bytes);
}

std::string error_of(const std::string& text) {
  const Status refused = Rules::parse(text).status();
  INFO(text.substr(0, 200));
  CHECK(refused.code() == Code::InvalidArgument);
  return refused.message();
}

/// A folder that becomes the working directory, for the paths in messages to be short.
class Folder {
 public:
  Folder() : before_(std::filesystem::current_path()) {
    char name[] = "/tmp/rondo-rules-XXXXXX";
    REQUIRE(::mkdtemp(name) != nullptr);
    path_ = name;
    std::filesystem::current_path(path_);
  }
  ~Folder() {
    std::filesystem::current_path(before_);
    std::filesystem::remove_all(path_);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

 private:
  std::filesystem::path before_, path_;
};

void write(const char* path, const std::string& text) { std::ofstream(path, std::ios::binary) << text; }

constexpr size_t kK = 1024;

TEST_CASE("a limit is the longest vector of its choice") {
  constexpr const char* kText = "all_reduce=one_shot:512,two_shot@connections:64K,ring";
  CHECK(all_reduce(kText, 0) == "one_shot");
  CHECK(all_reduce(kText, 512) == "one_shot");
  CHECK(all_reduce(kText, 513) == "two_shot@connections");
  CHECK(all_reduce(kText, 64 * kK) == "two_shot@connections");
  CHECK(all_reduce(kText, 64 * kK + 1) == "ring");
  CHECK(all_reduce(kText, size_t{1} << 40) == "ring");
  CHECK(choice_of(kText, CollectiveKind::Reduce, 8).empty());
}

TEST_CASE("the vector of a collective with a block for each rank is all blocks") {
  constexpr const char* kText = "all_gather=direct:64K,ring";
  CHECK(choice_of(kText, CollectiveKind::AllGather, 64 * kK / kRanks) == "direct");
  CHECK(choice_of(kText, CollectiveKind::AllGather, 64 * kK / kRanks + 1) == "ring");
}

TEST_CASE("ranges without a choice are chosen automatically") {
  CHECK(all_reduce("all_reduce=ring:1M", kK * kK) == "ring");
  CHECK(all_reduce("all_reduce=ring:1M", kK * kK + 1).empty());
  constexpr const char* kText = " all_reduce = ring : 1K , auto:1.5K,@connections ; broadcast=chain;;";
  CHECK(all_reduce(kText, 1024) == "ring");
  CHECK(all_reduce(kText, 1025).empty());
  CHECK(all_reduce(kText, 1536).empty());
  CHECK(all_reduce(kText, 1537) == "@connections");
  CHECK(all_reduce("all_reduce=auto", 8).empty());
}

TEST_CASE("calls whose size some ranks do not know count as the longest, a barrier as empty") {
  Call unknown = call_of(CollectiveKind::AllToAll, 0);
  unknown.varying = true;
  unknown.send_blocks.counts = unknown.recv_blocks.counts = std::vector<size_t>(kRanks, 1);
  CHECK(choice_of(Rules::parse("all_to_all=direct:64K,pairwise").take(), unknown) == "pairwise");
  CHECK(choice_of(Rules::parse("all_to_all=direct:64K").take(), unknown).empty());
  Call known = call_of(CollectiveKind::AllGather, 0);
  known.varying = true;
  known.recv_blocks.counts = {10, 20, 30, 4};
  CHECK(choice_of(Rules::parse("all_gather=direct:64,ring").take(), known) == "direct");
  CHECK(choice_of(Rules::parse("all_gather=direct:63,ring").take(), known) == "ring");
  CHECK(choice_of("barrier=flat:0,dissemination", CollectiveKind::Barrier, 0) == "flat");
}

TEST_CASE("of a path, only what follows the last colon and is a size is a limit") {
  CHECK(all_reduce("all_reduce=file:a:b/c@d.xml:64K", 8) == "file:a:b/c@d.xml");
  CHECK(all_reduce("all_reduce=file:a:b/c@d.xml:64K", 64 * kK + 1).empty());
  CHECK(all_reduce("all_reduce=file:a.xml@connections:1K,file:C:x", 2048) == "file:C:x");
  CHECK(all_reduce("all_reduce=file:64K", 8) == "file:64K");
  CHECK(all_reduce("all_reduce=file:a:64@connections", 65) == "file:a:64@connections");
}

TEST_CASE("bad rules are refused with what was expected") {
  CHECK(error_of("all_reduce") ==
        "algorithm 'all_reduce': it must be COLLECTIVE=ALGORITHM, as in all_reduce=ring");
  CHECK(error_of("al_reduce=ring").ends_with("; did you mean all_reduce?"));
  CHECK(error_of("all_reduce=ring:1K,two_shto").find("; did you mean two_shot?") != std::string::npos);
  CHECK(error_of("all_reduce=ring@conections").ends_with("; did you mean connections?"));
  CHECK(error_of("all_reduce=ring:64Q") ==
        "algorithm 'all_reduce=ring:64Q': the limit '64Q' must be a number of bytes, for example 64K or 1M");
  CHECK(error_of("all_reduce=ring,two_shot") ==
        "algorithm 'all_reduce=ring,two_shot': only the last choice may be without a limit, as in "
        "two_shot:64K,ring");
  for (const char* limit : {"64K", "65535"})
    CHECK(
        error_of(fmt::format("all_reduce=ring:64K,two_shot:{}", limit)) ==
        fmt::format("algorithm 'all_reduce=ring:64K,two_shot:{0}': the limit of 'two_shot:{0}' must be above "
                    "that of the choice before it (65536 bytes)",
                    limit));
  CHECK(error_of("all_reduce=ring;reduce=flat;allreduce=ring") ==
        "algorithm 'allreduce=ring': all_reduce is named twice; each collective may have one rule");
  CHECK(error_of("all_reduce=file:a,b.xml").ends_with("(a path in a rule cannot have a comma)"));
  for (const char* text : {"all_reduce=", "all_reduce=:", "all_reduce=ring:1K,", "all_reduce=@", "=ring", "=",
                           "all_reduce=ring:-1", "all_reduce=ring:99999999999999999999", "all_reduce=auto@x"})
    error_of(text);
}

TEST_CASE("a file has a rule on each line, and comments") {
  const Folder folder;
  write("rules.txt",
        "# all of them\n\n  all_reduce=two_shot:64K,\tring\t# by size\r\nbroadcast=chain; reduce=flat\n"
        "all_gather=file:a#b.xml\n");
  for (const std::string& path :
       {std::string("rules.txt"), (std::filesystem::current_path() / "rules.txt").string()}) {
    const Rules rules = Rules::parse("scan=chain;@" + path).take();
    CHECK(choice_of(rules, call_of(CollectiveKind::AllReduce, 64 * kK)) == "two_shot");
    CHECK(choice_of(rules, call_of(CollectiveKind::AllReduce, 64 * kK + 1)) == "ring");
    CHECK(choice_of(rules, call_of(CollectiveKind::Broadcast, 1)) == "chain");
    CHECK(choice_of(rules, call_of(CollectiveKind::Reduce, 1)) == "flat");
    CHECK(choice_of(rules, call_of(CollectiveKind::AllGather, 1)) == "file:a#b.xml");
    CHECK(choice_of(rules, call_of(CollectiveKind::Scan, 1)) == "chain");
  }
}

TEST_CASE("the last line of a file may lack its newline") {
  const Folder folder;
  for (const char* end : {"", "\n", "\r\n", " # the last", ";"}) {
    CAPTURE(end);
    write("r", std::string("all_reduce=ring:64K,two_shot\nreduce=flat") + end);
    const Rules rules = Rules::parse("@r").take();
    CHECK(choice_of(rules, call_of(CollectiveKind::AllReduce, 1)) == "ring");
    CHECK(choice_of(rules, call_of(CollectiveKind::Reduce, 1)) == "flat");
  }
}

TEST_CASE("what is wrong in a file is said with its line") {
  const Folder folder;
  const auto said = [](const std::string& text) {
    write("r", text);
    const std::string message = error_of("@r");
    constexpr std::string_view kBegins = "algorithm '@r': ";
    REQUIRE(message.starts_with(kBegins));
    return message.substr(kBegins.size());
  };
  CHECK(said("# x\nall_reduce\n") == "r:2: it must be COLLECTIVE=ALGORITHM, as in all_reduce=ring");
  CHECK(said("\n\nall_reduce=rign\n").starts_with("r:3: all_reduce has no algorithm 'rign'"));
  CHECK(said("\n\nall_reduce=rign\n").find("; did you mean ring?") != std::string::npos);
  CHECK(said("all_reduce=ring\nreduce=flat;AllReduce=ring\n") ==
        "r:2: all_reduce is named twice; each collective may have one rule");
  CHECK(said("all_reduce=ring:2,two_shot:1\n") ==
        "r:1: the limit of 'two_shot:1' must be above that of the choice before it (2 bytes)");
  CHECK(said("all_reduce=ring\n@r\n") == "r:2: a file of rules cannot name another");
  CHECK(said(std::string("all_reduce=ri\0ng\n", 17)) == "r:1: expected text, not a control character");
  CHECK(said("all_reduce=ri\rng\n") == "r:1: expected text, not a control character");
  CHECK(said("all_reduce=ring\nreduce=fl").starts_with("r:2: reduce has no algorithm 'fl'"));
  CHECK(said("") == "r: expected rules, but there is nothing in it");
  write("r", "all_reduce=ring\n");
  CHECK(error_of("all_reduce=ring;@r")
            .ends_with("r:1: all_reduce is named twice; each collective may have one rule"));
}

TEST_CASE("what is no file of rules is refused") {
  const Folder folder;
  REQUIRE(::mkfifo("pipe", 0600) == 0);
  CHECK(error_of("@missing") == "algorithm '@missing': missing: cannot be read: No such file or directory");
  CHECK(error_of("@.") == "algorithm '@.': .: cannot be read: Is a directory");
  CHECK(error_of("@") == "algorithm '@': : cannot be read: No such file or directory");
  CHECK(error_of("@pipe") == "algorithm '@pipe': pipe: expected rules, but there is nothing in it");
  CHECK(error_of("@/dev/zero") ==
        "algorithm '@/dev/zero': /dev/zero: expected a file of rules, of at most 1 MiB");
}

TEST_CASE("long text is read or refused fast") {
  const auto repeated = [](const char* text) {
    std::string all = "all_reduce=";
    while (all.size() < (size_t{1} << 20) - 100) all += text;
    return all;
  };
  std::string choices = "all_reduce=";
  for (int limit = 1'000'000; choices.size() < (size_t{1} << 20) - 100; ++limit)
    choices += fmt::format("ring:{},", limit);
  choices += "ring";
  const struct {
    std::string text;
    bool is_right;
  } rows[] = {{choices, true},
              {std::string(1 << 20, '\n'), true},
              {repeated("x"), false},
              {repeated("="), false},
              {repeated("ring,"), false},
              {repeated("file:a@connection,"), false},
              {std::string(1 << 20, 'x'), false},
              {"all_reduce=" + std::string(4096, 'x'), false},
              {"all_reduce=ring:" + std::string(1 << 20, '9'), false}};
  for (const auto& [text, is_right] : rows) {
    INFO(text.substr(0, 40));
    const std::clock_t begin = std::clock();
    const auto rules = Rules::of_file(text + "\n", "r");
    if (!kSanitized) CHECK(std::clock() - begin < CLOCKS_PER_SEC);
    CHECK(rules.ok() == is_right);
    CHECK(rules.status().message().size() < 10000);
  }
}

}  // namespace
