// SPDX-License-Identifier: Apache-2.0
#include "plan/device_tuning.h"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <map>

#include "base/cost_table.h"
#include "base/error_kinds.h"
#include "base/settings.h"

namespace rondo {
namespace {

using device::Protocol;

constexpr std::array<const char*, 3> kNames{"simple", "ll", "ll128"};  // by Protocol

constexpr int kMaxChannels = 64;

const char* name_of(Protocol protocol) { return kNames[static_cast<size_t>(protocol)]; }

/// Ok if NVLink connects all pairs of GPUs, or they are the same GPU.
Status check_linked(std::span<const PeerGpu> gpus) {
  for (size_t a = 0; a < gpus.size(); ++a)
    for (size_t b = 0; b < gpus.size(); ++b)
      if (!gpus[a].is_linked_to(gpus[b]))
        return error(ErrorKind::ProtocolCannot,
                     "RONDO_PROTOCOL is ll128, and no NVLink joins the GPUs of ranks {} and {}", a, b);
  return {};
}

Status check_forced(Protocol protocol, const ExecutionTerms& terms) {
  if (protocol == Protocol::Simple) return {};
  if (!terms.shares_memory)
    return error(
        ErrorKind::ProtocolCannot,
        "RONDO_PROTOCOL is {}, which goes through memory that all ranks' GPUs share: they have to be on one "
        "host, and no transport may be requested",
        name_of(protocol));
  return protocol == Protocol::LL128 ? check_linked(terms.gpus) : Status();
}

Protocol protocol_for(const Call& call, const ExecutionTerms& terms) {
  if (terms.protocol) return *terms.protocol;
  const auto bytes = call.vector_bytes(static_cast<int>(terms.gpus.size()));
  if (!terms.shares_memory || !bytes) return Protocol::Simple;
  if (*bytes <= bytes_of(Threshold::LLVector)) return Protocol::LL;
  return *bytes <= bytes_of(Threshold::LL128Vector) && check_linked(terms.gpus).ok() ? Protocol::LL128
                                                                                     : Protocol::Simple;
}

/// Ok if no Step of any rank has more peers than a kernel takes: all ranks refuse the call, or none.
Status check_peers(const Algorithm& algorithm, const Shape& shape) {
  for (int rank = 0; shape.nranks > device::kMaxPeers && rank < shape.nranks; ++rank)
    for (const auto& set : algorithm.build(shape, rank).peer_sets)
      if (set.size() > device::kMaxPeers)
        return error(ErrorKind::AlgorithmCannot, "{}: a step of rank {} has {} peers; on GPUs it may have {}",
                     algorithm.name, rank, set.size(), device::kMaxPeers);
  return {};
}

size_t tiles_of(const Algorithm& algorithm, const Call& call, const Shape& shape, const Chunking& cut) {
  return layout_of(call, chunks_of(shape, algorithm.parts(shape)), cut.tile_units).tiles;
}

/// Shortens the messages if the call would otherwise leave channels without work.
Result<Chunking> cut_for(int channels, const Algorithm& algorithm, const Call& call, const Shape& shape,
                         size_t slot_bytes) {
  RONDO_TRY_ASSIGN(Chunking made, cut(algorithm, call, shape, slot_bytes));
  while (slot_bytes / 2 >= bytes_of(Threshold::ChannelMessage) &&
         tiles_of(algorithm, call, shape, made) < static_cast<size_t>(channels)) {
    slot_bytes /= 2;
    RONDO_TRY_ASSIGN(made, cut(algorithm, call, shape, slot_bytes));
  }
  return made;
}

}  // namespace

Result<std::optional<Protocol>> requested_protocol(const char* requested) {
  const auto text = requested != nullptr ? std::optional<std::string>(requested) : setting(Setting::Protocol);
  if (!text) return std::optional<Protocol>();
  const auto found = std::find(kNames.begin(), kNames.end(), *text);
  if (found == kNames.end())
    return error(requested != nullptr ? ErrorKind::ConfigInvalid : ErrorKind::SettingInvalid,
                 "{} is '{}': it must be simple, ll or ll128",
                 requested != nullptr ? "config.protocol" : "RONDO_PROTOCOL", *text);
  return std::optional(static_cast<Protocol>(found - kNames.begin()));
}

Result<int> requested_channels(int requested) {
  if (requested < 0 || requested > kMaxChannels)
    return error(ErrorKind::ConfigInvalid, "config.channels is {}: it must be from 0 to {}", requested,
                 kMaxChannels);
  if (requested != 0) return requested;
  RONDO_TRY_ASSIGN(const int64_t channels, number_setting(Setting::Channels, 1, kMaxChannels, 0));
  return static_cast<int>(channels);
}

void limit_channels(ExecutionTerms& terms, int requested) {
  terms.max_channels = requested != 0 ? requested : value_of(Factor::DeviceChannels);
  terms.max_blocks = requested != 0 ? std::numeric_limits<int>::max() : kMaxPlanLanes;
}

Prediction predict_execution(const Algorithm& algorithm, const Call& call, const Shape& shape,
                             const LinkModel& links, const ExecutionTerms& terms) {
  return predict_over_connections(algorithm, call, shape, links,
                                  message_bytes(protocol_for(call, terms), terms.slot_bytes));
}

/// A GPU's multiprocessor is only guaranteed to run one block at a time, and a channel needs a block for each
/// lane of each rank on that GPU.
Result<int> channels_that_fit(const Algorithm& algorithm, const Shape& shape, const ExecutionTerms& terms) {
  RONDO_TRY(check_peers(algorithm, shape));
  std::map<PeerGpu::Uuid, int> blocks;  // of a channel, by GPU
  int fit = terms.max_channels;
  for (int rank = 0; rank < shape.nranks; ++rank) {
    const auto lanes = static_cast<int>(algorithm.build(shape, rank).lanes.size());
    blocks[terms.gpus[static_cast<size_t>(rank)].uuid] += lanes;
    if (lanes != 0) fit = std::min(fit, std::max(terms.max_blocks / lanes, 1));
  }
  for (size_t rank = 0; rank < terms.gpus.size(); ++rank) {
    const PeerGpu& gpu = terms.gpus[rank];
    const int each = blocks[gpu.uuid];
    if (each > gpu.processors)
      return error(
          ErrorKind::TooManyBlocks,
          "{}: {} blocks have to run at the same time on the GPU of rank {}, which has {} multiprocessors",
          algorithm.name, each, rank, gpu.processors);
    if (each != 0) fit = std::min(fit, gpu.processors / each);
  }
  return fit;
}

Result<Execution> choose_execution(const Algorithm& algorithm, const Call& call, const Shape& shape,
                                   const ExecutionTerms& terms, int fit) {
  if (terms.protocol) RONDO_TRY(check_forced(*terms.protocol, terms));
  Execution chosen{.cut = {}, .protocol = protocol_for(call, terms)};
  const auto slot_bytes = [&] { return message_bytes(chosen.protocol, terms.slot_bytes); };
  RONDO_TRY_ASSIGN(chosen.cut, cut(algorithm, call, shape, slot_bytes()));
  if (!terms.shares_memory) return chosen;
  if (algorithm.max_count(shape) > kMaxLineChunks) chosen.protocol = Protocol::Simple;
  // The choice must not depend on lengths that only some ranks know.
  RONDO_TRY_ASSIGN(chosen.cut, cut_for(call.varying ? 1 : fit, algorithm, call, shape, slot_bytes()));
  const size_t tiles = call.varying ? static_cast<size_t>(fit) : tiles_of(algorithm, call, shape, chosen.cut);
  // A power of two, so that calls share their Programs.
  chosen.channels = static_cast<int>(std::bit_floor(std::min(tiles, static_cast<size_t>(fit))));
  const uint64_t with_protocol = mix_plan(chosen.cut.hash, static_cast<uint64_t>(chosen.protocol));
  chosen.cut.hash = mix_plan(with_protocol, static_cast<uint64_t>(chosen.channels));
  return chosen;
}

size_t message_bytes(Protocol protocol, size_t slot_bytes) {
  switch (protocol) {
    case Protocol::LL: return std::min(slot_bytes, bytes_of(Threshold::LLMessage));
    case Protocol::LL128: return std::min(slot_bytes, bytes_of(Threshold::LL128Message));
    case Protocol::Simple: break;
  }
  return slot_bytes;
}

double sent_bytes_per_byte(Protocol protocol) {
  switch (protocol) {
    case Protocol::LL: return 2;             // 4 bytes of flag for 4 of data
    case Protocol::LL128: return 16.0 / 15;  // 8 for 120
    case Protocol::Simple: break;
  }
  return 1;
}

}  // namespace rondo
