// SPDX-License-Identifier: Apache-2.0
#include "base/saved_costs.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <cstring>

#include "base/error_kinds.h"
#include "base/file_contents.h"
#include "base/log.h"
#include "base/settings.h"
#include "base/words.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace rondo {
namespace {

constexpr std::string_view kFirstLine = "rondo-costs 1";
constexpr size_t kMaxFileBytes = 4096;

#if defined(__x86_64__)
/// The brand string, without the blanks that some processors put before it.
std::string processor_name() {
  constexpr unsigned kBrand = 0x80000002;
  unsigned words[3][4] = {};
  for (unsigned i = 0; i < 3; ++i)
    if (__get_cpuid(kBrand + i, &words[i][0], &words[i][1], &words[i][2], &words[i][3]) == 0) return "x86-64";
  char text[sizeof words + 1] = {};
  std::memcpy(text, words, sizeof words);
  std::string name = text;
  name.erase(0, name.find_first_not_of(' '));
  name.erase(name.find_last_not_of(' ') + 1);
  return name;
}
#else
/// Implementer, part and revision as the kernel gives them.
std::string processor_name() {
  const std::string id =
      file_contents("/sys/devices/system/cpu/cpu0/regs/identification/midr_el1", kMaxFileBytes);
  return "processor " + id.substr(0, id.find('\n'));
}
#endif

/// Takes the lines of a text, and says what is wrong with one.
class Lines {
 public:
  explicit Lines(std::string_view text) : left_(text) {}

  /// The rest of a line that begins with `key` and a blank.
  Result<std::string_view> value_of(std::string_view key, std::string_view value) {
    take();
    if (line_.size() > key.size() && line_.starts_with(key) && line_[key.size()] == ' ')
      return line_.substr(key.size() + 1);
    return unexpected(fmt::format("{} {}", key, value));
  }
  Status expect(std::string_view line) {
    take();
    return line_ == line ? Status() : unexpected(line);
  }
  Status expect_end() {
    if (left_.empty()) return {};
    take();
    return unexpected("the end of the file");
  }
  Status unexpected(std::string_view expected) const {
    constexpr size_t kMaxShown = 60;
    std::string shown(line_.substr(0, kMaxShown));
    for (char& c : shown)
      if (static_cast<unsigned char>(c) < ' ' || c == 0x7f) c = '?';
    return error(ErrorKind::FileMalformed, "line {} is '{}', expected '{}'", number_, shown, expected);
  }

 private:
  /// A line without a line break at its end is none: the file was cut off.
  void take() {
    ++number_;
    const size_t end = left_.find('\n');
    line_ = end == std::string_view::npos ? std::string_view() : left_.substr(0, end);
    left_.remove_prefix(end == std::string_view::npos ? left_.size() : end + 1);
  }

  std::string_view left_, line_;
  int number_ = 0;
};

constexpr std::string_view kDate = "YYYY-MM-DD";

/// Digits where kDate has letters.
bool is_date(std::string_view text) {
  return std::ranges::equal(
      text, kDate, [](char c, char pattern) { return pattern == '-' ? c == '-' : '0' <= c && c <= '9'; });
}

std::string host_line() { return "host " + processor_text(); }
constexpr std::string_view kVersionLine = "version " RONDO_PROJECT_VERSION;

void warn_once(const std::string& path, std::string_view why) {
  static std::atomic_flag is_said;
  if (is_said.test_and_set()) return;
  log().warn(
      "{}: {}; it is ignored, and costs of messages are those built in (rondo-topo --calibrate measures "
      "them)",
      path, why);
}

}  // namespace

std::string processor_text() {
  static const std::string text =
      fmt::format("{}, {} CPUs", processor_name(), ::sysconf(_SC_NPROCESSORS_CONF));
  return text;
}

Result<std::string> saved_costs_path() {
  if (auto named = setting(Setting::Calibration)) {
    if (parse_switch(*named) == false)
      return error(ErrorKind::CostsNotKept,
                   "RONDO_CALIBRATION is {}: measured costs are neither kept nor used", *named);
    return *std::move(named);
  }
  const auto is_absolute = [](const std::optional<std::string>& path) {
    return path && path->front() == '/';
  };
  auto folder = setting(Setting::XdgCacheHome);
  if (!is_absolute(folder)) {
    folder = setting(Setting::Home);
    if (!is_absolute(folder))
      return error(
          ErrorKind::CostsNotKept,
          "there is no folder for measured costs: neither XDG_CACHE_HOME nor HOME is an absolute path");
    *folder += "/.cache";
  }
  return fmt::format("{}/rondo/costs-{}-{:016x}", *folder, RONDO_PROJECT_VERSION,
                     hash_text(processor_text()));
}

std::string saved_costs_text(const HostCosts& costs, std::string_view date) {
  std::string text = fmt::format("{}\n{}\n{}\nmeasured {}\n", kFirstLine, kVersionLine, host_line(), date);
  for (size_t i = 0; i < kHostFigures; ++i)
    text += fmt::format("{} {:.6g}\n", host_figures()[i].name, costs[i]);
  return text;
}

Result<SavedCosts> read_saved_costs(std::string_view text) {
  Lines lines(text);
  RONDO_TRY(lines.expect(kFirstLine));
  RONDO_TRY(lines.expect(kVersionLine));
  RONDO_TRY(lines.expect(host_line()));
  SavedCosts saved;
  RONDO_TRY_ASSIGN(saved.date, lines.value_of("measured", kDate));
  if (!is_date(saved.date)) return lines.unexpected(fmt::format("measured {}", kDate));
  for (size_t i = 0; i < kHostFigures; ++i) {
    constexpr std::string_view kNumber = "NUMBER";
    const std::string_view name = host_figures()[i].name;
    RONDO_TRY_ASSIGN(const std::string_view value, lines.value_of(name, kNumber));
    const auto [end, failure] = std::from_chars(value.data(), value.data() + value.size(), saved.costs[i]);
    if (failure != std::errc() || end != value.data() + value.size() || !is_cost(saved.costs[i]))
      return lines.unexpected(fmt::format("{} {}", name, kNumber));
  }
  RONDO_TRY(lines.expect_end());
  return saved;
}

std::optional<SavedCosts> saved_costs() {
  const auto path = saved_costs_path();
  if (!path.ok()) return std::nullopt;
  const std::string text = file_contents(path.value(), kMaxFileBytes);
  if (errno != 0 && !setting(Setting::Calibration))
    return std::nullopt;  // such as no cache, or another user's
  if (errno != 0) {
    warn_once(path.value(), std::strerror(errno));
    return std::nullopt;
  }
  auto saved = read_saved_costs(text);
  if (saved.ok()) return saved.take();
  warn_once(path.value(), saved.status().message());
  return std::nullopt;
}

}  // namespace rondo
