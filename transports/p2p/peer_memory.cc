// SPDX-License-Identifier: Apache-2.0
#include "transports/peer_memory.h"

#include <optional>
#include <string>
#include <vector>

#include "base/error_kinds.h"
#include "base/handle_exchange.h"
#include "base/log.h"
#include "fifo_map.h"
#include "gpu/device.h"
#include "gpu/memory.h"
#include "gpu/offered_memory.h"
#include "gpu/shared_memory.h"

namespace rondo {
namespace {

/// The terms on which an end offers memory.
struct Proposal {
  uint64_t on_host = 0;
  uint64_t slots = 0;
  uint64_t channels = 0;
  uint64_t slot_bytes = 0;  // of the first kind
  uint64_t map_bytes = 0;
  uint64_t size = 0;  // of the memory offered, in whole allocation units; 0: none could be allocated
};

}  // namespace

class PeerMemory::Ends {
 public:
  Ends(std::unique_ptr<Link> link, Params params)
      : link_(std::move(link)), params_(std::move(params)), map_(params_) {}

  Result<bool> advance() {
    const gpu::OutsideCapture outside;
    while (stage_ != Stage::Connected) {
      RONDO_TRY_ASSIGN(const bool moved, step());
      if (!moved) return false;
    }
    return true;
  }
  FifoLayout outgoing(size_t kind, int channel) const {
    return map_.fifo(own_.data(), peers_.data(), kind, channel);
  }
  FifoLayout incoming(size_t kind, int channel) const {
    return map_.fifo(peers_.data(), own_.data(), kind, channel);
  }

 private:
  enum class Stage { Meet, Propose, HearProposal, HearVerdict, Connected };

  Result<bool> step() {
    switch (stage_) {
      case Stage::Meet: return meet();
      case Stage::Propose: return propose();
      case Stage::HearProposal: return hear_proposal();
      case Stage::HearVerdict: return hear_verdict();
      case Stage::Connected: break;
    }
    return true;
  }

  Result<bool> meet() {
    RONDO_TRY_ASSIGN(Fd socket, link_->dials() ? link_->dial(Route::Unix, 0) : link_->accepted(0));
    if (!socket.valid()) return false;
    exchange_.emplace(std::move(socket), fmt::format("rank {}", link_->peer()));
    stage_ = Stage::Propose;
    return true;
  }

  Result<bool> propose() {
    own_ = {};
    peers_ = {};
    Fd descriptor;
    const Status made = make_own(descriptor);
    objection_ = made.ok() ? "" : made.message();
    std::vector<int> attached;
    if (made.ok()) attached.push_back(descriptor.get());
    RONDO_TRY(exchange_->offer(proposal(own_.bytes()), attached));
    stage_ = Stage::HearProposal;
    return true;
  }

  Proposal proposal(size_t size) const {
    return {.on_host = on_host_ ? 1u : 0u,
            .slots = static_cast<uint64_t>(params_.slots),
            .channels = static_cast<uint64_t>(params_.channels),
            .slot_bytes = params_.kinds.front().slot_bytes,
            .map_bytes = map_.bytes(),
            .size = size};
  }

  /// Allocates zeroed memory; the peer writes to it only after the proposal.
  Status make_own(Fd& descriptor) {
    RONDO_TRY_ASSIGN(gpu::OfferedMemory::Made made,
                     gpu::OfferedMemory::make(on_host_, params_.device, map_.bytes()));
    if (!on_host_) RONDO_TRY(gpu::clear(params_.device, made.memory.data(), map_.bytes()));
    own_ = std::move(made.memory);
    descriptor = std::move(made.descriptor);
    return {};
  }

  Result<bool> hear_proposal() {
    Proposal theirs;
    RONDO_TRY_ASSIGN(const auto attached, exchange_->hear_offer(theirs));
    if (!attached) return false;
    RONDO_TRY(compare(theirs));
    if (attached->size() != (theirs.size == 0 ? 0u : 1u))
      return Status(ErrorKind::SharingFailed, "the peer announced memory but passed none");
    const Status opened = theirs.size == 0 ? Status() : open(attached->front(), theirs.size);
    if (objection_.empty() && !opened.ok()) objection_ = opened.message();
    RONDO_TRY(exchange_->judge(objection_));
    stage_ = Stage::HearVerdict;
    return true;
  }

  Status compare(const Proposal& theirs) const {
    const Proposal own = proposal(own_.bytes());
    if (theirs.on_host == own.on_host && theirs.slots == own.slots && theirs.channels == own.channels &&
        theirs.slot_bytes == own.slot_bytes && theirs.map_bytes == own.map_bytes)
      return {};
    return error(
        ErrorKind::SettingsDiffer,
        "connections between GPUs differ: {} times {} slots of {} bytes at this end, {} times {} of {} "
        "bytes at the other; RONDO_SLOTS, RONDO_SLOT_BYTES and RONDO_CHANNELS must be the same",
        own.channels, own.slots, own.slot_bytes, theirs.channels, theirs.slots, theirs.slot_bytes);
  }

  Status open(const Fd& descriptor, size_t size) {
    RONDO_TRY_ASSIGN(peers_,
                     gpu::OfferedMemory::open(on_host_, params_.device, descriptor, size, map_.bytes()));
    return {};
  }

  Result<bool> hear_verdict() {
    RONDO_TRY_ASSIGN(const auto theirs, exchange_->hear_verdict());
    if (!theirs) return false;
    if (objection_.empty() && theirs->empty()) {
      exchange_.reset();
      stage_ = Stage::Connected;
      return true;
    }
    const std::string& why = objection_.empty() ? *theirs : objection_;
    if (on_host_)
      return error(ErrorKind::GpuMemoryNotShared, "no memory can be shared between the two GPUs: {}", why);
    log().info("ranks {} and {}: data between their GPUs goes through memory of the host: {}", link_->self(),
               link_->peer(), why);
    on_host_ = true;
    stage_ = Stage::Propose;
    return true;
  }

  std::unique_ptr<Link> link_;
  Params params_;
  FifoMap map_;
  Stage stage_ = Stage::Meet;
  bool on_host_ = false;                    // the second attempt
  std::optional<HandleExchange> exchange_;  // until connected
  std::string objection_;                   // why this end cannot use the memory; "": it can
  gpu::OfferedMemory own_;
  gpu::OfferedMemory peers_;
};

PeerMemory::PeerMemory(std::unique_ptr<Link> link, Params params)
    : ends_(new Ends(std::move(link), std::move(params))) {}
PeerMemory::~PeerMemory() = default;
PeerMemory::PeerMemory(PeerMemory&&) noexcept = default;

Result<bool> PeerMemory::advance() { return ends_->advance(); }
FifoLayout PeerMemory::outgoing(size_t kind, int channel) const { return ends_->outgoing(kind, channel); }
FifoLayout PeerMemory::incoming(size_t kind, int channel) const { return ends_->incoming(kind, channel); }

}  // namespace rondo
