// SPDX-License-Identifier: Apache-2.0
#include "animation.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>
#include <set>
#include <utility>

#include "picture_parts.h"

namespace rondo::planner {
namespace {

constexpr double kCell = 9, kLabel = 14;
constexpr double kSeconds = 10, kMoving = 0.85;  // of the picture; the part of it in which messages move

class Animation {
 public:
  Animation(rondo_plan_t plan, rondo_plan_run_t run)
      : info_(info_of(plan)), groups_(info_), messages_(messages_of(run)), seconds_(time_of(run).seconds) {
    columns_ = static_cast<int>(std::ceil(std::sqrt(groups_.count())));
    box_width_ = std::max(58.0, kCell * columns_ + 8);
    box_height_ = kLabel + kCell * ((groups_.count() + columns_ - 1) / columns_) + 8;
    const double box = std::hypot(box_width_, box_height_) + 24;
    radius_ = std::max(150.0, box * info_.ranks / (2 * std::numbers::pi));
    centre_y_ = kPictureTop + radius_ + box_height_ / 2;
    find_arrivals();
  }

  std::string text(const std::string& title) {
    constexpr double kLetter = 9.2;  // of the title
    const double width =
        2 * kPictureMargin + std::max(2 * radius_ + box_width_, kLetter * static_cast<double>(title.size()));
    centre_x_ = width / 2;
    std::string body = connections();
    for (int rank = 0; rank != info_.ranks; ++rank) body += box(rank);
    for (const rondo_plan_message_t& message : messages_) body += dot(message);
    const double clock = centre_y_ + radius_ + box_height_ / 2 + 24;
    double bottom = 0;
    body += clock_bar(width, clock);
    body += svg_legend(groups_, kPictureMargin, clock + 34, width - 2 * kPictureMargin, bottom);
    std::string style = ".w{stroke:#cfd8dc} .b{fill:#fafafa;stroke:#455a64} .e{fill:#e0e0e0} ";
    for (int group = 0; group != groups_.count(); ++group)
      style += fmt::format(".c{}{{fill:{}}} ", group, groups_.colour(group));
    return svg_start(width, bottom + kPictureMargin, title, style) + body + "</svg>\n";
  }

 private:
  struct CellState {
    std::map<int, double> chunks;  // when each is here; 0: from the start
  };

  /// What of the picture's time has passed at a time of the run, as SMIL has it.
  std::string moment(double seconds) const {
    std::string text = fmt::format("{:.4f}", seconds_ > 0 ? kMoving * seconds / seconds_ : 0);
    text.erase(text.find_last_not_of('0') + 1);
    if (text.back() == '.') text.pop_back();
    return text;
  }
  std::pair<double, double> centre(int rank) const {
    const double angle = 2 * std::numbers::pi * rank / info_.ranks - std::numbers::pi / 2;
    return {centre_x_ + radius_ * std::cos(angle), centre_y_ + radius_ * std::sin(angle)};
  }

  /// Of the last tile: a chunk is at a rank when it first arrives, or from the start if the rank sends it
  /// before.
  void find_arrivals() {
    if (messages_.empty()) return;
    const int last = std::ranges::max(messages_, {}, &rondo_plan_message_t::tile).tile;
    std::map<std::pair<int, int>, double> times;  // by rank and chunk
    const auto note = [&](int rank, const rondo_plan_message_t& message, double when) {
      for (int i = 0; i != message.count; ++i) {
        const auto [known, is_new] = times.try_emplace({rank, message.chunk + i}, when);
        if (!is_new) known->second = std::min(known->second, when);
      }
    };
    std::vector<const rondo_plan_message_t*> by_begin;
    for (const rondo_plan_message_t& message : messages_)
      if (message.tile == last) by_begin.push_back(&message);
    for (const rondo_plan_message_t* message : by_begin) note(message->to, *message, message->arrives);
    for (const rondo_plan_message_t* message : by_begin) {
      const auto arrived = times.find({message->from, message->chunk});
      if (arrived == times.end() || arrived->second > message->begins) note(message->from, *message, 0);
    }
    for (const auto& [where, when] : times)
      states_[{where.first, groups_.of(where.second)}].chunks[where.second] = when;
  }

  std::string connections() const {
    std::set<std::pair<int, int>> pairs;
    for (const rondo_plan_message_t& message : messages_) pairs.insert(std::minmax(message.from, message.to));
    std::string text;
    for (const auto& [a, b] : pairs) {
      const auto [ax, ay] = centre(a);
      const auto [bx, by] = centre(b);
      text += fmt::format("<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" class=\"w\"/>\n", ax,
                          ay, bx, by);
    }
    return text;
  }

  std::string box(int rank) const {
    const auto [x, y] = centre(rank);
    const double left = x - box_width_ / 2, top = y - box_height_ / 2;
    std::string text = fmt::format(
        "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" rx=\"4\" class=\"b\"/><text "
        "x=\"{:.1f}\" "
        "y=\"{:.1f}\" text-anchor=\"middle\">rank {}</text>\n",
        left, top, box_width_, box_height_, x, top + kLabel, rank);
    const double first = x - kCell * columns_ / 2;
    for (int group = 0; group != groups_.count(); ++group)
      text += cell(rank, group, first + kCell * (group % columns_),
                   top + kLabel + 4 + kCell * (group / columns_));
    return text;
  }

  /// Grey; over it the share that is here, in the group's colour, which grows with each chunk.
  std::string cell(int rank, int group, double x, double y) const {
    constexpr double kSide = kCell - 1;
    std::string text = fmt::format("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{}\" height=\"{}\" class=\"e\"/>",
                                   x, y, kSide, kSide);
    const auto state = states_.find({rank, group});
    if (state == states_.end()) return text + "\n";
    std::vector<double> times;
    for (const auto& [chunk, when] : state->second.chunks) times.push_back(when);
    std::ranges::sort(times);
    std::string keys, values;
    const auto width = [&](size_t chunks) {
      return kSide * static_cast<double>(chunks) / groups_.chunks_of_group();
    };
    const auto from_start = static_cast<size_t>(std::ranges::count(times, 0.0));
    for (size_t i = from_start; i != times.size(); ++i) {
      if (i + 1 != times.size() && moment(times[i]) == moment(times[i + 1])) continue;
      keys += ";" + moment(times[i]);
      values += fmt::format(";{:.3g}", width(i + 1));
    }
    text += fmt::format("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.3g}\" height=\"{}\" class=\"c{}\"", x, y,
                        width(from_start), kSide, group);
    if (keys.empty()) return text + "/>\n";
    return text + fmt::format(
                      "><animate attributeName=\"width\" dur=\"{}s\" repeatCount=\"indefinite\" "
                      "calcMode=\"discrete\" keyTimes=\"0{}\" values=\"{:.3g}{}\"/></rect>\n",
                      kSeconds, keys, width(from_start), values);
  }

  std::string dot(const rondo_plan_message_t& message) const {
    const auto [ax, ay] = centre(message.from);
    const auto [bx, by] = centre(message.to);
    const std::string begins = moment(message.begins), arrives = moment(message.arrives);
    return fmt::format(
        "<circle r=\"4\" class=\"c{0}\" opacity=\"0\"><animateMotion dur=\"{1}s\" repeatCount=\"indefinite\" "
        "calcMode=\"linear\" keyTimes=\"0;{2};{3};1\" keyPoints=\"0;0;1;1\" path=\"M{4:.1f} {5:.1f}L{6:.1f} "
        "{7:.1f}\"/><animate attributeName=\"opacity\" dur=\"{1}s\" repeatCount=\"indefinite\" "
        "calcMode=\"discrete\" keyTimes=\"0;{2};{3}\" values=\"0;1;0\"/></circle>\n",
        groups_.of(message.chunk), kSeconds, begins, arrives, ax, ay, bx, by);
  }

  /// A bar that grows from 0 to the end of the run.
  std::string clock_bar(double width, double y) const {
    const double length = width - 2 * kPictureMargin;
    return fmt::format(
        "<rect x=\"{0}\" y=\"{1:.1f}\" width=\"{2:.1f}\" height=\"4\" class=\"e\"/><rect x=\"{0}\" "
        "y=\"{1:.1f}\" "
        "width=\"{2:.1f}\" height=\"4\" fill=\"#455a64\"><animate attributeName=\"width\" dur=\"{3}s\" "
        "repeatCount=\"indefinite\" keyTimes=\"0;{4};1\" values=\"0;{2:.1f};{2:.1f}\"/></rect>\n"
        "<text x=\"{0}\" y=\"{5:.1f}\" class=\"small\">0</text><text x=\"{6:.1f}\" y=\"{5:.1f}\" "
        "text-anchor=\"end\" class=\"small\">{7}</text>\n",
        kPictureMargin, y, length, kSeconds, kMoving, y + 16, kPictureMargin + length, time_text(seconds_));
  }

  const rondo_plan_info_t info_;
  const ChunkGroups groups_;
  const std::vector<rondo_plan_message_t> messages_;
  const double seconds_;
  int columns_ = 1;
  double box_width_ = 0, box_height_ = 0, radius_ = 0, centre_x_ = 0, centre_y_ = 0;
  std::map<std::pair<int, int>, CellState> states_;  // by rank and group
};

}  // namespace

std::string animation(rondo_plan_t plan, rondo_plan_run_t run, const std::string& title) {
  return Animation(plan, run).text(title);
}

}  // namespace rondo::planner
