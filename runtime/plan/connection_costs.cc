// SPDX-License-Identifier: Apache-2.0
#include "plan/connection_costs.h"

#include <algorithm>
#include <functional>

#include "base/error_kinds.h"
#include "transports/transport.h"

namespace rondo {
namespace {

constexpr size_t kUnknownBytes = size_t{64} * 1024;
constexpr size_t kChunkAlignment = 64;  // bytes

/// Between more hosts, a rank's connections are to grow with their logarithm: each takes memory, and time in
/// the first call that uses it.
constexpr int kManyHosts = 16;

/// The longest chunk. The number of chunks in a slot may differ between ranks; the chunk size may not. 0: a
/// slot cannot hold even one element of each chunk.
size_t chunk_elements(const Algorithm& algorithm, const Shape& shape, size_t unit_bytes, size_t slot_bytes) {
  const size_t elements = slot_bytes / static_cast<size_t>(algorithm.max_count(shape)) / unit_bytes;
  const size_t line = std::max<size_t>(1, kChunkAlignment / unit_bytes);
  return elements > line ? elements - elements % line : elements;
}

/// Whether a rank keeps more connections to other hosts than it needs to, beyond 2 log2 m + 2 between m
/// hosts. Without groups, a scan's only other algorithm takes as many rounds as there are ranks.
bool connects_too_many(const Algorithm& algorithm, const Shape& shape, const LinkModel& links) {
  if (links.hosts <= kManyHosts || algorithm.connects_all) return links.hosts > kManyHosts;
  if (!algorithm.connects_up_and_down || links.nranks == links.hosts) return false;
  return !traits(shape.kind).is_scan() || has_groups(shape);
}

/// Whether all ranks send to all others, by choice.
bool exchanges_all(const Algorithm& algorithm) {
  return algorithm.connects_all && traits(algorithm.kind).is_mutual();
}

/// The slots of all connections among `n` ranks together, as far as messages of that length fill them.
double filled_slot_bytes(const Algorithm& algorithm, double n, double message_bytes) {
  const bool all_pairs = algorithm.kind == CollectiveKind::AllToAll || exchanges_all(algorithm);
  return n * (all_pairs ? n - 1 : 2) * message_bytes * ConnectionParams().slots;
}

/// `filled_bytes`: of all slots.
Times times_over(const LinkCost& link, size_t vector_bytes, int nranks, double filled_bytes) {
  const auto bytes = static_cast<double>(vector_bytes);
  const double cold_bytes = std::max(0.0, bytes - link.cached_bytes / nranks);
  const double evicted = std::max(0.0, 1 - link.slot_cache_bytes / std::max(1.0, filled_bytes));
  return {.latency = link.latency_us,
          .vector = bytes * (link.us_per_byte + evicted * link.us_per_evicted_byte),
          .message = link.us_per_message,
          .fold = bytes * link.us_per_folded_byte,
          .one_way = link.one_way,
          .cold = cold_bytes * link.us_per_cold_byte,
          .runs_ahead = link.runs_ahead};
}

constexpr int kHosts = -1;

/// The work over one kind of link: between groups, or within those of a level.
struct LinkWork {
  int group;  // ranks of a group within which it is; 0: it is between groups, or any ranks; kHosts
  Times times;
  TimeTerms terms;
};

/// Calls `take` with each LinkWork of a call whose chunks can hold an element.
void for_each_link(const Algorithm& algorithm, const Shape& shape, size_t vector_bytes, size_t chunk_bytes,
                   const LinkModel& links, auto&& take) {
  const Chunks chunks = chunks_of(shape, algorithm.parts(shape));
  const size_t tile_bytes = chunk_bytes * static_cast<size_t>(std::max(chunks.input, chunks.output));
  const size_t tiles = std::max<size_t>(1, (vector_bytes + tile_bytes - 1) / tile_bytes);
  const double message_bytes = static_cast<double>(std::min(vector_bytes, tile_bytes)) /
                               static_cast<double>(tile_bytes) * static_cast<double>(chunk_bytes);
  const auto over = [&](const LinkCost& link, const Cost& cost, int ranks, int group) {
    const double filled_bytes = filled_slot_bytes(algorithm, ranks, message_bytes);
    const Times times = times_over(link, vector_bytes, shape.nranks, filled_bytes);
    take(
        LinkWork{group, times, predicted_terms(cost, times, static_cast<double>(tiles), link.ranks_per_cpu)});
  };
  LinkCost farthest = links.cost;
  if (algorithm.has_shares(shape)) farthest.us_per_byte *= links.shares.factor;
  if (exchanges_all(algorithm) && !algorithm.for_groups) farthest.us_per_byte *= links.sharing;
  over(farthest, algorithm.cost(shape), shape.nranks, 0);
  if (!shape.hosts.empty())
    over(links.within_hosts, algorithm.inner_cost(shape, 0), *std::ranges::max_element(shape.hosts), kHosts);
  for (int level = 0; level < shape.levels.count(); ++level)
    over(links.inner_costs[static_cast<size_t>(level)], algorithm.inner_cost(shape, level),
         shape.levels.size(level), shape.levels.size(level));
}

/// Appends what that work consists of, without what takes no time.
void add_parts(const LinkWork& work, double vector_bytes, std::vector<TimePart>& parts) {
  const auto& [group, times, terms] = work;
  const std::string where = group == 0        ? ""
                            : group == kHosts ? " within hosts"
                                              : fmt::format(" within groups of {} ranks", group);
  const auto counted = [&](const char* what, double us, double each_us) {
    if (us > 0)
      parts.push_back({what, fmt::format("{:.4g} x {:.3g} us{}", us / each_us, each_us, where), us * 1e-6});
  };
  const auto moved = [&](const char* what, double us, double of_vector_us) {
    if (us <= 0) return;
    const double bytes = us / of_vector_us * vector_bytes;
    parts.push_back(
        {what, fmt::format("{} at {:.3g} GB/s{}", size_text(bytes), bytes / us / 1e3, where), us * 1e-6});
  };
  counted("rounds", terms.latency, times.latency);
  counted("messages", terms.messages, times.message);
  moved("bytes", terms.vectors, times.vector);
  moved("cache misses", terms.cold, times.cold);
  moved("folds", terms.folds, times.fold);
}

size_t vector_bytes_of(const Call& call, const Shape& shape) {
  return call.vector_bytes(shape.nranks).value_or(kUnknownBytes);
}

std::string text_of(const LinkModel& links, size_t slot_bytes) {
  std::string text =
      fmt::format("{:.3g} us per message, {:.3g} us per byte", links.cost.latency_us, links.cost.us_per_byte);
  if (links.sharing > 1)
    text += fmt::format(" ({:.3g} if all send to all)", links.sharing * links.cost.us_per_byte);
  for (int level = links.levels.count(); level-- > 0;) {
    const LinkCost& inner = links.inner_costs[static_cast<size_t>(level)];
    text += fmt::format("; within groups of {} ranks {:.3g} and {:.3g}", links.levels.size(level),
                        inner.latency_us, inner.us_per_byte);
  }
  if (const std::string shares = links.shares.text(); !shares.empty()) text += "; " + shares;
  if (!links.has_equal_hosts())
    text += fmt::format("; within hosts {:.3g} and {:.3g}", links.within_hosts.latency_us,
                        links.within_hosts.us_per_byte);
  return text + fmt::format("; slots of {} bytes", slot_bytes);
}

}  // namespace

bool LinkModel::has_equal_hosts() const {
  return std::ranges::adjacent_find(host_sizes, std::not_equal_to()) == host_sizes.end();
}

bool LinkModel::has_consecutive_hosts() const {
  int first = 0;
  for (const int size : host_sizes) {
    for (int at = first; at < first + size; ++at)
      if (order[static_cast<size_t>(at)] < first || order[static_cast<size_t>(at)] >= first + size)
        return false;
    first += size;
  }
  return true;
}

Shape LinkModel::shape(const Call& call) const {
  Shape made = call.shape(nranks);
  made.levels = levels;
  made.order = order;
  if (host_sizes.size() < 2) return made;
  const bool has_blocks = traits(call.kind).has_blocks();
  const bool by_number = made.keeps_rank_order() && !order.empty();
  const bool has_places = has_blocks ? has_equal_hosts() : call.kind != CollectiveKind::Barrier;
  if (has_places && !by_number && shares.serve(call.place.on_gpu)) made.weights = shares.weights;
  if (has_blocks) return made;
  if (by_number ? !has_consecutive_hosts() : has_equal_hosts()) return made;
  if (by_number) made.order = {};
  made.levels = {};
  made.hosts = host_sizes;
  return made;
}

uint64_t mix_plan(uint64_t plan, uint64_t value) {
  plan ^= value + 0x9e3779b97f4a7c15u + (plan << 6) + (plan >> 2);
  return plan * 0xff51afd7ed558ccdu;
}

uint64_t hash_of(const Algorithm& algorithm) {
  if (algorithm.content != 0) return algorithm.content;
  return mix_plan(0, static_cast<uint64_t>(&algorithm - algorithms().data()));
}

Prediction predict_over_connections(const Algorithm& algorithm, const Call& call, const Shape& shape,
                                    const LinkModel& links, size_t slot_bytes) {
  Prediction made;
  if (!algorithm.supports(shape)) return made;
  made.chunk_bytes = chunk_elements(algorithm, shape, call.unit_bytes(), slot_bytes) * call.unit_bytes();
  if (made.chunk_bytes != 0) {
    made.us = 0;
    for_each_link(algorithm, shape, vector_bytes_of(call, shape), made.chunk_bytes, links,
                  [&](const LinkWork& work) { made.us += work.terms.sum(); });
  }
  made.is_last_resort = connects_too_many(algorithm, shape, links);
  if (algorithm.for_shared_memory) made.obstacle = "only if all ranks share memory";
  return made;
}

std::vector<TimePart> parts_over_connections(const Algorithm& algorithm, const Call& call, const Shape& shape,
                                             const LinkModel& links, size_t slot_bytes) {
  std::vector<TimePart> parts;
  const size_t chunk_bytes = predict_over_connections(algorithm, call, shape, links, slot_bytes).chunk_bytes;
  if (chunk_bytes == 0) return parts;
  const size_t bytes = vector_bytes_of(call, shape);
  for_each_link(algorithm, shape, bytes, chunk_bytes, links,
                [&](const LinkWork& work) { add_parts(work, static_cast<double>(bytes), parts); });
  return parts;
}

Executor connections_row(const LinkModel& links, size_t slot_bytes) {
  return {.name = "connections",
          .terms = text_of(links, slot_bytes),
          .predict =
              [links, slot_bytes](const Algorithm& algorithm, const Call& call, const Shape& shape) {
                return predict_over_connections(algorithm, call, shape, links, slot_bytes);
              },
          .parts =
              [links, slot_bytes](const Algorithm& algorithm, const Call& call, const Shape& shape) {
                return parts_over_connections(algorithm, call, shape, links, slot_bytes);
              }};
}

Result<Chunking> cut(const Algorithm& algorithm, const Call& call, const Shape& shape, size_t slot_bytes) {
  const size_t tile_units = chunk_elements(algorithm, shape, call.unit_bytes(), slot_bytes);
  if (tile_units == 0)
    return error(ErrorKind::SlotsTooSmall,
                 "{} by {} moves {} elements of {} bytes at once, and a slot has {} bytes "
                 "(RONDO_SLOT_BYTES)",
                 collective_name(call.kind), algorithm.name, algorithm.max_count(shape), call.type.bytes,
                 slot_bytes);
  uint64_t hash = mix_plan(hash_of(algorithm), tile_units);
  for (int level = 0; algorithm.for_groups && level < shape.levels.count(); ++level)
    hash = mix_plan(hash, static_cast<uint64_t>(shape.levels.size(level)));
  if (algorithm.for_groups)
    for (const int ranks : shape.hosts) hash = mix_plan(hash, static_cast<uint64_t>(ranks));
  if (algorithm.has_shares(shape))
    for (const int weight : shape.weights) hash = mix_plan(hash, static_cast<uint64_t>(weight));
  if (follows_order(algorithm, shape))
    for (const int rank : shape.order) hash = mix_plan(hash, static_cast<uint64_t>(rank));
  return Chunking{tile_units, hash};
}

}  // namespace rondo
