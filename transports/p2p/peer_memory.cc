// SPDX-License-Identifier: Apache-2.0
#include "transports/peer_memory.h"

#include <cstring>
#include <string>

#include "base/log.h"
#include "base/shared_segment.h"
#include "fifo_map.h"
#include "gpu/device.h"
#include "gpu/memory.h"
#include "gpu/shared_memory.h"

namespace rondo {
namespace {

constexpr uint32_t kMagic = 0x70327052;  // "Rp2p"

struct Proposal {
  uint32_t magic = kMagic;
  uint32_t on_host = 0;
  uint64_t slots = 0;
  uint64_t channels = 0;
  uint64_t slot_bytes = 0;  // of the first kind
  uint64_t map_bytes = 0;
  uint64_t size = 0;  // of the memory offered, in whole allocation units; 0: none could be allocated
};

struct PeerVerdict {
  uint32_t magic = kMagic;
  uint32_t can = 0;
  char objection[240] = "";
};

template <class T>
std::span<std::byte> bytes_of(T& message) {
  return std::as_writable_bytes(std::span(&message, 1));
}

/// The peer's message and its attached descriptors; nothing if it has not arrived.
template <class T>
Result<std::optional<std::vector<Fd>>> receive(const Fd& socket, T& message) {
  RONDO_TRY_ASSIGN(auto arrived, receive_descriptors(socket, bytes_of(message)));
  if (!arrived) return std::optional<std::vector<Fd>>();
  if (arrived->bytes != sizeof message || message.magic != kMagic)
    return Status(Code::RemoteError, "the peer left while memory was shared between GPUs");
  return std::optional(std::move(arrived->attached));
}

/// Memory of one end, in this GPU's address space, and the owner of its mapping.
struct GivenMemory {
  std::byte* data = nullptr;
  gpu::SharedMemory on_device;
  SharedSegment on_host;
  gpu::HostWindow window;  // onto on_host
};

Status show(GivenMemory& given, SharedSegment segment, int device) {
  given.on_host = std::move(segment);
  RONDO_TRY_ASSIGN(given.window, gpu::HostWindow::open(device, given.on_host.data(), given.on_host.bytes()));
  given.data = given.window.data();
  return {};
}

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
    return map_.fifo(own_.data, peers_.data, kind, channel);
  }
  FifoLayout incoming(size_t kind, int channel) const {
    return map_.fifo(peers_.data, own_.data, kind, channel);
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
    if (link_->dials()) {
      RONDO_TRY_ASSIGN(socket_, link_->dial(Route::Unix, 0));
    } else {
      RONDO_TRY_ASSIGN(socket_, link_->accepted(0));
    }
    if (socket_.valid()) stage_ = Stage::Propose;
    return socket_.valid();
  }

  Result<bool> propose() {
    own_ = GivenMemory();
    peers_ = GivenMemory();
    Fd descriptor;
    const Status made = make_own(descriptor);
    objection_ = made.ok() ? "" : made.message();
    const Proposal own = proposal(descriptor.valid());
    std::vector<int> attached;
    if (descriptor.valid()) attached.push_back(descriptor.get());
    RONDO_TRY(send_descriptors(socket_, std::as_bytes(std::span(&own, 1)), attached));
    stage_ = Stage::HearProposal;
    return true;
  }

  Proposal proposal(bool gives) const {
    return {.on_host = on_host_ ? 1u : 0u,
            .slots = static_cast<uint64_t>(params_.slots),
            .channels = static_cast<uint64_t>(params_.channels),
            .slot_bytes = params_.kinds.front().slot_bytes,
            .map_bytes = map_.bytes(),
            .size = !gives     ? 0
                    : on_host_ ? map_.bytes()
                               : own_.on_device.bytes()};
  }

  /// Allocates zeroed memory; the peer writes to it only after the proposal.
  Status make_own(Fd& descriptor) {
    if (on_host_) {
      RONDO_TRY_ASSIGN(SharedSegment::Made made, SharedSegment::make(map_.bytes()));
      RONDO_TRY(show(own_, std::move(made.segment), params_.device));
      descriptor = std::move(made.memfd);
      return {};
    }
    RONDO_TRY_ASSIGN(own_.on_device, gpu::SharedMemory::create(params_.device, map_.bytes()));
    own_.data = own_.on_device.data();
    RONDO_TRY(gpu::clear(params_.device, own_.data, map_.bytes()));
    RONDO_TRY_ASSIGN(descriptor, own_.on_device.exported());
    return {};
  }

  Result<bool> hear_proposal() {
    Proposal theirs;
    RONDO_TRY_ASSIGN(auto attached, receive(socket_, theirs));
    if (!attached) return false;
    RONDO_TRY(compare(theirs));
    if (attached->size() != (theirs.size == 0 ? 0u : 1u))
      return Status(Code::RemoteError, "the peer announced memory but passed none");
    const Status opened = theirs.size == 0 ? Status() : open(attached->front(), theirs.size);
    if (objection_.empty() && !opened.ok()) objection_ = opened.message();
    PeerVerdict own{.can = objection_.empty() ? 1u : 0u};
    std::strncpy(own.objection, objection_.c_str(), sizeof own.objection - 1);
    RONDO_TRY(send_descriptors(socket_, bytes_of(own), {}));
    stage_ = Stage::HearVerdict;
    return true;
  }

  Status compare(const Proposal& theirs) const {
    const Proposal own = proposal(true);
    if (theirs.on_host == own.on_host && theirs.slots == own.slots && theirs.channels == own.channels &&
        theirs.slot_bytes == own.slot_bytes && theirs.map_bytes == own.map_bytes)
      return {};
    return error(Code::Mismatch,
                 "connections between GPUs differ: {} slots of {} bytes in {} channels at this end, {} of {} "
                 "bytes in {} "
                 "channels at the other; RONDO_SLOTS, RONDO_SLOT_BYTES and RONDO_CHANNELS must be the same",
                 own.slots, own.slot_bytes, own.channels, theirs.slots, theirs.slot_bytes, theirs.channels);
  }

  Status open(const Fd& descriptor, size_t size) {
    if (on_host_) {
      RONDO_TRY_ASSIGN(SharedSegment segment, SharedSegment::map(descriptor, map_.bytes()));
      return show(peers_, std::move(segment), params_.device);
    }
    RONDO_TRY_ASSIGN(peers_.on_device, gpu::SharedMemory::open(descriptor, size, params_.device));
    peers_.data = peers_.on_device.data();
    return {};
  }

  Result<bool> hear_verdict() {
    PeerVerdict theirs;
    RONDO_TRY_ASSIGN(const auto arrived, receive(socket_, theirs));
    if (!arrived) return false;
    theirs.objection[sizeof theirs.objection - 1] = 0;
    if (objection_.empty() && theirs.can != 0) {
      socket_.close();
      stage_ = Stage::Connected;
      return true;
    }
    const std::string why = objection_.empty() ? theirs.objection : objection_;
    if (on_host_) return error(Code::Unsupported, "no memory can be shared between the two GPUs: {}", why);
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
  bool on_host_ = false;  // the second attempt
  Fd socket_;
  std::string objection_;  // why this end cannot use the memory; "": it can
  GivenMemory own_;
  GivenMemory peers_;
};

PeerMemory::PeerMemory(std::unique_ptr<Link> link, Params params)
    : ends_(new Ends(std::move(link), std::move(params))) {}
PeerMemory::~PeerMemory() = default;
PeerMemory::PeerMemory(PeerMemory&&) noexcept = default;

Result<bool> PeerMemory::advance() { return ends_->advance(); }
FifoLayout PeerMemory::outgoing(size_t kind, int channel) const { return ends_->outgoing(kind, channel); }
FifoLayout PeerMemory::incoming(size_t kind, int channel) const { return ends_->incoming(kind, channel); }

}  // namespace rondo
