// SPDX-License-Identifier: Apache-2.0
#include "facts.h"

#include <unistd.h>

#include <algorithm>
#include <bit>
#include <span>
#include <utility>

#include "base/byte_codec.h"
#include "base/file_name.h"

namespace rondo {
namespace {

constexpr uint64_t kMark = 0x31'73'61'72'2d'6f'64'72;  // other versions differ
constexpr int32_t kMaxSize = 1 << 24;                  // ranks
constexpr size_t kMaxText = 1000;                      // bytes of a failure

/// Message lengths of the _v forms may differ between ranks.
uint64_t key_of(Signature signature) {
  if (signature.varying != 0) signature.count = 0;
  const auto words = std::bit_cast<std::array<uint64_t, sizeof(Signature) / sizeof(uint64_t)>>(signature);
  uint64_t key = 0;
  for (const uint64_t word : words) key = (std::rotl(key, 23) ^ word) * 0x9e37'79b9'7f4a'7c15;
  return key;
}

void describe_call(const FlightRecorder& recorder, RasRank& rank) {
  rank.latest = recorder.latest();
  const auto call = recorder.record(rank.latest);
  if (!call) return;
  const int64_t now_ns = FlightRecorder::coarse_now_ns();
  const auto age_ms = [&](int64_t at_ns) { return std::max<int64_t>(0, now_ns - at_ns) / 1'000'000; };
  rank.call = describe(call->signature);
  rank.call_key = key_of(call->signature);
  rank.on_gpu = call->signature.on_gpu != 0;
  rank.begun_ms = age_ms(call->began_ns);
  if (call->ended_ns != 0) rank.ended_ms = age_ms(call->ended_ns);
}

RasRank ras_rank(const RecordedComm& comm) {
  const FlightRecorder& recorder = *comm.recorder;
  const Status cause = comm.health->cause();
  const PendingMessages messages = recorder.messages();
  RasRank rank{.session = comm.session,
               .communicator = comm.communicator,
               .session_rank = comm.session_rank,
               .rank = comm.rank,
               .size = comm.size,
               .hosts = comm.hosts,
               .device = comm.device,
               .name = recorder.name(),
               .failure = cause.code(),
               .failure_text = cause.ok() ? "" : cause.text().substr(0, kMaxText),
               .finished = recorder.finished(),
               .inside = recorder.inside(),
               .messages = messages.none() ? "" : describe(messages),
               .calls = recorder.counts().calls};
  if (comm.here) rank.here = *comm.here;
  describe_call(recorder, rank);
  if (rank.inside || !messages.none()) rank.waits_for = recorder.waiting_for();
  return rank;
}

/// Calls go on meanwhile, so what they are sorted by is read once.
std::vector<const RecordedComm*> most_interesting(const std::vector<RecordedComm>& live, size_t max_ranks) {
  std::vector<std::pair<std::pair<bool, int64_t>, const RecordedComm*>> order;
  for (const RecordedComm& comm : live) order.emplace_back(interest_of(comm), &comm);
  std::stable_sort(order.begin(), order.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  if (order.size() > max_ranks) order.resize(max_ranks);
  std::vector<const RecordedComm*> chosen;
  for (const auto& [interest, comm] : order) chosen.push_back(comm);
  return chosen;
}

void write(ByteWriter& writer, const RasRank& rank) {
  writer.put(rank.session).put(rank.communicator).put(rank.session_rank).put(rank.rank).put(rank.size);
  writer.put(rank.hosts).put(rank.device).put_text(rank.name).put(static_cast<uint32_t>(rank.here.size()));
  for (const HereMember& one : rank.here) writer.put<int32_t>(one.rank).put<int32_t>(one.pid);
  writer.put(static_cast<int32_t>(rank.failure)).put_text(rank.failure_text);
  writer.put<uint8_t>(rank.finished).put<uint8_t>(rank.inside).put<uint8_t>(rank.on_gpu);
  writer.put(rank.latest).put_text(rank.call).put(rank.call_key).put(rank.begun_ms).put(rank.ended_ms);
  writer.put(rank.waits_for).put_text(rank.messages).put(rank.calls);
}

std::vector<HereMember> read_here(ByteReader& reader, int32_t size) {
  std::vector<HereMember> here;
  for (auto left = reader.get<uint32_t>(); left != 0 && reader.ok(); --left) {
    const auto rank = reader.get<int32_t>();
    const auto pid = reader.get<int32_t>();
    if (rank < 0 || rank >= size || (!here.empty() && rank <= here.back().rank)) reader.fail();
    here.push_back({rank, pid});
  }
  return here;
}

Code read_code(ByteReader& reader) {
  const auto number = reader.get<int32_t>();
  if (number < 0 || number > static_cast<int32_t>(Code::OutOfMemory)) reader.fail();
  return reader.ok() ? static_cast<Code>(number) : Code::Ok;
}

RasRank read_rank(ByteReader& reader) {
  RasRank rank;
  rank.session = reader.get<uint64_t>();
  rank.communicator = reader.get<uint64_t>();
  rank.session_rank = reader.get<int32_t>();
  rank.rank = reader.get<int32_t>();
  rank.size = reader.get<int32_t>();
  rank.hosts = reader.get<int32_t>();
  if (rank.size < 1 || rank.size > kMaxSize || rank.rank < 0 || rank.rank >= rank.size || rank.hosts < 1 ||
      rank.hosts > rank.size)
    reader.fail();
  rank.device = reader.get<int32_t>();
  rank.name = reader.get_text();
  rank.here = read_here(reader, rank.size);
  rank.failure = read_code(reader);
  rank.failure_text = reader.get_text();
  rank.finished = reader.get<uint8_t>() != 0;
  rank.inside = reader.get<uint8_t>() != 0;
  rank.on_gpu = reader.get<uint8_t>() != 0;
  rank.latest = reader.get<uint32_t>();
  rank.call = reader.get_text();
  rank.call_key = reader.get<uint64_t>();
  rank.begun_ms = reader.get<int64_t>();
  rank.ended_ms = reader.get<int64_t>();
  rank.waits_for = reader.get<int32_t>();
  rank.messages = reader.get_text();
  rank.calls = reader.get<std::array<uint64_t, kCollectives>>();
  return rank;
}

}  // namespace

RasProcess ras_process(const RecordedComms& comms, size_t max_ranks) {
  RasProcess process{.host = host_name(), .pid = ::getpid()};
  for (const RecordedComm* comm : most_interesting(comms.live, max_ranks))
    process.ranks.push_back(ras_rank(*comm));
  process.omitted = static_cast<uint32_t>(comms.live.size() - process.ranks.size());
  return process;
}

std::string ras_bytes(const RasProcess& process) {
  ByteWriter writer;
  writer.put(kMark).put_text(process.host).put(process.pid).put(process.omitted);
  writer.put(static_cast<uint32_t>(process.ranks.size()));
  for (const RasRank& rank : process.ranks) write(writer, rank);
  return {reinterpret_cast<const char*>(writer.bytes().data()), writer.bytes().size()};
}

std::optional<RasProcess> read_ras_bytes(std::string_view bytes) {
  ByteReader reader(std::as_bytes(std::span(bytes)));
  if (reader.get<uint64_t>() != kMark) return std::nullopt;
  RasProcess process;
  process.host = reader.get_text();
  process.pid = reader.get<int32_t>();
  process.omitted = reader.get<uint32_t>();
  for (auto left = reader.get<uint32_t>(); left != 0 && reader.ok(); --left)
    process.ranks.push_back(read_rank(reader));
  if (!reader.ok()) return std::nullopt;
  return process;
}

}  // namespace rondo
