#include "comm/gathering.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <mutex>

#include "base/log.h"

namespace rondo {
namespace {

std::mutex gatherings_mutex;

/// Those whose local rank has not come (or never will: then they end with the process).
std::map<uint64_t, std::unique_ptr<Gathering>>& unclaimed() {
  static auto& map = *new std::map<uint64_t, std::unique_ptr<Gathering>>;
  return map;
}

}  // namespace

Result<UniqueId> Gathering::start(int64_t timeout_ms, const Secret& secret) {
  RONDO_TRY_ASSIGN(auto context, Context::get());
  const Member self = context->self();
  UniqueId id;
  id.credentials = {random_u64(), secret};
  id.process = self.endpoint.process;
  id.tcp_port = self.tcp_port;
  id.addresses = self.addresses;
  std::unique_ptr<Gathering> gathering(new Gathering(std::move(context), id.credentials, timeout_ms));
  std::lock_guard lock(gatherings_mutex);
  unclaimed()[id.credentials.session] = std::move(gathering);
  return id;
}

std::unique_ptr<Gathering> Gathering::claim(uint64_t session) {
  std::lock_guard lock(gatherings_mutex);
  const auto found = unclaimed().extract(session);
  return found.empty() ? nullptr : std::move(found.mapped());
}

Gathering::Gathering(std::shared_ptr<Context> context, Credentials credentials, int64_t timeout_ms)
    : context_(std::move(context)), credentials_(credentials), timeout_ms_(timeout_ms) {
  context_->open(credentials_, Context::kRoot, [this](const Purpose& purpose, Fd fd) {
    if (purpose.kind == PurposeKind::Register) admit(std::move(fd));
  });
}

Gathering::~Gathering() {
  context_->close(credentials_.session, Context::kRoot);
  context_->poller().call([this] {
    context_->poller().cancel(timer_);
    arrivals_.clear();
  });
}

void Gathering::allow(int64_t timeout_ms) {
  context_->poller().call([&] {
    if (timer_ == 0) timeout_ms_ = timeout_ms;
  });
}

void Gathering::admit(Fd fd) {
  if (timer_ == 0) timer_ = context_->poller().after_ms(timeout_ms_, [this] { on_timeout(); });
  const uint64_t arrival = next_arrival_++;
  arrivals_[arrival].socket = std::make_unique<MessageSocket>(
      context_->poller(), std::move(fd),
      [this, arrival](const Message& message) { on_message(arrival, message); },
      [this, arrival] { on_closed(arrival); });
}

void Gathering::on_message(uint64_t arrival, const Message& message) {
  if (message.type == MessageType::Ready) arrivals_[arrival].ready = true;
  if (message.type != MessageType::Registration) return;
  ByteReader reader(message.body);
  const Member member = Member::read(reader);
  if (!reader.ok()) return;
  if (const Status failure = take(arrival, member); !failure.ok()) {
    log().warn("start: {}", failure.message());
    refuse(*arrivals_[arrival].socket, failure);
    return;
  }
  if (static_cast<int>(members_.size()) == nranks_) send_tables();
}

Status Gathering::take(uint64_t arrival, const Member& member) {
  if (!failure_.ok()) return failure_;
  if (nranks_ == 0) nranks_ = member.nranks;
  if (member.nranks != nranks_) {
    const Status failure =
        error(Code::Mismatch, "{} was started for {} ranks, {} for {}", member.text(), member.nranks,
              members_.empty() ? "the others" : members_.begin()->second.text(), nranks_);
    refuse_all(failure);
    return failure;
  }
  if (const auto other = members_.find(member.rank); other != members_.end())
    return error(Code::InvalidArgument, "{} came twice: the other is process {} on host {}", member.text(),
                 other->second.pid, other->second.host_name);
  arrivals_[arrival].rank = member.rank;
  members_[member.rank] = member;
  return {};
}

void Gathering::send_tables() {
  complete_ = true;
  context_->poller().cancel(timer_);
  ByteWriter table;
  table.put(nranks_);
  for (const auto& [rank, member] : members_) member.write(table);
  for (auto& [key, arrival] : arrivals_)
    if (arrival.rank >= 0) arrival.socket->send(MessageType::Table, table);
}

/// A rank that goes before its edges stand is dead: those that still wait for it are told.
void Gathering::on_closed(uint64_t key) {
  const auto node = arrivals_.extract(key);
  context_->poller().post([socket = std::shared_ptr<MessageSocket>(std::move(node.mapped().socket))] {});
  const Arrival& gone = node.mapped();
  if (gone.rank < 0 || gone.ready || !failure_.ok()) return;
  const Status failure =
      error(Code::RemoteError, "{} died while the ranks were starting", members_[gone.rank].text());
  if (!complete_) return refuse_all(failure);
  pass_on(Notice::of_rank(gone.rank, failure));
}

void Gathering::pass_on(const Notice& notice) {
  for (auto& [key, arrival] : arrivals_)
    if (!arrival.ready) arrival.socket->send(MessageType::Notice, notice.written());
}

bool Gathering::is_over() const {
  return std::all_of(arrivals_.begin(), arrivals_.end(),
                     [](const auto& entry) { return entry.second.ready || entry.second.rank < 0; });
}

void Gathering::on_timeout() {
  std::vector<int> missing;
  constexpr size_t kMostNamed = 16;
  for (int rank = 0; rank < nranks_ && missing.size() < kMostNamed; ++rank)
    if (!members_.contains(rank)) missing.push_back(rank);
  refuse_all(error(Code::Timeout, "{} of {} ranks did not come within {} s: {}{}",
                   nranks_ - static_cast<int>(members_.size()), nranks_,
                   static_cast<double>(timeout_ms_) / 1000, fmt::join(missing, ", "),
                   missing.size() == kMostNamed ? ", ..." : ""));
}

void Gathering::refuse_all(const Status& why) {
  failure_ = why;
  for (auto& [key, arrival] : arrivals_)
    if (arrival.rank >= 0) refuse(*arrival.socket, why);
}

void Gathering::refuse(MessageSocket& socket, const Status& why) {
  socket.send(MessageType::Refusal, Notice::of_rank(-1, why).written());
}

}  // namespace rondo
