// SPDX-License-Identifier: Apache-2.0
#include "detect/sysfs.h"

#include <dirent.h>
#include <sys/stat.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "base/error_kinds.h"
#include "base/file_contents.h"

namespace rondo {
namespace {

constexpr size_t kMaxLine = 4096;      // bytes of an attribute: a page
constexpr size_t kMaxNames = 1 << 16;  // in a folder

/// Errors by which the kernel says that there is no such value, or that a cgroup hides the device.
bool means_absent(int error_number) {
  return error_number == ENOENT || error_number == ENOTDIR || error_number == EINVAL ||
         error_number == EOPNOTSUPP || error_number == EPERM;
}

std::string printable_line(std::string_view text) {
  text = text.substr(0, text.find('\n'));
  const size_t first = text.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) return {};
  std::string line(text.substr(first, text.find_last_not_of(" \t\r") - first + 1));
  std::ranges::replace_if(
      line, [](char c) { return c < ' ' || c > '~'; }, '?');
  return line;
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// Takes the digits that a text begins with, without leading zeros.
std::string_view take_digits(std::string_view& text) {
  size_t length = 0;
  while (length != text.size() && is_digit(text[length])) ++length;
  std::string_view digits = text.substr(0, length);
  text.remove_prefix(length);
  digits.remove_prefix(std::min(digits.find_first_not_of('0'), digits.size()));
  return digits;
}

}  // namespace

bool is_naturally_before(std::string_view a, std::string_view b) {
  while (!a.empty() && !b.empty()) {
    if (is_digit(a.front()) && is_digit(b.front())) {
      const std::string_view left = take_digits(a), right = take_digits(b);
      if (left.size() != right.size()) return left.size() < right.size();
      if (left != right) return left < right;
    } else {
      if (a.front() != b.front()) return a.front() < b.front();
      a.remove_prefix(1);
      b.remove_prefix(1);
    }
  }
  return a.size() < b.size();
}

Result<Sysfs> Sysfs::open(const std::string& root, std::vector<std::string>& repairs) {
  const std::unique_ptr<char, void (*)(void*)> real(::realpath(root.c_str(), nullptr), std::free);
  if (real == nullptr) return system_error(root, errno, ErrorKind::FileUnreadable);
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(::opendir(real.get()), ::closedir);
  if (folder == nullptr) return system_error(root, errno, ErrorKind::FileUnreadable);
  return Sysfs(root, real.get(), repairs);
}

void Sysfs::repair(const std::string& path, const std::string& sentence) {
  repairs_->push_back(shown(path) + ": " + sentence);
}

std::string Sysfs::contents(const std::string& path) {
  std::string text = file_contents(shown(path), kMaxLine);
  if (errno != 0 && !means_absent(errno))
    repair(path, std::string(std::strerror(errno)) + ": taken as absent");
  return text;
}

std::string Sysfs::line(const std::string& path) { return printable_line(contents(path)); }

std::map<std::string, int64_t> Sysfs::table(const std::string& path) {
  std::map<std::string, int64_t> values;
  const std::string text = contents(path);
  std::string_view rest = text;
  while (!rest.empty()) {
    const std::string_view row = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(rest.size(), row.size() + 1));
    const size_t space = std::min(row.find(' '), row.size());
    int64_t value = 0;
    const auto [end, failure] =
        std::from_chars(row.data() + std::min(space + 1, row.size()), row.data() + row.size(), value);
    if (failure == std::errc() && end == row.data() + row.size()) values.emplace(row.substr(0, space), value);
  }
  return values;
}

std::string Sysfs::text(const std::string& path) {
  std::string found = line(path);
  if (found.size() <= kMaxText) return found;
  repair(path, fmt::format("longer than {} characters: taken as absent", kMaxText));
  return {};
}

std::optional<int64_t> Sysfs::number(const std::string& path, int64_t min, int64_t max) {
  const std::string value_text = text(path);
  if (value_text.empty()) return std::nullopt;
  std::string_view digits = value_text;
  const bool is_hex = digits.starts_with("0x");
  if (is_hex) digits.remove_prefix(2);
  int64_t value = 0;
  const auto [end, failure] =
      std::from_chars(digits.data(), digits.data() + digits.size(), value, is_hex ? 16 : 10);
  if (failure == std::errc() && end == digits.data() + digits.size() && value >= min && value <= max)
    return value;
  repair(path, fmt::format("'{}' is not a number from {} to {}: taken as absent", value_text.substr(0, 64),
                           min, max));
  return std::nullopt;
}

std::vector<std::string> Sysfs::names(const std::string& folder) {
  std::vector<std::string> found;
  const std::unique_ptr<DIR, int (*)(DIR*)> opened(::opendir(shown(folder).c_str()), ::closedir);
  if (opened == nullptr) {
    if (!means_absent(errno)) repair(folder, std::string(std::strerror(errno)) + ": taken as empty");
    return found;
  }
  while (const dirent* entry = ::readdir(opened.get())) {
    const std::string_view name = entry->d_name;
    if (name == "." || name == "..") continue;
    if (found.size() == kMaxNames) {
      repair(folder, fmt::format("more than {} entries: the rest is left out", kMaxNames));
      break;
    }
    found.emplace_back(name);
  }
  std::ranges::sort(found, is_naturally_before);
  return found;
}

std::string Sysfs::device_of(const std::string& link) {
  struct stat status;
  if (::lstat(shown(link).c_str(), &status) != 0 || !S_ISLNK(status.st_mode)) return {};
  const std::unique_ptr<char, void (*)(void*)> real(::realpath(shown(link).c_str(), nullptr), std::free);
  if (real == nullptr) {
    repair(link, std::string(std::strerror(errno)) + ": left out");
    return {};
  }
  const std::string_view path = real.get();
  if (!path.starts_with(real_root_ + "/devices/")) {
    repair(link, fmt::format("leads to {}, which is no device: left out", path));
    return {};
  }
  return std::string(path.substr(real_root_.size() + 1));
}

}  // namespace rondo
