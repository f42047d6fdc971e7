// SPDX-License-Identifier: Apache-2.0
#include "options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <optional>
#include <span>

#include "base/words.h"
#include "exit_code.h"
#include "rondo/rondo.h"
#include "rules.h"
#include "words.h"

namespace rondo::perf {
namespace {

constexpr int kMaxRanks = 4096;
constexpr size_t kSmallest = 8;  // if only -e is given

// The command line as text, before it is parsed.
struct OptionWords {
  std::string collective;
  std::optional<std::string> min_bytes, max_bytes, step_bytes;
  double factor = 0;
  std::string ranks, types = "float", ops = "sum", root = "0", algorithms;
  int registering = 0, average = 1, blocking = 0;
  int parallel_init = 0, cpu_time = 0, timestamps = 0, memory = 0, per_iteration = 0;
  GpuWords gpus;
};

template <typename Row, typename Name>
std::vector<std::string_view> names_of(std::span<const Row> rows, Name name) {
  std::vector<std::string_view> names;
  for (const Row& row : rows) names.push_back(row.*name);
  return names;
}

// "'x' is not a type: use int8, ..., or all; did you mean ...?"
std::string refuse(const std::string& word, const char* what, const std::vector<std::string_view>& names) {
  return fmt::format("'{}' is not {}: use {}, or all{}", word, what, fmt::join(names, ", "),
                     did_you_mean(word, names));
}

// Each of the following functions parses words into options and returns an error message; empty means
// success.

std::string read_collectives(const std::string& list, std::string_view program, PerfOptions& options) {
  if (list.empty()) {
    const NamedProgram named = named_program(program);
    if (named.collective != nullptr) options.collectives = {named.collective->id};
    options.varying |= named.varying;
    if (!options.collectives.empty() || options.startup || options.probe) return "";
    return fmt::format("say which collective to run: {}, or all", collective_names());
  }
  for (const std::string& name : split(list)) {
    const CollectiveInfo* row = collective_by_name(name);
    if (name == "all") {
      for (const CollectiveInfo& each : all_collectives())
        if (each.in_all) options.collectives.push_back(each.id);
    } else if (row != nullptr) {
      options.collectives.push_back(row->id);
    } else {
      return refuse(name, "a collective", names_of(all_collectives(), &CollectiveInfo::name));
    }
  }
  return "";
}

std::string read_size(const char* option, const std::optional<std::string>& text, size_t& out) {
  if (!text) return "";
  const auto size = parse_size(*text);
  if (!size) return fmt::format("{} is '{}': give bytes, with K, M or G for powers of 1024", option, *text);
  out = *size;
  return "";
}

// nccl-tests' default for both ends is 32M, which one explicit end alone may contradict.
void complete(const OptionWords& words, Sweep& sweep) {
  if (!words.max_bytes) sweep.max_bytes = sweep.min_bytes;
  if (words.min_bytes) return;
  sweep.min_bytes = std::min(sweep.max_bytes, kSmallest);
  if (sweep.factor == 0 && !words.step_bytes) sweep.factor = 2;
}

std::string read_sweep(const OptionWords& words, PerfOptions& options) {
  Sweep& sweep = options.sweep;
  for (std::string wrong :
       {read_size("-b", words.min_bytes, sweep.min_bytes), read_size("-e", words.max_bytes, sweep.max_bytes),
        read_size("-i", words.step_bytes, sweep.step_bytes)}) {
    if (!wrong.empty()) return wrong;
  }
  if (words.factor != 0 && !(words.factor > 1))
    return fmt::format("-f is {}: the factor between sizes must be above 1", words.factor);
  sweep.factor = words.factor;
  if (sweep.min_bytes > sweep.max_bytes) complete(words, sweep);
  if (sweep.min_bytes > sweep.max_bytes)
    return fmt::format("-b {} is more than -e {}: the smallest size comes first", *words.min_bytes,
                       *words.max_bytes);
  if (sweep.step_bytes == 0) return "-i is 0: sizes must grow";
  return "";
}

std::string read_ranks(const std::string& list, PerfOptions& options) {
  for (const std::string& text : split(list)) {
    const auto count = whole_number(text);
    if (!count || *count < 1 || *count > kMaxRanks)
      return fmt::format("--ranks is '{}': give numbers from 1 to {}, comma separated", list, kMaxRanks);
    options.ranks.push_back(*count);
  }
  return "";
}

std::string read_types(const std::string& list, PerfOptions& options) {
  for (const std::string& name : split(list)) {
    const TypeRow* type = type_by_name(name);
    if (name == "all") {
      for (const TypeRow& each : all_types()) options.types.push_back(each.id);
    } else if (type != nullptr) {
      options.types.push_back(type->id);
    } else {
      return "-d: " + refuse(name, "a type", names_of(all_types(), &TypeRow::name));
    }
  }
  return options.types.empty() ? "-d names no type" : "";
}

std::string read_ops(const std::string& list, PerfOptions& options) {
  for (const std::string& name : split(list)) {
    const auto op = op_by_name(name);
    if (name == "all") {
      for (const OpInfo& each : all_ops()) options.ops.push_back(each.op);
    } else if (op) {
      options.ops.push_back(*op);
    } else {
      return "-o: " + refuse(name, "an operation", names_of(all_ops(), &OpInfo::name));
    }
  }
  return options.ops.empty() ? "-o names no operation" : "";
}

std::string check_pairs(const PerfOptions& options) {
  for (const Op op : options.ops) {
    for (const int type : options.types) {
      if (op_takes(op, type_info(type))) return "";
    }
  }
  return fmt::format("-o {} is not defined for -d {}", op_info(options.ops[0]).name,
                     type_info(options.types[0]).name);
}

std::string read_roots(const std::string& text, PerfOptions& options) {
  if (text == "all" || text == "-1") return "";
  const auto root = whole_number(text);
  if (!root || *root < 0) return fmt::format("-r is '{}': give a rank, or all", text);
  for (const int count : options.ranks) {
    const int ranks = count * options.threads * options.gpu.per_thread;
    if (*root >= ranks)
      return fmt::format("-r is {}: with {} ranks the last one is {}", *root, ranks, ranks - 1);
  }
  options.roots = {*root};
  return "";
}

std::string read_algorithms(const std::string& list, PerfOptions& options) {
  options.list_algorithms = list == "list";
  if (options.list_algorithms) return "";
  for (const std::string& word : split(list)) {
    const size_t equals = word.find('=');
    if (equals != std::string::npos && collective_by_name(word.substr(0, equals)) == nullptr)
      return fmt::format(
          "--algorithm: '{}' is not a collective in '{}'{}", word.substr(0, equals), word,
          did_you_mean(word.substr(0, equals), names_of(all_collectives(), &CollectiveInfo::name)));
    options.algorithms.push_back(word);
  }
  return "";
}

std::string check_numbers(const PerfOptions& options) {
  if (options.threads < 1 || options.threads > kMaxRanks)
    return fmt::format("-t is {}: give 1 to {} threads", options.threads, kMaxRanks);
  if (options.gpu.per_thread < 1 || options.gpu.per_thread > kMaxRanks)
    return fmt::format("-g is {}: give 1 to {} GPUs", options.gpu.per_thread, kMaxRanks);
  const struct {
    const char* option;
    int value;
    int least;
  } rows[] = {{"-n", options.iterations, 1},         {"-w", options.warmup, 0},
              {"-m", options.aggregate, 1},          {"-N", options.cycles, 0},
              {"-K", options.skipped_iterations, 0}, {"-c", options.checks, 0}};
  for (const auto& [option, value, least] : rows) {
    if (value < least) return fmt::format("{} is {}: it must be at least {}", option, value, least);
  }
  if (!(options.timeout_s >= 0) || options.timeout_s > 1e9)
    return fmt::format("-T is {}: give seconds, 0 for no limit", options.timeout_s);
  return "";
}

std::string check_iterations(const PerfOptions& options) {
  const int skipped = options.skipped_iterations;
  if (skipped > 0 && !options.per_iteration)
    return fmt::format("-K is {}: it leaves iterations out of the statistics of -I 1; give that too",
                       skipped);
  if (skipped >= options.iterations)
    return fmt::format("-K is {}: with {} iterations (-n) it must be at most {}", skipped, options.iterations,
                       options.iterations - 1);
  if (options.per_iteration && options.queue && options.pace == Pace::Free && !options.fresh)
    return "-I: calls of a queue have no end until it is waited for: give -z 2, or leave --queue out";
  return "";
}

std::string read_switches(const OptionWords& words, PerfOptions& options) {
  const struct {
    const char* option;
    int value;
    int most;
  } rows[] = {{"-a", words.average, 3},       {"-z", words.blocking, 3},     {"-R", words.registering, 2},
              {"-p", words.parallel_init, 1}, {"-C", words.cpu_time, 1},     {"-S", words.timestamps, 1},
              {"-M", words.memory, 1},        {"-I", words.per_iteration, 1}};
  for (const auto& [option, value, most] : rows) {
    if (value < 0 || value > most)
      return fmt::format("{} is {}: it must be from 0 to {}", option, value, most);
  }
  if (std::string wrong = check_plot_file(options.plot_file); !wrong.empty()) return wrong;
  if (!options.json_file.empty() && options.json_file == options.plot_file)
    return fmt::format("--json and --plot are both '{}': the plot would replace the rows", options.json_file);
  if (!options.makes_calls() && !(options.json_file.empty() && options.plot_file.empty()))
    return "--explain and --rules measure nothing: leave --json and --plot out";
  if (!options.makes_calls() && options.varying)
    return "--explain and --rules cover calls whose lengths all ranks know: leave --varying out";
  if (options.ping_pong && options.one_way) return "--ping_pong and --one_way exclude each other";
  if (options.ping_pong && (options.aggregate > 1 || options.gpu.per_thread > 1))
    return "--ping_pong sends one message after the other: leave -m and -g out";
  const bool has_hypercube = std::find(options.collectives.begin(), options.collectives.end(),
                                       Collective::Hypercube) != options.collectives.end();
  if (has_hypercube && (options.aggregate > 1 || options.gpu.per_thread > 1))
    return "hypercube makes one round of messages after the other: leave -m and -g out";
  if (options.fresh && (words.blocking > 0 || options.gpu.graph_launches > 0))
    return "--fresh times each iteration after a barrier: leave -z and -G out";
  options.average = static_cast<Average>(words.average);
  options.pace = static_cast<Pace>(words.blocking);
  options.register_buffers = words.registering > 0;
  options.shared_memory = words.registering == 2;
  options.parallel_init = words.parallel_init == 1;
  options.cpu_time = words.cpu_time == 1;
  options.timestamps = words.timestamps == 1;
  options.memory = words.memory == 1;
  options.per_iteration = words.per_iteration == 1;
  const std::string wrong = check_iterations(options);
  return wrong.empty() ? check_rules(options) : wrong;
}

std::string understand(const OptionWords& words, std::string_view program, PerfOptions& options) {
  using Reader = std::string (*)(const OptionWords&, std::string_view, PerfOptions&);
  static constexpr Reader readers[] = {
      [](const OptionWords& w, std::string_view p, PerfOptions& o) {
        return read_collectives(w.collective, p, o);
      },
      [](const OptionWords& w, std::string_view, PerfOptions& o) { return read_sweep(w, o); },
      [](const OptionWords&, std::string_view, PerfOptions& o) { return check_numbers(o); },
      [](const OptionWords& w, std::string_view, PerfOptions& o) { return read_ranks(w.ranks, o); },
      [](const OptionWords& w, std::string_view, PerfOptions& o) { return read_types(w.types, o); },
      [](const OptionWords& w, std::string_view, PerfOptions& o) { return read_ops(w.ops, o); },
      [](const OptionWords&, std::string_view, PerfOptions& o) { return check_pairs(o); },
      [](const OptionWords& w, std::string_view, PerfOptions& o) { return read_roots(w.root, o); },
      [](const OptionWords& w, std::string_view, PerfOptions& o) { return read_algorithms(w.algorithms, o); },
      [](const OptionWords& w, std::string_view, PerfOptions& o) { return read_switches(w, o); },
  };
  for (const Reader read : readers) {
    std::string wrong = read(words, program, options);
    if (!wrong.empty()) return wrong;
  }
  return "";
}

void declare_sizes(CLI::App& app, OptionWords& words, PerfOptions& options) {
  app.add_option("-b,--minbytes", words.min_bytes, "smallest size (32M; with -e below that, 8)")
      ->group("Sizes");
  app.add_option("-e,--maxbytes", words.max_bytes, "largest size (32M)")->group("Sizes");
  app.add_option("-i,--stepbytes", words.step_bytes, "step between sizes (1M)")->group("Sizes");
  app.add_option("-f,--stepfactor", words.factor, "factor between sizes, instead of -i")->group("Sizes");
  app.add_option("-d,--datatype", words.types, "type, comma separated types, or all (float)")->group("Calls");
  app.add_option("-o,--op", words.ops, "operation, comma separated operations, or all (sum)")->group("Calls");
  app.add_option("-r,--root", words.root, "root rank, or all (0)")->group("Calls");
  app.add_flag("--varying", options.varying, "use the forms with a length for each rank")->group("Calls");
  app.add_flag("--ping_pong", options.ping_pong,
               "send_recv: one message goes round; the time is that of a hop, or half of a round trip")
      ->group("Calls");
  app.add_flag("--one_way", options.one_way,
               "send_recv: ranks 0, 2, ... send to 1, 3, ...; with -m 64, windows of 64 messages")
      ->group("Calls");
  app.add_flag("--queue", options.queue, "submit calls to a queue, wait at the end")->group("Calls");
  app.add_option("--algorithm", words.algorithms,
                 "NAME or COLLECTIVE=NAME, comma separated; all: one table each; list: print the names")
      ->group("Calls");
  app.add_option("--transport", options.transport, "transport between all ranks, for example shm or tcp")
      ->group("Calls");
}

void declare_ranks(CLI::App& app, OptionWords& words, PerfOptions& options) {
  app.add_option("--ranks", words.ranks, "number of processes to start; 2,3,4: one table each")
      ->group("Ranks");
  app.add_option("-t,--nthreads", options.threads, "ranks as threads of each process (1)")->group("Ranks");
  app.add_option("-p,--parallel_init", words.parallel_init, "1: each thread joins by itself")->group("Ranks");
}

void declare_timing(CLI::App& app, OptionWords& words, PerfOptions& options) {
  app.add_option("-n,--iters", options.iterations, "timed iterations (20)")->group("Timing");
  app.add_option("-w,--warmup_iters", options.warmup, "warm-up iterations (5)")->group("Timing");
  app.add_option("-m,--agg_iters", options.aggregate, "calls grouped in each iteration (1)")->group("Timing");
  app.add_option("-N,--run_cycles", options.cycles, "repeat the whole run N times; 0: until stopped (1)")
      ->group("Timing");
  app.add_flag("--fresh", options.fresh,
               "write the inputs anew before each iteration, untimed, as programs do; a barrier follows")
      ->group("Timing");
  app.add_option("-a,--average", words.average,
                 "time to report: 0: rank 0's; over the ranks: 1: mean, 2: minimum, 3: maximum (1)")
      ->group("Timing");
  app.add_option("-I,--per_iter_timing", words.per_iteration,
                 "1: time each iteration too, and print percentiles over the iterations (0)")
      ->group("Timing");
  app.add_option("-K,--per_iter_skip", options.skipped_iterations,
                 "leading iterations that the percentiles of -I leave out (0)")
      ->group("Timing");
  app.add_option("-z,--blocking", words.blocking,
                 "1: barrier after each call; 3: after each iteration, not timed; 0, 2: neither (0)")
      ->group("Timing");
  app.add_option("-C,--report_cputime", words.cpu_time, "1: the calling thread's CPU time (0)")
      ->group("Timing");
  app.add_option("-T,--timeout", options.timeout_s, "time limit per row in seconds; 0: no limit (0)")
      ->group("Timing");
}

void declare_memory(CLI::App& app, OptionWords& words, PerfOptions& options) {
  app.add_option("-R,--local_register", words.registering,
                 "1: register the buffers; 2: also allocate them with rondo_mem_alloc (0)")
      ->group("Memory");
  app.add_option("-u,--unalign", options.unalign,
                 "offset of the buffers from the start of a page, in elements (0)")
      ->group("Memory");
  app.add_option("-M,--memory_report", words.memory, "1: report memory after each table (0)")
      ->group("Memory");
}

void declare_results(CLI::App& app, OptionWords& words, PerfOptions& options) {
  app.add_option("-c,--check", options.checks, "checked calls per row; 0: no check (1)")->group("Results");
  app.add_option("--seed", options.seed, "seed of the data (1)")->group("Results");
  app.add_option("-S,--report_timestamps", words.timestamps, "1: end each row with the time of day (0)")
      ->group("Results");
  app.add_option("-J,--output_file,--json", options.json_file, "write the rows as JSON")->group("Results");
  app.add_option("--plot", options.plot_file,
                 "plot time and bus bandwidth: FILE.svg is a picture, FILE.html an interactive page")
      ->group("Results");
  app.add_flag("--ascii", options.ascii, "draw the curves of each table below it, as plain text")
      ->group("Results");
  app.add_flag("--startup", options.startup, "report the time to the first barrier and memory")
      ->group("Results");
  app.add_flag("--probe", options.probe,
               "print how long a cache line takes between the first two CPUs, and exit")
      ->group("Results");
  app.add_flag("--explain", options.explain,
               "print which algorithm each call uses and why, and the order in which operands are combined")
      ->group("Results");
  app.add_option("--rules", options.rules_file,
                 "write which algorithm each size uses as rules for RONDO_ALGORITHM=@FILE; -: print them")
      ->group("Results");
}

/// nccl-tests' -V takes a number; here it is short for --version and takes none.
std::string refuse_cta_count(int argc, const char* const* argv) {
  for (int i = 1; i + 1 < argc; ++i) {
    if (std::string_view(argv[i]) == "-V" && whole_number(argv[i + 1]))
      return fmt::format(
          "-V is '{}': in nccl-tests that is the number of CTAs of its own kernels (-D), which are "
          "not available here; RONDO_CHANNELS sets the number of channels between two GPUs",
          argv[i + 1]);
  }
  return "";
}

/// CLI11's message; for an unknown option, one that suggests the closest known option.
std::string sentence_of(const CLI::ParseError& wrong, const CLI::App& app) {
  const auto words = app.remaining();
  const auto unknown =
      std::find_if(words.begin(), words.end(), [](const std::string& word) { return word.starts_with('-'); });
  if (unknown == words.end()) return wrong.what();
  std::vector<std::string> known;
  for (const CLI::Option* option : app.get_options())
    for (const std::string& name : option->get_lnames()) known.push_back("--" + name);
  const std::vector<std::string_view> names(known.begin(), known.end());
  return fmt::format("there is no option {}{}", *unknown, did_you_mean(*unknown, names));
}

}  // namespace

std::string check_plot_file(const std::string& path) {
  const std::string_view ending = std::string_view(path).substr(std::min(path.rfind('.'), path.size()));
  const auto same = [&](std::string_view other) { return same_word(ending, other); };
  constexpr std::string_view kOthers[] = {".png",  ".pdf", ".jpg", ".jpeg", ".gif",
                                          ".webp", ".eps", ".ps",  ".json"};
  if (std::none_of(std::begin(kOthers), std::end(kOthers), same)) return "";
  return fmt::format(
      "--plot is '{}': the plot is written as SVG or as HTML; give a name that ends in .svg or .html", path);
}

ParsedPerfOptions parse_options(int argc, const char* const* argv, const CountGpus& count_gpus) {
  OptionWords words;
  ParsedPerfOptions parsed;
  CLI::App app("Times collectives and checks their results.", "rondo-perf");
  app.footer(
      "rondo-perf compare A.json B.json [--plot FILE] puts the rows of two files of --json side by side.");
  app.add_option("collective", words.collective, fmt::format("{}, or all", collective_names()));
  declare_sizes(app, words, parsed.options);
  declare_ranks(app, words, parsed.options);
  declare_timing(app, words, parsed.options);
  declare_memory(app, words, parsed.options);
  declare_gpus(app, words.gpus, parsed.options.gpu);
  declare_results(app, words, parsed.options);
  app.set_version_flag("-V,--version", fmt::format("rondo-perf {}.{}.{}", RONDO_VERSION / 10000,
                                                   RONDO_VERSION / 100 % 100, RONDO_VERSION % 100));
  parsed.message = refuse_cta_count(argc, argv);
  try {  // CLI11 reports errors by exceptions, and --help too
    if (parsed.message.empty()) app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    parsed.message = app.help();
    return parsed;
  } catch (const CLI::CallForVersion& call) {
    parsed.message = std::string(call.what()) + "\n";
    return parsed;
  } catch (const CLI::ParseError& wrong) {
    parsed.message = sentence_of(wrong, app);
  }
  Refusal refusal{parsed.message, kBadOptions};
  if (refusal.sentence.empty()) refusal.sentence = understand(words, argv[0], parsed.options);
  if (refusal.sentence.empty()) refusal = read_gpus(words.gpus, count_gpus, parsed.options);
  parsed.run = refusal.sentence.empty();
  if (!parsed.run) {
    parsed.code = refusal.code;
    parsed.message = fmt::format("rondo-perf: {} (rondo-perf --help lists the options)\n", refusal.sentence);
  }
  return parsed;
}

}  // namespace rondo::perf
