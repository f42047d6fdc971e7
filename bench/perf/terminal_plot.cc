// SPDX-License-Identifier: Apache-2.0
#include "terminal_plot.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>

#include "curves.h"
#include "sizes.h"

namespace rondo::perf {
namespace {

using Lines = std::vector<std::string>;

constexpr int kUsualColumns = 80, kMinColumns = 40, kMaxColumns = 240;
constexpr int kMinPanel = 54;  // columns that a panel needs beside another
constexpr int kHeight = 12, kLabel = 8, kGap = 3, kColumnsOfSize = 10;
constexpr char kSeveral = '+';

// Lines of blanks to write into.
class TextCanvas {
 public:
  TextCanvas(int width, int height)
      : lines_(static_cast<size_t>(height), std::string(static_cast<size_t>(width), ' ')) {}

  char& at(double x, double y) { return lines_[index(y, lines_.size())][index(x, lines_[0].size())]; }
  /// Of one curve, between marks.
  void trail(double x, double y) {
    if (at(x, y) == ' ') at(x, y) = '.';
  }
  void mark(double x, double y, char letter) {
    char& cell = at(x, y);
    cell = cell == ' ' || cell == '.' || cell == letter ? letter : kSeveral;
  }
  const std::string& line(size_t number) const { return lines_[number]; }

 private:
  static size_t index(double value, size_t count) {
    return static_cast<size_t>(std::clamp(std::lround(value), 0L, static_cast<long>(count) - 1));
  }
  Lines lines_;
};

char letter_of(size_t curve, const CurveSet& set) {
  constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
  return set.curves.size() == 1 ? '*' : kLetters[curve % kLetters.size()];
}

void draw(const std::vector<CurvePoint>& points, char letter, const Axis& x, const Axis& y,
          const CurveMeasure& measure, TextCanvas& canvas) {
  const CurvePoint* before = nullptr;
  for (const CurvePoint& point : points) {
    if (measure.value(point) <= 0) continue;
    const double px = x.at(point.bytes), py = y.at(measure.value(point));
    if (before != nullptr) {
      const double from_x = x.at(before->bytes), from_y = y.at(measure.value(*before));
      const double steps = std::max(std::abs(px - from_x), std::abs(py - from_y));
      for (double step = 1; step < steps; ++step)
        canvas.trail(from_x + (px - from_x) * step / steps, from_y + (py - from_y) * step / steps);
    }
    before = &point;
  }
  for (const CurvePoint& point : points)
    if (measure.value(point) > 0) canvas.mark(x.at(point.bytes), y.at(measure.value(point)), letter);
}

// The sizes below an axis, each centred below its place.
std::string size_labels(const Axis& x, int width) {
  std::string line(static_cast<size_t>(width), ' ');
  size_t end = 0;
  for (const double value : x.ticks) {
    const std::string label = format_size(value);
    const long middle = std::lround(x.at(value)) - static_cast<long>(label.size() / 2);
    const auto start =
        static_cast<size_t>(std::clamp(middle, 0L, std::max(0L, width - static_cast<long>(label.size()))));
    if (end != 0 && start < end + 1) continue;
    line.replace(start, label.size(), label);
    end = start + label.size();
  }
  return line;
}

Lines text_panel(const CurveSet& set, const CurveMeasure& measure, int width) {
  const CurveRanges ranges = ranges_of(set, measure, PlottedForms::OutOfPlace);
  if (ranges.values.empty()) return {};
  const int inner = width - kLabel - 2;
  const Axis x = size_axis(ranges.sizes.least, ranges.sizes.most, 0, inner - 1, inner / kColumnsOfSize);
  const Axis y = decimal_axis(ranges.values.least, ranges.values.most, kHeight - 1, 0);
  TextCanvas canvas(inner, kHeight);
  for (size_t i = 0; i < set.curves.size(); ++i)
    draw(set.curves[i].out_of_place, letter_of(i, set), x, y, measure, canvas);
  Lines labels(kHeight);
  for (const double value : y.ticks)
    labels[static_cast<size_t>(std::lround(y.at(value)))] = fmt::format("{:g}", value);
  Lines lines{fmt::format("{:<{}}", fmt::format("{}, {}", measure.title, measure.unit), width)};
  for (size_t row = 0; row < labels.size(); ++row)
    lines.push_back(fmt::format("{:>{}} |{}", labels[row], kLabel, canvas.line(row)));
  lines.push_back(fmt::format("{:>{}} +{:->{}}", "", kLabel, "", inner));
  lines.push_back(fmt::format("{:>{}}  {}", "", kLabel, size_labels(x, inner)));
  return lines;
}

// Names of algorithms may be names of files, with any characters.
std::string plain(std::string text) {
  for (char& c : text)
    if (c < ' ' || c > '~') c = '?';
  return text;
}

void add_names(const CurveSet& set, bool has_several, Lines& lines) {
  if (set.curves.size() > 1)
    for (size_t i = 0; i < set.curves.size(); ++i)
      lines.push_back(fmt::format("{}: {}", letter_of(i, set), plain(set.curves[i].name)));
  if (has_several) lines.push_back(fmt::format("{}: points of several curves", kSeveral));
}

}  // namespace

std::string terminal_plot(const std::vector<Row>& rows, int columns) {
  const CurveSet set = curves_of(rows);
  const int width = columns - 2;  // without "# "
  const bool beside = width >= 2 * kMinPanel + kGap;
  const int each = beside ? (width - kGap) / 2 : width;
  Lines lines = text_panel(set, kBusBandwidth, each);
  const Lines times = text_panel(set, kCallTime, each);
  if (beside && lines.size() == times.size()) {
    for (size_t i = 0; i < lines.size(); ++i) lines[i] += std::string(kGap, ' ') + times[i];
  } else {
    lines.insert(lines.end(), times.begin(), times.end());
  }
  if (lines.empty()) return "";
  const bool has_several = std::any_of(lines.begin(), lines.end(), [](const std::string& line) {
    const size_t frame = line.find('|');
    return frame != std::string::npos && line.find(kSeveral, frame) != std::string::npos;
  });
  add_names(set, has_several, lines);
  std::string text = fmt::format("# {}\n", plain(set.title));
  for (std::string& line : lines) {
    line.resize(line.find_last_not_of(' ') + 1);
    text += fmt::format("# {}\n", line);
  }
  return text + "#\n";
}

int terminal_columns() {
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return kUsualColumns;
  return std::clamp<int>(size.ws_col, kMinColumns, kMaxColumns);
}

}  // namespace rondo::perf
