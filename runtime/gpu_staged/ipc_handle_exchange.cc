// SPDX-License-Identifier: Apache-2.0
#include "ipc_handle_exchange.h"

#include <algorithm>
#include <cstring>

#include "base/log.h"
#include "bootstrap/membership.h"
#include "gpu/device.h"

namespace rondo {
namespace {

constexpr auto kStagingPort = static_cast<uint32_t>(Port::Staging);
constexpr uint32_t kOfferMagic = 0x67747352;  // "Rstg"

/// Bytes of the words and the window table that follows them.
size_t words_bytes(int nranks) { return WordTable::bytes(nranks) + WindowTable::bytes(nranks); }

template <class T>
std::span<const std::byte> bytes_of(const T& message) {
  return std::as_bytes(std::span(&message, 1));
}

}  // namespace

struct IpcHandleExchange::Offer {
  uint32_t magic = kOfferMagic;
  uint32_t on_host = 0;
  uint64_t staging_bytes = 0;  // as configured
  uint64_t size = 0;           // of the attached memory; 0: none
};

struct IpcHandleExchange::Verdict {
  uint32_t magic = kOfferMagic;
  uint32_t can = 0;
  char objection[240] = "";
};

Progress IpcHandleExchange::advance() {
  const gpu::OutsideCapture outside;
  const auto moved = step();
  if (!moved.ok()) {
    failure_ = moved.status();
    sockets_.clear();
    return Progress::Failed;
  }
  if (!moved.value()) return Progress::Stuck;
  return sockets_.empty() ? Progress::Done : Progress::Moved;
}

Result<bool> IpcHandleExchange::step() {
  switch (stage_) {
    case ExchangeStage::Offer: {
      RONDO_TRY_ASSIGN(const bool all_there, find_sockets());
      if (!all_there) return false;
      RONDO_TRY(offer());
      stage_ = ExchangeStage::HearOffers;
      return true;
    }
    case ExchangeStage::HearOffers: {
      RONDO_TRY_ASSIGN(const bool all_there, hear_offers());
      if (!all_there) return false;
      RONDO_TRY(judge());
      stage_ = ExchangeStage::HearVerdicts;
      return true;
    }
    case ExchangeStage::HearVerdicts: {
      RONDO_TRY_ASSIGN(const bool all_there, hear_verdicts());
      if (!all_there) return false;
      return conclude();
    }
  }
  return false;
}

int IpcHandleExchange::blocked_on() const {
  const bool meeting = stage_ == ExchangeStage::Offer;
  for (int rank = 0; rank < size(); ++rank)
    if (rank != self() && !(meeting ? sockets_.contains(rank) : heard_.contains(rank))) return rank;
  return -1;
}

/// In each pair, the higher rank dials.
Result<bool> IpcHandleExchange::find_sockets() {
  for (int rank = 0; rank < size(); ++rank) {
    if (rank == self() || sockets_.contains(rank)) continue;
    ConnectRequest purpose{
        .kind = ConnectKind::Data, .communicator = membership_->id(), .port = kStagingPort};
    Fd fd;
    if (rank < self()) {
      RONDO_TRY_ASSIGN(fd, membership_->session()->dial(membership_->session_rank(rank), Route::Unix, purpose,
                                                        Deadline::in_ms(membership_->timeout_ms()),
                                                        [this] { return membership_->cause(); }));
    } else {
      purpose.from_rank = membership_->session_rank(rank);
      fd = membership_->session()->arrived(purpose);
    }
    if (fd.valid()) sockets_[rank] = std::move(fd);
  }
  return static_cast<int>(sockets_.size()) + 1 == size();
}

/// Keeps the segment and maps its first `reached_bytes` for the device. `rank`: the owner if it is staging,
/// else -1.
void IpcHandleExchange::keep(int rank, SharedSegment segment, size_t reached_bytes) {
  auto window = gpu::HostWindow::open(membership_->device(), segment.data(), reached_bytes);
  if (!window.ok()) {
    objection_ = window.status().message();
    return;
  }
  if (rank >= 0) made_->staging[static_cast<size_t>(rank)] = window.value().data();
  made_->windows.push_back(window.take());
  made_->host_memory.push_back(std::move(segment));
}

void IpcHandleExchange::keep_words(SharedSegment segment) {
  const size_t bytes = WordTable::bytes(size());
  made_->host_words = WordTable(segment.data(), size());
  made_->window_table = WindowTable(segment.data() + bytes, size());
  keep(-1, std::move(segment), bytes);
  if (objection_.empty()) made_->words = WordTable(made_->windows.back().data(), size());
}

Status IpcHandleExchange::make_staging() {
  const size_t bytes = made_->geometry.bytes();
  if (on_host_) {
    RONDO_TRY_ASSIGN(SharedSegment::Made made, SharedSegment::make(bytes));
    staging_fd_ = std::move(made.memfd);
    staging_size_ = bytes;
    keep(self(), std::move(made.segment), bytes);
    return {};
  }
  RONDO_TRY_ASSIGN(gpu::SharedMemory memory, gpu::SharedMemory::create(membership_->device(), bytes));
  RONDO_TRY_ASSIGN(staging_fd_, memory.exported());
  staging_size_ = memory.bytes();
  made_->staging[static_cast<size_t>(self())] = memory.data();
  made_->device_memory.push_back(std::move(memory));
  return {};
}

/// Rank 0 makes the words of all ranks.
Status IpcHandleExchange::make_words() {
  if (self() != 0) return {};
  RONDO_TRY_ASSIGN(SharedSegment::Made made, SharedSegment::make(words_bytes(size())));
  words_fd_ = std::move(made.memfd);
  keep_words(std::move(made.segment));
  return {};
}

Status IpcHandleExchange::make_own() {
  made_ = std::make_unique<PeerMappings>();
  made_->geometry = StagingGeometry(size(), staging_bytes_);
  made_->on_host = on_host_;
  made_->staging.resize(static_cast<size_t>(size()));
  staging_size_ = 0;
  objection_.clear();
  RONDO_TRY(make_words());
  const Status staged = make_staging();
  if (!staged.ok()) objection_ = staged.message();
  return {};
}

Status IpcHandleExchange::offer() {
  RONDO_TRY(make_own());
  heard_.clear();
  const Offer own{.on_host = on_host_ ? 1u : 0u, .staging_bytes = staging_bytes_, .size = staging_size_};
  std::vector<int> descriptors;
  if (words_fd_.valid()) descriptors.push_back(words_fd_.get());
  if (staging_size_ != 0) descriptors.push_back(staging_fd_.get());
  for (const auto& [rank, socket] : sockets_) RONDO_TRY(send_descriptors(socket, bytes_of(own), descriptors));
  return {};
}

Result<bool> IpcHandleExchange::hear_offers() {
  for (const auto& [rank, socket] : sockets_) {
    if (heard_.contains(rank)) continue;
    Offer offer;
    RONDO_TRY_ASSIGN(auto arrived, receive_descriptors(socket, std::as_writable_bytes(std::span(&offer, 1))));
    if (!arrived) continue;
    if (arrived->bytes != sizeof offer || offer.magic != kOfferMagic)
      return error(Code::RemoteError, "{} left while GPU memory was shared", membership_->peer(rank).text());
    RONDO_TRY(believe(rank, offer, std::move(arrived->attached)));
    heard_[rank] = "";
  }
  return all_heard();
}

Status IpcHandleExchange::believe(int rank, const Offer& offer, std::vector<Fd> attached) {
  if (offer.staging_bytes != staging_bytes_)
    return error(Code::Mismatch, "RONDO_STAGING_BYTES is {} at {}, but {} at {}; it must be the same",
                 offer.staging_bytes, membership_->peer(rank).text(), staging_bytes_,
                 membership_->peer(self()).text());
  const size_t expected = (rank == 0 ? 1 : 0) + (offer.size != 0 ? 1 : 0);
  if (attached.size() != expected)
    return error(Code::RemoteError, "{} shared {} descriptors of memory instead of {}",
                 membership_->peer(rank).text(), attached.size(), expected);
  if (rank == 0) {
    RONDO_TRY_ASSIGN(SharedSegment words, SharedSegment::map(attached.front(), words_bytes(size())));
    keep_words(std::move(words));
  }
  if (offer.size == 0) return {};
  if (on_host_) {
    RONDO_TRY_ASSIGN(SharedSegment staging, SharedSegment::map(attached.back(), made_->geometry.bytes()));
    keep(rank, std::move(staging), made_->geometry.bytes());
    return {};
  }
  auto opened = gpu::SharedMemory::open(attached.back(), offer.size, membership_->device());
  if (!opened.ok()) {
    objection_ = fmt::format("its GPU cannot reach that of {}: {}", membership_->peer(rank).text(),
                             opened.status().message());
    return {};
  }
  made_->staging[static_cast<size_t>(rank)] = opened.value().data();
  made_->device_memory.push_back(opened.take());
  return {};
}

Status IpcHandleExchange::judge() {
  heard_.clear();
  staging_fd_.close();
  words_fd_.close();
  Verdict own{.can = objection_.empty() ? 1u : 0u};
  std::strncpy(own.objection, objection_.c_str(), sizeof own.objection - 1);
  for (const auto& [rank, socket] : sockets_) RONDO_TRY(send_descriptors(socket, bytes_of(own), {}));
  return {};
}

Result<bool> IpcHandleExchange::hear_verdicts() {
  for (const auto& [rank, socket] : sockets_) {
    if (heard_.contains(rank)) continue;
    Verdict verdict;
    RONDO_TRY_ASSIGN(auto arrived,
                     receive_descriptors(socket, std::as_writable_bytes(std::span(&verdict, 1))));
    if (!arrived) continue;
    if (arrived->bytes != sizeof verdict || verdict.magic != kOfferMagic)
      return error(Code::RemoteError, "{} left while GPU memory was shared", membership_->peer(rank).text());
    verdict.objection[sizeof verdict.objection - 1] = 0;
    heard_[rank] =
        verdict.can != 0 ? "" : fmt::format("{}: {}", membership_->peer(rank).text(), verdict.objection);
  }
  return all_heard();
}

/// If GPUs cannot access one another's memory, all ranks try again with host memory.
Result<bool> IpcHandleExchange::conclude() {
  if (!objection_.empty())
    heard_[self()] = fmt::format("{}: {}", membership_->peer(self()).text(), objection_);
  const auto objects =
      std::find_if(heard_.begin(), heard_.end(), [](const auto& one) { return !one.second.empty(); });
  if (objects == heard_.end()) {
    sockets_.clear();
    return true;
  }
  made_.reset();
  if (on_host_)
    return error(Code::Unsupported, "GPU memory cannot be shared between processes: {}", objects->second);
  log().info("rank {}: data for GPUs of other processes goes through memory of the host, because of {}",
             self(), objects->second);
  on_host_ = true;
  stage_ = ExchangeStage::Offer;
  return true;
}

}  // namespace rondo
