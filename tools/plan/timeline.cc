// SPDX-License-Identifier: Apache-2.0
#include "timeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "picture_parts.h"

namespace rondo::planner {
namespace {

constexpr double kLabels = 84, kWidth = 900;
constexpr double kRankDistance = 46, kTrack = 11, kRankGap = 10;
constexpr int kMaxLines = 250;  // messages; more become bars

/// A round step of an axis: 1, 2 or 5 times a power of ten, ten of which are about all of it.
double tick_of(double all) {
  const double rough = all / 8, power = std::pow(10, std::floor(std::log10(rough)));
  for (const double step : {1.0, 2.0, 5.0})
    if (step * power >= rough) return step * power;
  return 10 * power;
}

class Timeline {
 public:
  Timeline(rondo_plan_t plan, rondo_plan_run_t run, bool bars)
      : plan_(plan),
        info_(info_of(plan)),
        groups_(info_),
        messages_(messages_of(run)),
        seconds_(time_of(run).seconds),
        bars_(bars || messages_.size() > kMaxLines) {
    place_ranks();
  }

  std::string text(const std::string& title) {
    std::string body = axis() + rows();
    for (const rondo_plan_message_t& message : messages_) body += bars_ ? bar(message) : line(message);
    double bottom = 0;
    body += svg_legend(groups_, kPictureMargin, bottom_ + 44, kLabels + kWidth, bottom);
    std::string style = ".rank{stroke:#90a4ae} .tick{stroke:#eceff1} .m{stroke-width:1.6;fill:none} ";
    for (int group = 0; group != groups_.count(); ++group)
      style += fmt::format(".c{0}{{fill:{1}}} .l{0}{{stroke:{1}}} ", group, groups_.colour(group));
    return svg_start(2 * kPictureMargin + kLabels + kWidth, bottom + kPictureMargin, title, style) + body +
           "</svg>\n";
  }

 private:
  double x(double time) const {
    return kPictureMargin + kLabels + (seconds_ > 0 ? kWidth * time / seconds_ : 0);
  }
  double y(int rank) const { return tops_[static_cast<size_t>(rank)]; }

  void place_ranks() {
    if (bars_) choose_tracks();
    double top = kPictureTop;
    for (int rank = 0; rank != info_.ranks; ++rank) {
      tops_.push_back(bars_ ? top : top + kRankDistance / 2);
      top += bars_ ? kRankGap + kTrack * std::max(1, tracks_of(rank)) : kRankDistance;
    }
    bottom_ = top;
  }

  /// Messages to one receiver that leave at the same time, by several connections, are drawn below one
  /// another.
  void choose_tracks() {
    std::vector<size_t> order(messages_.size());
    for (size_t i = 0; i != order.size(); ++i) order[i] = i;
    std::ranges::stable_sort(order, {}, [&](size_t i) { return messages_[i].begins; });
    std::map<std::pair<int, int>, std::vector<double>> ends;
    tracks_.resize(messages_.size());
    for (const size_t i : order) {
      std::vector<double>& known = ends[{messages_[i].from, messages_[i].to}];
      const auto free = std::ranges::find_if(known, [&](double end) { return end <= messages_[i].begins; });
      tracks_[i] = static_cast<int>(free - known.begin());
      if (free == known.end())
        known.push_back(messages_[i].ends);
      else
        *free = messages_[i].ends;
    }
    for (const auto& [pair, known] : ends) {
      first_track_[pair] = next_track_[pair.first];
      next_track_[pair.first] += static_cast<int>(known.size());
    }
  }
  int tracks_of(int rank) const {
    const auto known = next_track_.find(rank);
    return known == next_track_.end() ? 0 : known->second;
  }

  std::string axis() const {
    std::string text;
    const double step = seconds_ > 0 ? tick_of(seconds_) : 0;
    for (int i = 0; i == 0 || (step > 0 && i * step <= seconds_ * (1 + 1e-9)); ++i) {
      const double at = x(i * step);
      text += fmt::format(
          "<line x1=\"{0:.1f}\" y1=\"{1}\" x2=\"{0:.1f}\" y2=\"{2:.1f}\" class=\"tick\"/><text x=\"{0:.1f}\" "
          "y=\"{3:.1f}\" text-anchor=\"middle\" class=\"small\">{4}</text>\n",
          at, kPictureTop - 6, bottom_, bottom_ + 14, i == 0 ? "0" : time_text(i * step));
    }
    return text + fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" class=\"small\">ends after {}</text>\n",
                              kPictureMargin, bottom_ + 32, time_text(seconds_));
  }

  std::string rows() const {
    std::string text;
    for (int rank = 0; rank != info_.ranks; ++rank) {
      const double middle = bars_ ? y(rank) + kTrack * std::max(1, tracks_of(rank)) / 2.0 : y(rank);
      text += fmt::format("<text x=\"{}\" y=\"{:.1f}\">rank {}</text>\n", kPictureMargin, middle + 4, rank);
      if (!bars_)
        text +=
            fmt::format("<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" class=\"rank\"/>\n",
                        x(0), middle, x(seconds_), middle);
    }
    for (const auto& [pair, track] : first_track_)
      text +=
          fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"end\" class=\"small\">to {}</text>\n",
                      kPictureMargin + kLabels - 6, y(pair.first) + kTrack * track + kTrack - 2, pair.second);
    return text;
  }

  std::string about(const rondo_plan_message_t& message) const {
    const char* step = nullptr;
    require(rondo_plan_step(plan_, message.from, message.lane, message.step, &step));
    return escaped(fmt::format("{} -> {}: {} of {}, {} to {}, arrives {}; lane {} step {}: {}", message.from,
                               message.to, size_text(message.bytes), groups_.name(groups_.of(message.chunk)),
                               time_text(message.begins), time_text(message.ends), time_text(message.arrives),
                               message.lane, message.step, step));
  }

  std::string line(const rondo_plan_message_t& message) const {
    return fmt::format("<path d=\"M{:.1f} {:.1f}L{:.1f} {:.1f}\" class=\"m l{}\"><title>{}</title></path>\n",
                       x(message.begins), y(message.from), x(message.arrives), y(message.to),
                       groups_.of(message.chunk), about(message));
  }

  std::string bar(const rondo_plan_message_t& message) const {
    const auto i = static_cast<size_t>(&message - messages_.data());
    const int track = first_track_.at({message.from, message.to}) + tracks_[i];
    return fmt::format(
        "<rect x=\"{:.2f}\" y=\"{:.1f}\" width=\"{:.2f}\" height=\"{}\" "
        "class=\"c{}\"><title>{}</title></rect>\n",
        x(message.begins), y(message.from) + kTrack * track,
        std::max(0.5, x(message.ends) - x(message.begins)), kTrack - 2, groups_.of(message.chunk),
        about(message));
  }

  const rondo_plan_t plan_;
  const rondo_plan_info_t info_;
  const ChunkGroups groups_;
  const std::vector<rondo_plan_message_t> messages_;
  const double seconds_;
  const bool bars_;
  std::vector<double> tops_;                        // by rank: of its rows, or where its line is
  std::vector<int> tracks_;                         // by message: among those of its sender and receiver
  std::map<std::pair<int, int>, int> first_track_;  // by sender and receiver
  std::map<int, int> next_track_;                   // by sender
  double bottom_ = 0;
};

}  // namespace

std::string timeline(rondo_plan_t plan, rondo_plan_run_t run, const std::string& title, bool bars) {
  return Timeline(plan, run, bars).text(title);
}

}  // namespace rondo::planner
