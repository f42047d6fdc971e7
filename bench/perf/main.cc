// SPDX-License-Identifier: Apache-2.0
// rondo-perf: measures how fast the collectives are, and checks their results.
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "algorithms.h"
#include "base/file_contents.h"
#include "comparison.h"
#include "document.h"
#include "gpus.h"
#include "handoff.h"
#include "options.h"
#include "page.h"
#include "plot.h"
#include "processes.h"
#include "run_facts.h"
#include "session.h"
#include "start.h"

namespace rondo::perf {
namespace {

// If one is closed, the next socket would have its number, and the table would be printed into that.
void open_standard_descriptors() {
  int fd = -1;
  do fd = ::open("/dev/null", O_RDWR);
  while (fd >= 0 && fd <= STDERR_FILENO);
  if (fd >= 0) ::close(fd);
}

bool write_file(const std::string& path, const std::string& text) {
  if (path.empty()) return true;  // not requested
  std::FILE* file = std::fopen(path.c_str(), "w");
  const bool written = file != nullptr && std::fwrite(text.data(), 1, text.size(), file) == text.size();
  const bool closed = file != nullptr && std::fclose(file) == 0;
  if (!written || !closed)
    fmt::print(stderr, "rondo-perf: cannot write {}: {}\n", path, std::strerror(errno));
  return written && closed;
}

// Before minutes of measuring: a file that cannot be written is an error at once, and one of an earlier run
// does not pass for that of a run without rows.
bool empty_files(const PerfOptions& options) {
  return write_file(options.json_file, "") && write_file(options.plot_file, "");
}

std::string plotted(const std::string& path, const std::vector<Row>& rows, const std::vector<PageRun>& runs) {
  return is_page(path) ? page_html(rows, runs) : plot_svg(rows);
}

int list_algorithms(const PerfOptions& options) {
  for (const Collective collective : options.collectives) {
    fmt::print("{}:", collective_info(collective).name);
    for (const std::string& name : algorithm_names(collective)) fmt::print(" {}", name);
    fmt::print("\n");
  }
  return kAllRight;
}

int probe() {
  const std::vector<int> cpus = allowed_cpus();
  const auto pair = choose_pair(cpus, cpus);
  fmt::print("{}\n", describe_handoff(pair, pair ? measure_handoff(*pair) : std::nullopt));
  return kAllRight;
}

constexpr size_t kMaxDocument = size_t{64} << 20;

// The files that are compared, and what is plotted of them.
struct ComparedRuns {
  std::vector<MeasuredRun> runs;
  std::vector<PageRun> documents;
  std::vector<Row> rows;

  /// Returns what is wrong with the file; empty: it was added.
  std::string add(const std::string& file) {
    std::error_code failed;
    if (!std::filesystem::is_regular_file(file, failed)) return file + ": it is not a file";
    const std::string text = file_contents(file, kMaxDocument + 1);
    if (errno != 0) return fmt::format("cannot read {}: {}", file, std::strerror(errno));
    if (text.size() > kMaxDocument) return fmt::format("{} has more than {} bytes", file, kMaxDocument);
    std::string wrong;
    auto run = measured_run(file, text, wrong);
    if (!run) return wrong;
    const std::string letter = runs.empty() ? "A" : "B";
    for (Row& row : run->plotted) row.run = letter;
    rows.insert(rows.end(), run->plotted.begin(), run->plotted.end());
    documents.push_back({letter, file, text});
    runs.push_back(std::move(*run));
    return "";
  }
};

constexpr const char* kCompareUsage =
    "usage: rondo-perf compare A.json B.json [--plot FILE], two files of --json\n";

/// `rondo-perf compare A.json B.json [--plot FILE]`
int compare(std::vector<std::string> words) {
  if (words.size() == 1 && (words[0] == "-h" || words[0] == "--help")) {
    fmt::print("{}", kCompareUsage);
    return kAllRight;
  }
  std::string plot_file;
  if (const auto option = std::find(words.begin(), words.end(), "--plot"); words.end() - option > 1) {
    plot_file = option[1];
    words.erase(option, option + 2);
  }
  if (words.size() != 2) {
    fmt::print(stderr, "{}", kCompareUsage);
    return kBadOptions;
  }
  ComparedRuns compared;
  std::string wrong = check_plot_file(plot_file), text;
  for (const std::string& file : words)
    if (wrong.empty()) wrong = compared.add(file);
  if (wrong.empty()) text = comparison_text(compared.runs[0], compared.runs[1]);
  if (wrong.empty() && text.empty())
    wrong = fmt::format("{} and {} have no row in common", words[0], words[1]);
  if (!wrong.empty()) {
    fmt::print(stderr, "rondo-perf: {}\n", wrong);
    return kBadOptions;
  }
  if (!plot_file.empty() && !write_file(plot_file, plotted(plot_file, compared.rows, compared.documents)))
    return kBadOptions;
  fmt::print("{}", text);
  return kAllRight;
}

int run(int argc, char** argv) {
  if (argc > 1 && std::string_view(argv[1]) == "compare") return compare({argv + 2, argv + argc});
  const ParsedPerfOptions parsed = parse_options(argc, argv, visible_gpus);
  if (!parsed.run) {
    fmt::print(parsed.code == 0 ? stdout : stderr, "{}", parsed.message);
    return parsed.code;
  }
  const PerfOptions& options = parsed.options;
  if (options.list_algorithms) return list_algorithms(options);
  if (options.probe) return probe();
  if (!empty_files(options)) return kBadOptions;
  RunFacts facts = facts_at_start(argc, argv);
  std::vector<Row> rows;
  size_t complete = 0;  // rows of tables that have ended
  const RowReceiver receiver{[&](const Row& row) { rows.push_back(row); },
                             [&](const TableEnd& end) {
                               for (; complete < rows.size(); ++complete)
                                 rows[complete].handoff_after_ns = end.handoff_ns;
                             }};
  const int code = run_benchmark(options, receiver);
  facts.end_time = time_of_day();
  // Under a launcher, ranks other than 0 have no rows and must not overwrite rank 0's files.
  if (rows.empty()) return code;
  const std::string document = document_json(options, facts, rows);
  const bool json = write_file(options.json_file, document);
  const bool plot = write_file(options.plot_file, plotted(options.plot_file, rows, {{"", "", document}}));
  if (code == kAllRight && (!json || !plot)) return kLibraryFailed;
  return code;
}

}  // namespace
}  // namespace rondo::perf

int main(int argc, char** argv) {
  rondo::perf::open_standard_descriptors();
  return rondo::perf::with_output([&] { return rondo::perf::run(argc, argv); });
}
