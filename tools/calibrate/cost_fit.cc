// SPDX-License-Identifier: Apache-2.0
#include "calibrate/cost_fit.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "plan/connection_costs.h"
#include "plan/preference.h"
#include "plan/pull_costs.h"

namespace rondo::calibrate {
namespace {

double predicted_us(const CostTable& costs, const MeasuredCell& cell, const MeasuredCandidate& candidate) {
  if (candidate.is_pulled)
    return predicted_pull_us(*candidate.algorithm, cell.call, cell.call.shape(cell.nranks),
                             pull_cost(costs, cell.nranks, std::max(1.0, cell.ranks_per_cpu)));
  const LinkModel links{.nranks = cell.nranks,
                        .cost = cell.transport->cost({.costs = costs,
                                                      .ranks_per_cpu = std::max(1.0, cell.ranks_per_cpu),
                                                      .ranks_of_host = static_cast<size_t>(cell.nranks)})};
  return predict_over_connections(*candidate.algorithm, cell.call, links.shape(cell.call), links,
                                  cell.transport->slot_bytes)
      .us;
}

/// The one that would be chosen.
const MeasuredCandidate& choice(const CostTable& costs, const MeasuredCell& cell) {
  return *std::ranges::min_element(cell.candidates, {}, [&](const MeasuredCandidate& candidate) {
    return std::pair(place_of(executor_of(candidate)), predicted_us(costs, cell, candidate));
  });
}

/// How much longer it takes than the fastest candidate.
double ratio(const MeasuredCandidate& candidate, const MeasuredCell& cell) {
  return candidate.us / std::ranges::min(cell.candidates, {}, &MeasuredCandidate::us).us;
}

/// Lower is better: the mean logarithm of how far predictions are off, each up to a limit, since what a model
/// does not describe must not decide about the rest; and, of greater weight, of how much the choices lose.
double loss(const CostTable& costs, const std::vector<MeasuredCell>& cells) {
  constexpr double kMaxOff = 2;
  constexpr double kWeightOfChoices = 5;
  double off = 0, lost = 0, count = 0;
  for (const MeasuredCell& cell : cells) {
    for (const MeasuredCandidate& candidate : cell.candidates)
      off += std::min(kMaxOff, std::abs(std::log(predicted_us(costs, cell, candidate) / candidate.us)));
    count += static_cast<double>(cell.candidates.size());
    lost += std::log(ratio(choice(costs, cell), cell));
  }
  return off / count + kWeightOfChoices * lost / static_cast<double>(cells.size());
}

/// Grows slowly, so that figures stay that the times say nothing about.
double distance(const CostTable& from, const CostTable& to) {
  double sum = 0;
  for (const HostFigure& figure : host_figures())
    if (figure.of(from) > 0) sum += std::abs(std::log(figure.of(to) / figure.of(from)));
  return 0.005 * sum;
}

/// Changes one figure at a time by ever smaller factors, as long as that helps.
CostTable improved(CostTable costs, const CostTable& begin, const std::vector<MeasuredCell>& cells) {
  const auto rated = [&](const CostTable& tried) { return loss(tried, cells) + distance(begin, tried); };
  double best = rated(costs);
  for (double factor = 4; factor > 1.02;) {
    bool helped = false;
    for (const HostFigure& figure : host_figures())
      for (const double change : {factor, 1 / factor}) {
        CostTable tried = costs;
        figure.of(tried) *= change;
        const double found = rated(tried);
        if (found >= best) continue;
        best = found;
        costs = tried;
        helped = true;
      }
    if (!helped) factor = std::sqrt(factor);
  }
  return costs;
}

/// What would come of some costs.
struct FitQuality {
  double median_error = 0;  // |predicted - measured| / measured of the choices
  double good_share = 0;    // of the choices: within 10% of the fastest candidate
  double mean_ratio = 1;    // of the choices' times to the fastest: geometric mean
  double worst_ratio = 1;
};

FitQuality quality(const CostTable& costs, const std::vector<MeasuredCell>& cells) {
  constexpr double kGood = 1.1;
  FitQuality quality;
  std::vector<double> errors;
  double good = 0, lost = 0;
  for (const MeasuredCell& cell : cells) {
    const MeasuredCandidate& chosen = choice(costs, cell);
    errors.push_back(std::abs(predicted_us(costs, cell, chosen) - chosen.us) / chosen.us);
    const double slower = ratio(chosen, cell);
    good += slower <= kGood ? 1 : 0;
    lost += std::log(slower);
    quality.worst_ratio = std::max(quality.worst_ratio, slower);
  }
  const auto count = static_cast<double>(cells.size());
  quality.median_error = median(std::move(errors));
  quality.good_share = good / count;
  quality.mean_ratio = std::exp(lost / count);
  return quality;
}

}  // namespace

/// Begins with multiples of these costs, and keeps the best result: what improved() finds depends on the
/// beginning.
CostTable fitted(const CostTable& begin, const std::vector<MeasuredCell>& cells) {
  std::vector<CostTable> found;
  for (const double multiple : {0.5, 1.0, 2.0, 4.0}) {
    CostTable start = begin;
    for (const HostFigure& figure : host_figures()) figure.of(start) *= multiple;
    found.push_back(improved(start, begin, cells));
  }
  return std::ranges::min(found, {}, [&](const CostTable& costs) { return loss(costs, cells); });
}

std::string comparison(const CostTable& fitted, const std::vector<MeasuredCell>& cells) {
  const CostTable built_in;
  std::string text;
  for (const auto& [name, costs] : {std::pair("built-in", &built_in), std::pair("measured", &fitted)}) {
    const FitQuality of = quality(*costs, cells);
    text += fmt::format(
        "by {} costs predictions are off by {:.0f}% in the median; {:.0f}% of {} choices are within 10% of "
        "the fastest; the geometric mean takes {:.3f} times as long, the worst {:.2f}\n",
        name, 100 * of.median_error, 100 * of.good_share, cells.size(), of.mean_ratio, of.worst_ratio);
  }
  text += fmt::format("\n{:<34} {:>10} {:>10}\n", "", "built-in", "measured");
  for (const HostFigure& figure : host_figures())
    text += fmt::format("{:<34} {:>10.3g} {:>10.3g}\n", figure.name, figure.of(built_in), figure.of(fitted));
  return text;
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  const size_t middle = values.size() / 2;
  return values.size() % 2 != 0 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

}  // namespace rondo::calibrate
