#include "comm/execution.h"

#include <algorithm>
#include <array>
#include <bit>
#include <map>

#include "base/settings.h"
#include "comm/device_links.h"

namespace rondo {
namespace {

using device::Protocol;

constexpr std::array<const char*, 3> kNames{"simple", "ll", "ll128"};  // by Protocol

constexpr int kChannels = 8;
constexpr int kMostChannels = 64;

// What a call moves at most by each of the protocols of lines. LL spends half of its bytes on flags, and wins
// where time is latency; LL128 a sixteenth. The orders of magnitude are those of other libraries on NVLink.
constexpr size_t kMostLLBytes = size_t{64} << 10;
constexpr size_t kMostLL128Bytes = size_t{4} << 20;

/// Chunks are not made shorter than this to give every channel some.
constexpr size_t kLeastMessageBytes = size_t{4} << 10;

const char* name_of(Protocol protocol) { return kNames[static_cast<size_t>(protocol)]; }

/// Ok where all GPUs are joined by NVLink, or are the same.
Status check_linked(std::span<const MemberDevice> gpus) {
  for (size_t a = 0; a < gpus.size(); ++a)
    for (size_t b = 0; b < gpus.size(); ++b)
      if (!gpus[a].is_linked_to(gpus[b]))
        return error(Code::Unsupported,
                     "RONDO_PROTOCOL is ll128, and no NVLink joins the GPUs of ranks {} and {}", a, b);
  return {};
}

Status check_forced(Protocol protocol, const ExecutionTerms& terms) {
  if (protocol == Protocol::Simple) return {};
  if (!terms.shares_memory)
    return error(
        Code::Unsupported,
        "RONDO_PROTOCOL is {}, which goes through memory that all ranks' GPUs share: they have to be on one "
        "host, and no transport may be asked for",
        name_of(protocol));
  return protocol == Protocol::LL128 ? check_linked(terms.gpus) : Status();
}

Protocol protocol_for(const Call& call, const ExecutionTerms& terms) {
  if (terms.protocol) return *terms.protocol;
  const auto bytes = call.vector_bytes(static_cast<int>(terms.gpus.size()));
  if (!terms.shares_memory || !bytes) return Protocol::Simple;
  if (*bytes <= kMostLLBytes) return Protocol::LL;
  return *bytes <= kMostLL128Bytes && check_linked(terms.gpus).ok() ? Protocol::LL128 : Protocol::Simple;
}

/// A processor of a GPU surely runs one block at a time, and a channel has one for each lane of each rank
/// there.
int channels_that_fit(const Algorithm& algorithm, const Shape& shape, const ExecutionTerms& terms) {
  std::map<MemberDevice::Uuid, int> blocks;  // of a channel, by GPU
  int fit = terms.most_channels;
  for (int rank = 0; rank < shape.nranks; ++rank)
    blocks[terms.gpus[static_cast<size_t>(rank)].uuid] +=
        static_cast<int>(algorithm.build(shape, rank).lanes.size());
  for (const MemberDevice& gpu : terms.gpus)
    if (const int each = blocks[gpu.uuid]; each != 0) fit = std::min(fit, gpu.processors / each);
  return std::max(fit, 1);
}

size_t tiles_of(const Call& call, const Shape& shape, const Decision& decision) {
  return layout_of(call, chunks_of(shape, decision.algorithm->parts(shape)), decision.tile_units).tiles;
}

/// Shorter messages where the call would otherwise leave channels without any.
Result<Decision> cut_for(int channels, const Algorithm& algorithm, const Call& call, const Shape& shape,
                         size_t slot_bytes) {
  RONDO_TRY_ASSIGN(Decision decision, cut(algorithm, call, shape, slot_bytes));
  while (slot_bytes / 2 >= kLeastMessageBytes &&
         tiles_of(call, shape, decision) < static_cast<size_t>(channels)) {
    slot_bytes /= 2;
    RONDO_TRY_ASSIGN(decision, cut(algorithm, call, shape, slot_bytes));
  }
  return decision;
}

}  // namespace

Result<std::optional<Protocol>> wished_protocol(const char* wish) {
  const auto text = wish != nullptr ? std::optional<std::string>(wish) : setting(Setting::Protocol);
  if (!text) return std::optional<Protocol>();
  const auto found = std::find(kNames.begin(), kNames.end(), *text);
  if (found == kNames.end())
    return error(Code::InvalidArgument, "{} is '{}': it must be simple, ll or ll128",
                 wish != nullptr ? "config.protocol" : "RONDO_PROTOCOL", *text);
  return std::optional(static_cast<Protocol>(found - kNames.begin()));
}

Result<int> wished_channels(int wish) {
  if (wish < 0 || wish > kMostChannels)
    return error(Code::InvalidArgument, "config.channels is {}: it must be from 0 to {}", wish,
                 kMostChannels);
  if (wish != 0) return wish;
  RONDO_TRY_ASSIGN(const int64_t channels, number_setting(Setting::Channels, 1, kMostChannels, kChannels));
  return static_cast<int>(channels);
}

Result<Execution> choose_execution(const Selector& selector, const Call& call, const Links& links,
                                   const ExecutionTerms& terms) {
  const Shape shape = call.shape(links.nranks, links.group);
  if (terms.protocol) RONDO_TRY(check_forced(*terms.protocol, terms));
  Execution chosen{.decision = {}, .protocol = protocol_for(call, terms)};
  const auto slot_bytes = [&] { return message_bytes(chosen.protocol, terms.slot_bytes); };
  RONDO_TRY_ASSIGN(chosen.decision, selector.select(call, links, slot_bytes(), {}));
  if (!terms.shares_memory) return chosen;
  const Algorithm& algorithm = *chosen.decision.algorithm;
  if (algorithm.most_count(shape) > kMostLineChunks) chosen.protocol = Protocol::Simple;
  const int fit = channels_that_fit(algorithm, shape, terms);
  // Lengths that only some ranks know must not matter.
  RONDO_TRY_ASSIGN(chosen.decision, cut_for(call.varying ? 1 : fit, algorithm, call, shape, slot_bytes()));
  const size_t tiles = call.varying ? static_cast<size_t>(fit) : tiles_of(call, shape, chosen.decision);
  // A power of two, so that calls share their Programs.
  chosen.channels = static_cast<int>(std::bit_floor(std::min(tiles, static_cast<size_t>(fit))));
  const uint64_t with_protocol = mix_plan(chosen.decision.plan, static_cast<uint64_t>(chosen.protocol));
  chosen.decision.plan = selector.marked(mix_plan(with_protocol, static_cast<uint64_t>(chosen.channels)));
  return chosen;
}

}  // namespace rondo
