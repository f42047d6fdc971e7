// SPDX-License-Identifier: Apache-2.0
#include "verbs/pair_set.h"

#include <arpa/inet.h>
#include <sys/epoll.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/error_kinds.h"

namespace rondo::verbs {
namespace {

/// What a failed completion means. The peer is at fault, as far as this end knows, unless the request was
/// refused here.
Status failure_of(const ibv_wc& completion, int peer_rank) {
  const char* const words = library().value()->wc_status_str(completion.status);
  switch (completion.status) {
    case IBV_WC_LOC_LEN_ERR:
    case IBV_WC_LOC_QP_OP_ERR:
    case IBV_WC_LOC_PROT_ERR:
    case IBV_WC_LOC_ACCESS_ERR:
    case IBV_WC_FATAL_ERR:
      return error(ErrorKind::QueuePairFailed, "the queue pair to rank {} failed: {} (status {})", peer_rank,
                   words, static_cast<int>(completion.status))
          .as(Code::SystemError);
    default:
      return error(ErrorKind::QueuePairFailed, "the queue pair to rank {} failed: {} (status {})", peer_rank,
                   words, static_cast<int>(completion.status));
  }
}

/// The request itself was right, and may be made again over another path.
bool is_of_path(ibv_wc_status status) {
  switch (status) {
    case IBV_WC_RETRY_EXC_ERR:
    case IBV_WC_WR_FLUSH_ERR:
    case IBV_WC_LOC_QP_OP_ERR:
    case IBV_WC_RESP_TIMEOUT_ERR:
    case IBV_WC_REM_OP_ERR:  // the peer's queue pair may have been ended
    case IBV_WC_FATAL_ERR:
    case IBV_WC_GENERAL_ERR: return true;
    default: return false;
  }
}

}  // namespace

/// A write has one part on a pair at most, which is two writes where the bytes of a message go to a place.
/// For each message there may also be one with credits alone on its way, which gives back another.
QueuePair::Depths PairSet::depths(const RingLayout& layout) {
  const auto messages = static_cast<uint32_t>(layout.max_messages());
  return {.sends = 2 * messages + max_credit_writes(layout) + kMaxNotices,
          .receives = 2 * messages + kMaxNotices};
}

PairSet::PairSet(const RingLayout& layout, int peer_rank, std::vector<PairEnd> ends)
    : peer_rank_(peer_rank),
      ends_(std::move(ends)),
      spent_receives_(ends_.size()),
      sent_(depths(layout).sends),
      arriving_(ends_.size(), depths(layout).receives) {}

Result<std::unique_ptr<PairSet>> PairSet::make(const RingLayout& layout, int peer_rank,
                                               std::vector<PairEnd> ends) {
  auto made = std::unique_ptr<PairSet>(new PairSet(layout, peer_rank, std::move(ends)));
  if (made->ends_.size() > 1) RONDO_TRY(made->watch_all());
  return made;
}

Status PairSet::watch_all() {
  any_ = Fd(::epoll_create1(EPOLL_CLOEXEC));
  if (!any_.valid()) return system_error("epoll_create1", errno);
  for (const PairEnd& end : ends_) {
    epoll_event readable{.events = EPOLLIN, .data = {}};
    if (::epoll_ctl(any_.get(), EPOLL_CTL_ADD, end.pair->descriptor(), &readable) != 0)
      return system_error("epoll_ctl", errno);
  }
  return {};
}

uint32_t PairSet::inline_bytes() const {
  uint32_t least = ends_[0].pair->inline_bytes();
  for (const PairEnd& end : ends_) least = std::min(least, end.pair->inline_bytes());
  return least;
}

void PairSet::add_user_memory(const ExportableMemory& memory) const {
  for (const PairEnd& end : ends_) end.pair->user_regions().add(memory);
}

bool PairSet::has_regions(const std::byte* data, size_t bytes) const {
  return std::all_of(ends_.begin(), ends_.end(), [&](const PairEnd& end) {
    return end.pair->user_regions().find(data, bytes) != nullptr;
  });
}

bool PairSet::find_regions(const std::byte* data, size_t bytes, PairRegions& found) const {
  found.clear();
  for (const PairEnd& end : ends_) {
    auto region = end.pair->user_regions().find(data, bytes);
    if (region == nullptr) {
      found.clear();
      return false;
    }
    found.push_back(std::move(region));
  }
  return true;
}

void PairSet::post(const SlotWrite& write) {
  const uint32_t total = write.slot_bytes + write.bytes;
  const Stripes stripes = Stripes::of(total, ends_.size());
  const uint64_t number = sent_.next_write();
  sent_.add(write.place_keys != nullptr ? 2 * stripes.count : stripes.count, write.kind);
  const Immediate immediate{.given_back = write.given_back,
                            .number = static_cast<uint16_t>(number),
                            .parts = static_cast<uint8_t>(stripes.count),
                            .is_notice = write.kind == WriteKind::Notice};
  for (uint32_t part = 0; part < stripes.count; ++part) {
    const size_t pair = pair_of(number, part, ends_.size());
    const uint32_t from = part * stripes.bytes;
    const uint32_t to = part + 1 == stripes.count ? total : from + stripes.bytes;
    lose(pair, post(write, pair, {from, to}, number, immediate.packed()));
  }
}

/// The completion of the write with immediate says that the one before it on the same pair has landed.
Status PairSet::post(const SlotWrite& write, size_t pair, const Part& part, uint64_t number,
                     uint32_t immediate) const {
  const PairEnd& end = ends_[pair];
  if (write.place_keys == nullptr) {
    QueuePair::Write whole = gather(write, end, pair, part);
    whole.id = number;
    whole.immediate = immediate;
    return end.pair->post(whole);
  }
  const auto header = static_cast<uint32_t>(sizeof(SlotHeader));
  const uint32_t from = std::max(part.from, header);
  std::array<QueuePair::Write, 2> writes{gather(write, end, pair, {from, part.to}),
                                         gather(write, end, pair, {part.from, std::min(part.to, from)})};
  writes[0].to = write.place + from - header;
  writes[0].remote_key = (*write.place_keys)[pair];
  writes[0].id = writes[1].id = number;
  writes[1].immediate = immediate;
  return end.pair->post(writes);
}

QueuePair::Write PairSet::gather(const SlotWrite& write, const PairEnd& end, size_t pair, const Part& part) {
  QueuePair::Write request{.to = end.peer.slots_at + write.offset + part.from, .remote_key = end.peer.key};
  const uint32_t of_slot = std::min(part.to, write.slot_bytes) - std::min(part.from, write.slot_bytes);
  request.pieces[0] = {end.outgoing->at(write.offset + part.from), of_slot, end.outgoing->local_key()};
  if (write.bytes != 0)
    request.pieces[1] = {write.data + (part.from + of_slot - write.slot_bytes), part.bytes() - of_slot,
                         (*write.regions)[pair]->local_key()};
  return request;
}

size_t PairSet::poll() {
  const size_t first = arriving_.next_pair();
  size_t found = 0;
  for (size_t i = 0; i < ends_.size() && found == 0; ++i) found = poll((first + i) % ends_.size());
  return found;
}

size_t PairSet::poll(size_t pair) {
  QueuePair& polled = *ends_[pair].pair;
  const auto found = polled.poll();
  if (!found.ok()) lose(pair, found.status());
  if (!found.ok()) return 0;
  for (const ibv_wc& completion : found.value()) take(pair, completion);
  const uint32_t spent = std::exchange(spent_receives_[pair], 0);
  if (spent != 0 && !failure_) lose(pair, polled.post_receives(spent));
  return found.value().size();
}

/// After a failure all that was outstanding fails too, and says no more.
void PairSet::take(size_t pair, const ibv_wc& completion) {
  if (completion.status != IBV_WC_SUCCESS)
    return lose(pair, failure_of(completion, peer_rank_), is_of_path(completion.status));
  if (completion.wr_id != QueuePair::kReceive) return sent_.complete(completion.wr_id);
  ++spent_receives_[pair];
  if (!failure_ || failure_->is_of_path) take_arrival(pair, completion);
}

void PairSet::take_arrival(size_t pair, const ibv_wc& completion) {
  if (completion.opcode != IBV_WC_RECV_RDMA_WITH_IMM || (completion.wc_flags & IBV_WC_WITH_IMM) == 0)
    return lose(pair,
                error(ErrorKind::MessageBroken, "rank {} sent something else than a write with immediate",
                      peer_rank_),
                false);
  const Immediate said = Immediate::of(ntohl(completion.imm_data));
  lose(pair, arriving_.add(pair, said, completion.byte_len), false);
}

void PairSet::begin_reading_back(const std::byte* at, const PairRegions& regions) {
  for (size_t pair = 0; pair < ends_.size(); ++pair)
    if (ends_[pair].read_back != nullptr) lose(pair, ends_[pair].read_back->begin(at, *regions[pair]));
}

bool PairSet::has_read_back() {
  bool all = true;
  for (size_t pair = 0; pair < ends_.size(); ++pair) {
    if (ends_[pair].read_back == nullptr) continue;
    const auto is_done = ends_[pair].read_back->is_done();
    lose(pair, is_done.status());
    all = all && is_done.ok() && is_done.value();
  }
  return all;
}

void PairSet::arm() {
  for (size_t pair = 0; pair < ends_.size(); ++pair) lose(pair, ends_[pair].pair->arm());
}

/// Asking a device enters the kernel.
void PairSet::check_devices() {
  const Device* asked = nullptr;
  for (size_t pair = 0; pair < ends_.size(); ++pair) {
    Device& device = ends_[pair].pair->device();
    if (std::exchange(asked, &device) == &device || !device.has_failed()) continue;
    lose(pair, error(ErrorKind::VerbsDeviceFailed, "the device {} has failed", device.name()));
  }
}

void PairSet::withdraw() {
  for (const PairEnd& end : ends_) end.pair->end();
  const Deadline deadline = QueuePair::drain_deadline();
  for (size_t pair = 0; pair < ends_.size(); ++pair)
    ends_[pair].pair->drain(deadline, [&](const ibv_wc& completion) {
      if (completion.status == IBV_WC_SUCCESS) take(pair, completion);
    });
  for (PairEnd& end : ends_) {
    end.pair.reset();
    end.read_back.reset();
  }
  for (const PairEnd& end : ends_) {
    end.outgoing->deregister();
    end.incoming->deregister();
  }
}

}  // namespace rondo::verbs
