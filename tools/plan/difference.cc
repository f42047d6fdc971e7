// SPDX-License-Identifier: Apache-2.0
#include "difference.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

namespace rondo::planner {
namespace {

constexpr int kTiles = 8;
constexpr size_t kMaxRows = 16;  // of pairs, and of ranks whose steps differ

/// Figures of a plan, as text, in the order of the table.
struct Figures {
  std::vector<std::pair<std::string, std::string>> rows;
  void add(const char* what, std::string value) { rows.emplace_back(what, std::move(value)); }
};

struct PairVolume {
  int64_t messages = 0;
  double vectors = 0;
  bool operator==(const PairVolume&) const = default;
};
using VolumeByPair = std::map<std::pair<int, int>, PairVolume>;

Figures figures_of(rondo_plan_t plan) {
  const rondo_plan_info_t info = info_of(plan);
  const PlanTotals totals = totals_of(plan);
  Figures figures;
  figures.add("collective", info.collective);
  figures.add("ranks", fmt::to_string(info.ranks));
  figures.add("parts", fmt::to_string(info.parts));
  figures.add("lanes of a rank", fmt::to_string(totals.lanes));
  figures.add("steps", fmt::to_string(totals.steps));
  figures.add("messages", fmt::to_string(totals.messages));
  figures.add("vectors sent by a rank",
              fmt::format("{:.4g}", static_cast<double>(totals.sent) / info.chunks));
  figures.add("chunks of scratch", fmt::to_string(totals.scratch));
  return figures;
}

void add_proof(rondo_plan_t plan, Figures& figures) {
  const rondo_plan_proof_t proof = proof_of(plan);
  figures.add("slots", proof.verifies != 0 ? fmt::to_string(proof.slots) : "does not verify");
  figures.add("in place", proof.in_place != 0 ? "yes" : "no");
  if (*proof.association != '\0') figures.add("operands", proof.association);
}

VolumeByPair traffic_of(rondo_plan_t plan, const std::vector<rondo_plan_message_t>& messages, int tiles) {
  VolumeByPair traffic;
  const double chunks = info_of(plan).chunks * static_cast<double>(tiles);
  for (const rondo_plan_message_t& message : messages) {
    PairVolume& of_pair = traffic[{message.from, message.to}];
    ++of_pair.messages;
    of_pair.vectors += message.count / chunks;
  }
  for (auto& [pair, of_pair] : traffic) of_pair.messages /= tiles;
  return traffic;
}

std::string traffic_text(const VolumeByPair& traffic, const std::pair<int, int>& pair) {
  const auto found = traffic.find(pair);
  if (found == traffic.end()) return "-";
  return fmt::format("{}, {:.4g} vectors", count_text(found->second.messages, "message"),
                     found->second.vectors);
}

std::string row(const std::string& what, const std::string& a, const std::string& b) {
  std::string text = fmt::format("{:<24} {:<28} {}", what, a, b);
  text.erase(text.find_last_not_of(' ') + 1);
  return text + "\n";
}

std::string pair_rows(const VolumeByPair& a, const VolumeByPair& b) {
  std::vector<std::pair<int, int>> different;
  VolumeByPair all = a;
  all.insert(b.begin(), b.end());
  for (const auto& [pair, ignored] : all) {
    const auto in_a = a.find(pair), in_b = b.find(pair);
    const bool same = in_a != a.end() && in_b != b.end() && in_a->second.messages == in_b->second.messages &&
                      std::abs(in_a->second.vectors - in_b->second.vectors) < 1e-9;
    if (!same) different.push_back(pair);
  }
  std::string text;
  for (size_t i = 0; i != std::min(different.size(), kMaxRows); ++i)
    text += row(fmt::format("{} -> {}", different[i].first, different[i].second),
                traffic_text(a, different[i]), traffic_text(b, different[i]));
  if (different.size() > kMaxRows)
    text += fmt::format("and {} more pairs of ranks\n", different.size() - kMaxRows);
  return text;
}

/// The first step in which two ranks differ, or empty.
std::string step_row(rondo_plan_t a, rondo_plan_t b, int rank) {
  const auto in_a = steps_of(a, rank), in_b = steps_of(b, rank);
  for (size_t lane = 0; lane != std::max(in_a.size(), in_b.size()); ++lane) {
    static const std::vector<std::string> none;
    const auto& one = lane < in_a.size() ? in_a[lane] : none;
    const auto& other = lane < in_b.size() ? in_b[lane] : none;
    for (size_t i = 0; i != std::max(one.size(), other.size()); ++i) {
      const std::string left = i < one.size() ? one[i] : "-", right = i < other.size() ? other[i] : "-";
      if (left != right)
        return fmt::format("rank {} lane {} step {}\n  A  {}\n  B  {}\n", rank, lane, i, left, right);
    }
  }
  return "";
}

std::string step_rows(rondo_plan_t a, rondo_plan_t b) {
  const int ranks = std::min(info_of(a).ranks, info_of(b).ranks);
  std::string text;
  size_t rows = 0;
  for (int rank = 0; rank != ranks; ++rank) {
    const std::string found = step_row(a, b, rank);
    if (!found.empty() && rows++ < kMaxRows) text += found;
  }
  if (rows > kMaxRows) text += fmt::format("and {} more ranks\n", rows - kMaxRows);
  return text.empty() ? "" : "first step that differs, by rank:\n" + text;
}

}  // namespace

std::string difference_table(const ComparedPlan& a, const ComparedPlan& b, const PlanOptions& options,
                             rondo_topology_t machine) {
  Figures left = figures_of(a.plan), right = figures_of(b.plan);
  add_proof(a.plan, left);
  add_proof(b.plan, right);
  VolumeByPair traffic[2];
  for (const double bytes : sizes_of(options)) {
    for (const bool first : {true, false}) {
      const rondo_plan_t plan = first ? a.plan : b.plan;
      const rondo_plan_network_t network = network_of(plan, options, machine, bytes, kTiles);
      const OwnedRun run = run_of(plan, network);
      const rondo_plan_time_t time = time_of(run.get());
      (first ? left : right)
          .rows.emplace_back("time of " + size_text(bytes),
                             fmt::format("{}, {:.1f} GB/s", time_text(time.seconds), time.bandwidth));
      traffic[first ? 0 : 1] = traffic_of(plan, messages_of(run.get()), network.tiles);
    }
  }
  std::string differences;
  std::map<std::string, std::string> of_b(right.rows.begin(), right.rows.end());
  for (const auto& [what, value] : left.rows) {
    const auto other = of_b.find(what);
    const std::string there = other == of_b.end() ? "-" : other->second;
    if (value != there) differences += row(what, value, there);
  }
  differences += pair_rows(traffic[0], traffic[1]) + step_rows(a.plan, b.plan);
  if (differences.empty()) return "no difference\n";
  return row("", "A: " + a.name, "B: " + b.name) + differences;
}

}  // namespace rondo::planner
