// SPDX-License-Identifier: Apache-2.0
#include "ipc_handle_exchange.h"

#include <algorithm>

#include "base/error_kinds.h"
#include "base/log.h"
#include "bootstrap/membership.h"
#include "gpu/device.h"

namespace rondo {
namespace {

constexpr auto kStagingPort = static_cast<uint32_t>(Port::Staging);

/// Bytes of the words and the window table that follows them.
size_t words_bytes(int nranks) { return WordTable::bytes(nranks) + WindowTable::bytes(nranks); }

}  // namespace

struct IpcHandleExchange::Offer {
  uint64_t staging_bytes = 0;  // as configured
  uint64_t size = 0;           // of the attached staging; 0: none
};

Progress IpcHandleExchange::advance() {
  const gpu::OutsideCapture outside;
  const auto moved = step();
  if (!moved.ok()) {
    failure_ = moved.status();
    exchanges_.clear();
    return Progress::Failed;
  }
  if (!moved.value()) return Progress::Stuck;
  return exchanges_.empty() ? Progress::Done : Progress::Moved;
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
    if (rank != self() && !(meeting ? exchanges_.contains(rank) : heard_.contains(rank))) return rank;
  return -1;
}

/// In each pair, the higher rank dials.
Result<bool> IpcHandleExchange::find_sockets() {
  for (int rank = 0; rank < size(); ++rank) {
    if (rank == self() || exchanges_.contains(rank)) continue;
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
    if (fd.valid()) exchanges_.emplace(rank, HandleExchange(std::move(fd), membership_->peer(rank).text()));
  }
  return static_cast<int>(exchanges_.size()) + 1 == size();
}

void IpcHandleExchange::keep(int rank, gpu::OfferedMemory staging) {
  made_->staging[static_cast<size_t>(rank)] = staging.data();
  made_->staging_memory.push_back(std::move(staging));
}

/// Maps the words for the device, but not the window table.
void IpcHandleExchange::keep_words(SharedSegment segment) {
  const size_t bytes = WordTable::bytes(size());
  made_->host_words = WordTable(segment.data(), size());
  made_->window_table = WindowTable(segment.data() + bytes, size());
  auto window = gpu::HostWindow::open(membership_->device(), segment.data(), bytes);
  if (!window.ok()) {
    objection_ = window.status().message();
    return;
  }
  made_->words = WordTable(window.value().data(), size());
  made_->words_memory = std::move(segment);
  made_->words_window = window.take();
}

Status IpcHandleExchange::make_staging() {
  RONDO_TRY_ASSIGN(gpu::OfferedMemory::Made made,
                   gpu::OfferedMemory::make(on_host_, membership_->device(), made_->geometry.bytes()));
  staging_fd_ = std::move(made.descriptor);
  staging_size_ = made.memory.bytes();
  keep(self(), std::move(made.memory));
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
  const Offer own{.staging_bytes = staging_bytes_, .size = staging_size_};
  std::vector<int> descriptors;
  if (words_fd_.valid()) descriptors.push_back(words_fd_.get());
  if (staging_size_ != 0) descriptors.push_back(staging_fd_.get());
  for (const auto& [rank, exchange] : exchanges_) RONDO_TRY(exchange.offer(own, descriptors));
  return {};
}

Result<bool> IpcHandleExchange::hear_offers() {
  for (const auto& [rank, exchange] : exchanges_) {
    if (heard_.contains(rank)) continue;
    Offer offer;
    RONDO_TRY_ASSIGN(auto attached, exchange.hear_offer(offer));
    if (!attached) continue;
    RONDO_TRY(believe(rank, offer, std::move(*attached)));
    heard_[rank] = "";
  }
  return all_heard();
}

Status IpcHandleExchange::believe(int rank, const Offer& offer, std::vector<Fd> attached) {
  if (offer.staging_bytes != staging_bytes_)
    return error(ErrorKind::SettingsDiffer,
                 "RONDO_STAGING_BYTES is {} at {}, but {} at {}; it must be the same", offer.staging_bytes,
                 membership_->peer(rank).text(), staging_bytes_, membership_->peer(self()).text());
  const size_t expected = (rank == 0 ? 1 : 0) + (offer.size != 0 ? 1 : 0);
  if (attached.size() != expected)
    return error(ErrorKind::SharingFailed, "{} shared {} descriptors of memory instead of {}",
                 membership_->peer(rank).text(), attached.size(), expected);
  if (rank == 0) {
    RONDO_TRY_ASSIGN(SharedSegment words, SharedSegment::map(attached.front(), words_bytes(size())));
    keep_words(std::move(words));
  }
  if (offer.size == 0) return {};
  auto opened = gpu::OfferedMemory::open(on_host_, membership_->device(), attached.back(), offer.size,
                                         made_->geometry.bytes());
  if (opened.ok())
    keep(rank, opened.take());
  else
    objection_ = fmt::format("its GPU cannot reach memory of {}: {}", membership_->peer(rank).text(),
                             opened.status().message());
  return {};
}

Status IpcHandleExchange::judge() {
  heard_.clear();
  staging_fd_.close();
  words_fd_.close();
  for (const auto& [rank, exchange] : exchanges_) RONDO_TRY(exchange.judge(objection_));
  return {};
}

Result<bool> IpcHandleExchange::hear_verdicts() {
  for (const auto& [rank, exchange] : exchanges_) {
    if (heard_.contains(rank)) continue;
    RONDO_TRY_ASSIGN(const auto objection, exchange.hear_verdict());
    if (!objection) continue;
    heard_[rank] =
        objection->empty() ? "" : fmt::format("{}: {}", membership_->peer(rank).text(), *objection);
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
    exchanges_.clear();
    return true;
  }
  made_.reset();
  if (on_host_)
    return error(ErrorKind::GpuMemoryNotShared, "GPU memory cannot be shared between processes: {}",
                 objects->second);
  log().info("rank {}: data for GPUs of other processes goes through memory of the host, because of {}",
             self(), objects->second);
  on_host_ = true;
  stage_ = ExchangeStage::Offer;
  return true;
}

}  // namespace rondo
