// SPDX-License-Identifier: Apache-2.0
#include "link_weights.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

namespace rondo {
namespace {

template <typename... Args>
Status bad_route(fmt::format_string<Args...> format, Args&&... args) {
  return error(Code::InternalError, format, std::forward<Args>(args)...);
}

/// Whether a + b fits; if so, it is added.
bool add_to(Rational& sum, const Rational& value) {
  const int64_t common = std::gcd(sum.denominator(), value.denominator());
  const auto result = Rational::of(WideInteger{sum.numerator()} * (value.denominator() / common) +
                                       WideInteger{value.numerator()} * (sum.denominator() / common),
                                   WideInteger{sum.denominator()} * (value.denominator() / common));
  sum = result.value_or(sum);
  return result.has_value();
}

}  // namespace

Status LinkWeights::add(const GpuRoute& route, int start, int end, ThroughGpus through_gpus) {
  if (route.weight < 1) return bad_route("a route of weight {}", route.weight);
  Shares at{{start, 1}};
  for (const Hop& hop : route.hops) {
    if (&hop != &route.hops.front() && through_gpus == ThroughGpus::No && passes_gpu(at))
      return bad_route("it leads through a GPU");
    RONDO_TRY_ASSIGN(at, follow(route, hop, at));
  }
  if (at != Shares{{end, 1}}) return bad_route("it ends elsewhere");
  return {};
}

/// The shares of the nodes that the hop leads to.
Result<LinkWeights::Shares> LinkWeights::follow(const GpuRoute& route, const Hop& hop, const Shares& at) {
  WideInteger all = 0;
  for (const LinkShare& part : hop) all += part.share;
  Shares leaving, arriving;
  for (const auto& [link, share] : hop) {
    if (link < 0 || static_cast<size_t>(link) >= weights_.size() || share < 1)
      return bad_route("share {} of link {}", share, link);
    const auto part = Rational::of(share, all);
    const auto weight = Rational::of(WideInteger{route.weight} * share, all);
    if (!part || !weight || !add_to(leaving[graph_.link(link).from], *part) ||
        !add_to(arriving[graph_.link(link).to], *part) ||
        !add_to(weights_[static_cast<size_t>(link)], *weight))
      return bad_route("the shares of link {} do not add up exactly", link);
  }
  if (leaving != at) return bad_route("hops do not follow one another");
  return arriving;
}

bool LinkWeights::passes_gpu(const Shares& at) const {
  return std::ranges::any_of(
      at, [this](const auto& share) { return graph_.node(share.first).kind == NodeKind::Gpu; });
}

Result<BusiestLinks> LinkWeights::busiest() const {
  BusiestLinks busiest;
  for (size_t link = 0; link != weights_.size(); ++link) {
    const Rational& weight = weights_[link];
    const auto time =
        Rational::of(weight.numerator(), WideInteger{weight.denominator()} * graph_.links()[link].kBps);
    if (!time) return bad_route("the time of link {} is no fraction of 64 bits", link);
    if (weight.numerator() == 0 || *time < busiest.scale) continue;
    if (busiest.scale < *time) busiest.links.clear();
    busiest.scale = *time;
    busiest.links.push_back(static_cast<int>(link));
  }
  return busiest;
}

}  // namespace rondo
