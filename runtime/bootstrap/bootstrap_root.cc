// SPDX-License-Identifier: Apache-2.0
#include "bootstrap_root.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <mutex>

#include "base/error_kinds.h"
#include "base/log.h"

namespace rondo {
namespace {

constexpr int64_t kMaxUntold_ms = 10'000;  // of a start that waits for ranks

std::mutex gatherings_mutex;

/// BootstrapRoots whose local rank has not joined yet (if it never does, they end with the process).
std::map<uint64_t, std::unique_ptr<BootstrapRoot>>& unclaimed() {
  static auto& map = *new std::map<uint64_t, std::unique_ptr<BootstrapRoot>>;
  return map;
}

}  // namespace

Result<UniqueId> start_root(int64_t timeout_ms) { return BootstrapRoot::start(timeout_ms, random_secret()); }

void end_root(const UniqueId& id) { BootstrapRoot::claim(id.credentials.session); }

void fail_root(const UniqueId& id, int rank, const Status& cause) {
  if (const auto root = BootstrapRoot::claim(id.credentials.session)) root->fail(rank, cause);
}

Status failed_in_init(const Context& context, int rank, const Status& cause) {
  PeerInfo self = context.self();
  self.rank = rank;
  return error(ErrorKind::RankFailedInInit, "{} failed in init: {}", self.text(), cause.message())
      .because(cause.kind());
}

Result<UniqueId> BootstrapRoot::start(int64_t timeout_ms, const Secret& secret) {
  RONDO_TRY_ASSIGN(auto context, Context::get());
  const PeerInfo self = context->self();
  UniqueId id;
  id.credentials = {random_u64(), secret};
  id.process = self.endpoint.process;
  id.tcp_port = self.tcp_port;
  id.addresses = self.addresses;
  std::unique_ptr<BootstrapRoot> gathering(new BootstrapRoot(std::move(context), id.credentials, timeout_ms));
  std::lock_guard lock(gatherings_mutex);
  unclaimed()[id.credentials.session] = std::move(gathering);
  return id;
}

std::unique_ptr<BootstrapRoot> BootstrapRoot::claim(uint64_t session) {
  std::lock_guard lock(gatherings_mutex);
  const auto found = unclaimed().extract(session);
  return found.empty() ? nullptr : std::move(found.mapped());
}

BootstrapRoot::BootstrapRoot(std::shared_ptr<Context> context, Credentials credentials, int64_t timeout_ms)
    : context_(std::move(context)), credentials_(credentials), timeout_ms_(timeout_ms) {
  context_->listeners().open(credentials_, Listeners::kRoot, [this](const ConnectRequest& purpose, Fd fd) {
    if (purpose.kind == ConnectKind::Register) admit(std::move(fd));
  });
}

BootstrapRoot::~BootstrapRoot() {
  context_->listeners().close(credentials_.session, Listeners::kRoot);
  context_->event_loop().call([this] {
    stop_timers();
    joiners_.clear();
  });
}

void BootstrapRoot::allow(int64_t timeout_ms) {
  context_->event_loop().call([&] {
    if (timer_ == 0) timeout_ms_ = timeout_ms;
  });
}

void BootstrapRoot::fail(int rank, const Status& cause) {
  context_->event_loop().call([&] { give_up(failed_in_init(*context_, rank, cause)); });
}

void BootstrapRoot::give_up(const Status& cause) {
  if (failure_.ok() && !complete_) refuse_all(cause);
}

void BootstrapRoot::admit(Fd fd) {
  if (timer_ == 0) {
    timer_ = context_->event_loop().after_ms(timeout_ms_, [this] { on_timeout(); });
    remind_after(std::clamp<int64_t>(timeout_ms_ / 4, 1, kMaxUntold_ms));
  }
  const uint64_t joiner = next_joiner_++;
  joiners_[joiner].socket = std::make_unique<FramedSocket>(
      context_->event_loop(), std::move(fd),
      [this, joiner](const ControlMessage& message) { on_message(joiner, message); },
      [this, joiner] { on_closed(joiner); });
}

void BootstrapRoot::on_message(uint64_t joiner, const ControlMessage& message) {
  ByteReader reader(message.body);
  if (message.type == MessageType::Ready) joiners_[joiner].ready = true;
  if (message.type == MessageType::FailureNotice)
    joiners_[joiner].failure = FailureNotice::read(reader).status();
  if (message.type != MessageType::Registration) return;
  const PeerInfo member = PeerInfo::read(reader);
  if (!reader.ok()) return;
  if (const Status failure = take(joiner, member); !failure.ok()) {
    log().warn("start: {}", failure.text());
    refuse(*joiners_[joiner].socket, failure);
    return;
  }
  if (static_cast<int>(members_.size()) == nranks_) send_tables();
}

Status BootstrapRoot::take(uint64_t joiner, const PeerInfo& member) {
  if (!failure_.ok()) return failure_;
  if (nranks_ == 0) nranks_ = member.nranks;
  if (member.nranks != nranks_) {
    const Status failure =
        error(ErrorKind::RankCountsDiffer, "{} was started for {} ranks, {} for {}", member.text(),
              member.nranks, members_.empty() ? "the others" : members_.begin()->second.text(), nranks_);
    refuse_all(failure);
    return failure;
  }
  if (const auto other = members_.find(member.rank); other != members_.end())
    return error(ErrorKind::RankTwice, "{} registered twice: the other is process {} on host {}",
                 member.text(), other->second.pid, other->second.host_name);
  joiners_[joiner].rank = member.rank;
  members_[member.rank] = member;
  return {};
}

void BootstrapRoot::send_tables() {
  complete_ = true;
  stop_timers();
  ByteWriter table;
  table.put(nranks_);
  for (const auto& [rank, member] : members_) member.write(table);
  for (auto& [key, joiner] : joiners_)
    if (joiner.rank >= 0) joiner.socket->send(MessageType::Table, table);
}

/// A rank that closes its connection before its edges are connected is dead; the ranks that are still
/// starting are told.
void BootstrapRoot::on_closed(uint64_t key) {
  const auto node = joiners_.extract(key);
  context_->event_loop().post([socket = std::shared_ptr<FramedSocket>(std::move(node.mapped().socket))] {});
  const Joiner& gone = node.mapped();
  if (gone.rank < 0 || gone.ready || !failure_.ok()) return;
  const Status failure = gone.failure.ok()
                             ? error(ErrorKind::RankDiedAtStart, "{} died while the ranks were starting",
                                     members_[gone.rank].text())
                             : gone.failure;
  if (!complete_) return refuse_all(failure);
  pass_on(FailureNotice::of_rank(gone.rank, failure));
}

void BootstrapRoot::pass_on(const FailureNotice& notice) {
  for (auto& [key, joiner] : joiners_)
    if (!joiner.ready) joiner.socket->send(MessageType::FailureNotice, notice.written());
}

bool BootstrapRoot::is_over() const {
  return std::all_of(joiners_.begin(), joiners_.end(),
                     [](const auto& entry) { return entry.second.ready || entry.second.rank < 0; });
}

std::string BootstrapRoot::who_is_missing(int64_t waited_ms) const {
  std::vector<int> missing;
  constexpr size_t kMaxMissing = 16;
  for (int rank = 0; rank < nranks_ && missing.size() < kMaxMissing; ++rank)
    if (!members_.contains(rank)) missing.push_back(rank);
  return fmt::format("{} of {} ranks did not join within {} s: {}{}",
                     nranks_ - static_cast<int>(members_.size()), nranks_,
                     static_cast<double>(waited_ms) / 1000, fmt::join(missing, ", "),
                     missing.size() == kMaxMissing ? ", ..." : "");
}

void BootstrapRoot::on_timeout() {
  refuse_all(Status(ErrorKind::RanksDidNotJoin, who_is_missing(timeout_ms_)));
}

/// Tells whom a long start waits for, and again each time that it has taken three times as long.
void BootstrapRoot::remind_after(int64_t delay_ms) {
  waited_ms_ += delay_ms;
  reminder_ = context_->event_loop().after_ms(delay_ms, [this] {
    if (!failure_.ok()) return;
    if (nranks_ != 0) log().warn("start: {}; waiting for them", who_is_missing(waited_ms_));
    remind_after(2 * waited_ms_);
  });
}

void BootstrapRoot::stop_timers() {
  context_->event_loop().cancel(timer_);
  context_->event_loop().cancel(reminder_);
}

void BootstrapRoot::refuse_all(const Status& why) {
  failure_ = why;
  for (auto& [key, joiner] : joiners_)
    if (joiner.rank >= 0) refuse(*joiner.socket, why);
}

void BootstrapRoot::refuse(FramedSocket& socket, const Status& why) {
  socket.send(MessageType::Refusal, FailureNotice::of_rank(-1, why).written());
}

}  // namespace rondo
