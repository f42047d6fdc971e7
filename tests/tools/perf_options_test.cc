// SPDX-License-Identifier: Apache-2.0
// The command line of rondo-perf: what it accepts, and its errors.
#include "catch.h"
#include "options.h"
#include "rondo/rondo.h"

namespace {

using namespace rondo::perf;

ParsedPerfOptions parse(std::vector<const char*> words, const char* program = "rondo-perf") {
  words.insert(words.begin(), program);
  return parse_options(static_cast<int>(words.size()), words.data());
}

}  // namespace

TEST_CASE("Defaults are those of nccl-tests") {
  const ParsedPerfOptions parsed = parse({"all_reduce"});
  CAPTURE(parsed.message);
  REQUIRE(parsed.run);
  REQUIRE(parsed.options.collectives == std::vector<Collective>{Collective::AllReduce});
  REQUIRE(parsed.options.sweep.min_bytes == 32u << 20);
  REQUIRE(parsed.options.sweep.max_bytes == 32u << 20);
  REQUIRE(parsed.options.iterations == 20);
  REQUIRE(parsed.options.types == std::vector<int>{RONDO_FLOAT32});
  REQUIRE(parsed.options.ops == std::vector<Op>{Op::Sum});
  REQUIRE(parsed.options.roots == std::vector<int>{0});
  REQUIRE(parsed.options.average == Average::Mean);
}

TEST_CASE("Short and long options mean what they mean in nccl-tests") {
  const ParsedPerfOptions parsed =
      parse({"broadcast", "-b",      "8",   "-e", "64M", "-f",  "2",  "-n",       "7",  "-w",        "3",
             "-m",        "4",       "-N",  "0",  "-T",  "2.5", "-o", "prod,max", "-d", "half,int8", "-r",
             "-1",        "-p",      "1",   "-c", "2",   "-z",  "3",  "-R",       "2",  "-u",        "5",
             "-a",        "3",       "-C",  "1",  "-S",  "1",   "-M", "1",        "-J", "x.json",    "-G",
             "0",         "--ranks", "2,3", "-t", "2",   "-I",  "1",  "-K",       "6"});
  CAPTURE(parsed.message);
  REQUIRE(parsed.run);
  const PerfOptions& o = parsed.options;
  REQUIRE(o.sweep.max_bytes == 64u << 20);
  REQUIRE(o.sweep.factor == 2);
  REQUIRE((o.iterations == 7 && o.warmup == 3 && o.aggregate == 4 && o.cycles == 0 && o.checks == 2));
  REQUIRE(o.timeout_s == 2.5);
  REQUIRE(o.ops == std::vector<Op>{Op::Prod, Op::Max});
  REQUIRE(o.types == std::vector<int>{RONDO_FLOAT16, RONDO_INT8});
  REQUIRE(o.roots.empty());
  REQUIRE(
      (o.parallel_init && o.register_buffers && o.shared_memory && o.cpu_time && o.timestamps && o.memory));
  REQUIRE(o.pace == Pace::UntimedBarrier);
  REQUIRE(o.average == Average::Most);
  REQUIRE(o.unalign == 5);
  REQUIRE(o.json_file == "x.json");
  REQUIRE((o.per_iteration && o.skipped_iterations == 6));
  REQUIRE(o.ranks == std::vector<int>{2, 3});
  REQUIRE(o.threads == 2);
}

TEST_CASE("Iterations have times of their own wherever a rank waits for each of them") {
  REQUIRE(parse({"all_reduce", "-I", "1", "--queue", "-z", "2"}).run);
  REQUIRE(parse({"all_reduce", "-I", "1", "--queue", "--fresh"}).run);
  REQUIRE(parse({"all_reduce", "-I", "1", "-K", "19"}).run);
}

TEST_CASE("The program's name selects the collective") {
  REQUIRE(parse({}, "/usr/bin/alltoall_perf").options.collectives ==
          std::vector<Collective>{Collective::AllToAll});
  REQUIRE(parse({}, "sendrecv_perf").options.collectives == std::vector<Collective>{Collective::SendRecv});
  const auto varying = parse({}, "./alltoallv_perf").options;
  REQUIRE(varying.collectives == std::vector<Collective>{Collective::AllToAll});
  REQUIRE(varying.varying);
  REQUIRE_FALSE(parse({}, "alltoall_perf").options.varying);
  REQUIRE_FALSE(parse({}, "nonsensev_perf").run);
  REQUIRE(parse({}, "hypercube_perf").options.collectives == std::vector<Collective>{Collective::Hypercube});
  REQUIRE(parse({"all"}, "all_reduce_perf").options.collectives.size() == all_collectives().size() - 1);
}

TEST_CASE("nccl-tests' names and Rondo's are both understood") {
  REQUIRE(parse({"sendrecv,alltoall"}).options.collectives ==
          std::vector<Collective>{Collective::SendRecv, Collective::AllToAll});
  REQUIRE(parse({"all_reduce", "-d", "float32,f8e4m3,float8_e5m2", "-o", "sum,premul_sum"}).run);
  REQUIRE(parse({"all_reduce", "-d", "int8", "-o", "bit_and,bor,mulsum"}).run);
  REQUIRE(parse({"all_reduce", "-d", "all"}).options.types.size() == all_types().size());
  REQUIRE(parse({"all_reduce", "-o", "all"}).options.ops.size() == all_ops().size());
}

TEST_CASE("Collectives are accepted as nccl-tests, MPI and PyTorch spell them") {
  REQUIRE(parse({"allreduce,AllGather,reducescatter,reduce-scatter,bcast,all_reduce_perf,barrier"})
              .options.collectives ==
          std::vector<Collective>{Collective::AllReduce, Collective::AllGather, Collective::ReduceScatter,
                                  Collective::ReduceScatter, Collective::Broadcast, Collective::AllReduce,
                                  Collective::Barrier});
  REQUIRE(parse({}, "allreduce_perf").options.collectives == std::vector<Collective>{Collective::AllReduce});
}

TEST_CASE("If only one end of the size range is given, the other is chosen to match") {
  const auto sizes = [](std::vector<const char*> words) {
    words.insert(words.begin(), "all_reduce");
    const ParsedPerfOptions parsed = parse(words);
    CAPTURE(parsed.message);
    REQUIRE(parsed.run);
    return sweep_sizes(parsed.options.sweep);
  };
  const auto doubling = sizes({"-e", "1M"});
  REQUIRE(
      (doubling.front() == 8 && doubling[1] == 16 && doubling.back() == 1u << 20 && doubling.size() == 18));
  REQUIRE(sizes({"-e", "24", "-i", "8"}) == std::vector<size_t>{8, 16, 24});
  REQUIRE(sizes({"-e", "4"}) == std::vector<size_t>{4});
  REQUIRE(sizes({"-b", "64M"}) == std::vector<size_t>{64u << 20});
  // As in nccl-tests, if its defaults make sense.
  REQUIRE(sizes({"-e", "33M"}) == std::vector<size_t>{32u << 20, 33u << 20});
  REQUIRE(sizes({"-b", "31M"}) == std::vector<size_t>{31u << 20, 32u << 20});
}

TEST_CASE("nccl-tests' --memory is -M, and names of memory are Rondo's") {
  REQUIRE(parse({"all_reduce", "--memory", "1"}).options.memory);
  REQUIRE(parse({"all_reduce", "--memory", "1"}).options.gpu.space == Space::Host);
  REQUIRE_FALSE(parse({"all_reduce", "--memory", "0"}).options.memory);
  REQUIRE_FALSE(parse({"all_reduce", "--memory", "host"}).options.memory);
}

TEST_CASE("Help and version are not errors") {
  REQUIRE(parse({"-V"}).code == 0);
  REQUIRE(parse({"-V"}).message.find("rondo-perf 0.") == 0);
  REQUIRE(parse({"--help"}).code == 0);
  REQUIRE(parse({"--help"}).message.find("--ranks") != std::string::npos);
  REQUIRE(parse({"--version"}).message.find("rondo-perf 0.") == 0);
}

TEST_CASE("Bad options get exit code 2 and an error that names them") {
  const struct {
    std::vector<const char*> words;
    const char* said;
  } cases[] = {
      {{}, "say which collective"},
      {{"all_redcue"}, "'all_redcue' is not a collective: use all_reduce"},
      {{"all_redcue"}, "did you mean all_reduce?"},
      {{"all_reduce,scater"}, "did you mean scatter?"},
      {{"all_reduce", "-d", "flaot"}, "did you mean float?"},
      {{"all_reduce", "-o", "summ"}, "did you mean sum?"},
      {{"all_reduce", "--algorithm", "al_reduce=ring"}, "did you mean all_reduce?"},
      {{"all_reduce", "--memory", "hots"}, "did you mean host?"},
      {{"all_reduce", "--algoritm", "ring"}, "no option --algoritm; did you mean --algorithm?"},
      {{"all_reduce", "-V", "16"}, "-V is '16': in nccl-tests that is the number of CTAs"},
      {{"all_reduce", "--plot", "a/x.png"}, "--plot is 'a/x.png': the plot is written as SVG"},
      {{"all_reduce", "--plot", "X.PDF"}, ".svg"},
      {{"all_reduce", "--plot", "rows.json"}, ".svg"},
      {{"all_reduce", "--plot", "rows", "--json", "rows"}, "are both 'rows'"},
      {{"all_reduce", "--explain", "--json", "rows"}, "leave --json and --plot out"},
      {{"all_reduce", "--rules", "-", "--plot", "x.svg"}, "leave --json and --plot out"},
      {{"all_reduce", "-b", "x"}, "-b is 'x'"},
      {{"all_reduce", "-b", "2M", "-e", "1M"}, "-b 2M is more than -e 1M"},
      {{"all_reduce", "-f", "1"}, "-f is 1"},
      {{"all_reduce", "-i", "0"}, "-i is 0"},
      {{"all_reduce", "-d", "float128"}, "'float128' is not a type: use int8"},
      {{"all_reduce", "-o", "plus"}, "'plus' is not an operation: use sum"},
      {{"all_reduce", "-o", "band"}, "-o band is not defined for -d float"},
      {{"all_reduce", "-n", "0"}, "-n is 0: it must be at least 1"},
      {{"all_reduce", "-a", "4"}, "-a is 4"},
      {{"all_reduce", "-z", "9"}, "-z is 9"},
      {{"all_reduce", "-I", "2"}, "-I is 2: it must be from 0 to 1"},
      {{"all_reduce", "-I", "1", "-K", "-1"}, "-K is -1: it must be at least 0"},
      {{"all_reduce", "-I", "1", "-K", "20"}, "-K is 20: with 20 iterations (-n) it must be at most 19"},
      {{"all_reduce", "-K", "1"}, "-K is 1: it leaves iterations out of the statistics of -I 1"},
      {{"all_reduce", "-I", "1", "--queue"}, "-I: calls of a queue have no end until it is waited for"},
      {{"all_reduce", "-g", "2"}, "-g: ranks are not GPUs here"},
      {{"all_reduce", "-G", "1"}, "-G: CUDA graphs need CUDA memory"},
      {{"all_reduce", "-T", "-3"}, "-T is -3"},
      {{"all_reduce", "-t", "0"}, "-t is 0"},
      {{"all_reduce", "--ranks", "2,x"}, "--ranks is '2,x'"},
      {{"all_reduce", "--ranks", "0"}, "--ranks is '0'"},
      {{"broadcast", "-r", "4", "--ranks", "4"}, "-r is 4: with 4 ranks the last one is 3"},
      {{"broadcast", "-r", "x"}, "-r is 'x'"},
      {{"all_reduce", "--algorithm", "foo=ring"}, "'foo' is not a collective"},
      {{"all_reduce", "--nonsense"}, "--nonsense"},
  };
  for (const auto& [words, said] : cases) {
    const ParsedPerfOptions parsed = parse(words);
    CAPTURE(said, parsed.message);
    REQUIRE(!parsed.run);
    REQUIRE(parsed.code == 2);
    REQUIRE(parsed.message.find(said) != std::string::npos);
    REQUIRE(parsed.message.back() == '\n');
  }
}
