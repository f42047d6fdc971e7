// SPDX-License-Identifier: Apache-2.0
#include "control_plane.h"

#include <fmt/ranges.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <set>

#include "base/error_kinds.h"
#include "base/file_name.h"
#include "base/log.h"
#include "bootstrap/state_query.h"
#include "health/flight_file.h"
#include "health/flight_recorders.h"
#include "place_answers.h"

namespace rondo {
namespace {

/// Null if it is not among them.
const EndedComm* find_ended(const auto& all, uint64_t communicator) {
  const auto found = std::find_if(all.begin(), all.end(),
                                  [&](const EndedComm& one) { return one.communicator == communicator; });
  return found == all.end() ? nullptr : &*found;
}

/// The ranks of a communicator on this rank's host.
std::shared_ptr<const std::vector<HereMember>> ranks_here(const std::vector<int>& ranks,
                                                          const std::vector<PeerInfo>& members,
                                                          int session_rank) {
  const auto member = [&](int rank) -> const PeerInfo& { return members[static_cast<size_t>(rank)]; };
  std::vector<HereMember> here;
  for (size_t rank = 0; rank < ranks.size(); ++rank) {
    const PeerInfo& peer = member(ranks[rank]);
    if (peer.endpoint.host != member(session_rank).endpoint.host) continue;
    here.push_back({static_cast<int>(rank), ranks[rank] == session_rank ? ::getpid() : peer.pid});
  }
  return std::make_shared<const std::vector<HereMember>>(std::move(here));
}

/// Equal steps from rank to rank, as of most communicators that programs split off, are one run.
std::shared_ptr<const std::vector<RankRun>> runs_of(const std::vector<int>& ranks) {
  constexpr size_t kMaxRuns = 256;
  std::vector<RankRun> runs;
  for (size_t at = 0; at < ranks.size();) {
    if (runs.size() == kMaxRuns) return nullptr;
    RankRun run{
        .first = ranks[at], .step = at + 1 < ranks.size() ? ranks[at + 1] - ranks[at] : 1, .count = 1};
    while (++at < ranks.size() && ranks[at] == ranks[at - 1] + run.step) ++run.count;
    runs.push_back(run);
  }
  return std::make_shared<const std::vector<RankRun>>(std::move(runs));
}

/// On how many hosts the ranks of a communicator are.
int count_hosts(const std::vector<int>& ranks, const std::vector<PeerInfo>& members) {
  std::set<uint64_t> hosts;
  for (const int rank : ranks) hosts.insert(members[static_cast<size_t>(rank)].endpoint.host);
  return static_cast<int>(hosts.size());
}

/// The lowest rank of this rank's process: threads may be ranks, and begin in any order.
int process_rank(const std::vector<PeerInfo>& members, int session_rank) {
  const PeerInfo& own = members[static_cast<size_t>(session_rank)];
  const auto lowest =
      std::find_if(members.begin(), members.end(), [&](const PeerInfo& one) { return one.is_beside(own); });
  return static_cast<int>(lowest - members.begin());
}

RecordedComm recorded(const Session::Attachment& attachment, const std::vector<PeerInfo>& members,
                      uint64_t session, int session_rank) {
  const std::vector<int>& ranks = attachment.ranks;
  return {.session = session,
          .session_rank = session_rank,
          .process_rank = process_rank(members, session_rank),
          .communicator = attachment.communicator,
          .rank = static_cast<int>(std::find(ranks.begin(), ranks.end(), session_rank) - ranks.begin()),
          .size = static_cast<int>(ranks.size()),
          .hosts = count_hosts(ranks, members),
          .device = members[static_cast<size_t>(session_rank)].device.ordinal,
          .transports = attachment.transports,
          .here = ranks_here(ranks, members, session_rank),
          .session_ranks = runs_of(ranks),
          .recorder = attachment.recorder,
          .health = attachment.health};
}

}  // namespace

std::unique_ptr<ControlPlane> ControlPlane::alone(const PeerGpu& device) {
  std::unique_ptr<ControlPlane> session(new ControlPlane);
  session->members_.resize(1);
  session->members_.front().device = device;
  session->members_.front().pid = ::getpid();
  session->members_.front().host_name = host_name();
  session->credentials_.session = random_u64();
  return session;
}

ControlPlane::~ControlPlane() {
  constexpr int64_t kStarting_ms = 1000;  // short: after a failure, such as that of a rank that never starts
  if (context_ == nullptr) return;
  wait_for_starting(kStarting_ms);
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
    changed_.notify_all();
  }
  if (seeker_.joinable()) seeker_.join();
  context_->listeners().close(credentials_.session, rank_);
  if (context_->ps() != nullptr) context_->ps()->remove(credentials_.session, rank_);
  context_->event_loop().call([this] {
    for (auto& [rank, edge] : edges_) {
      if (all_end_ != Ended::Everything && !has_departed_) edge.socket->send(MessageType::Left, ByteWriter());
      if (edge.pidfd.valid()) context_->event_loop().unwatch(edge.pidfd.get());
    }
    edges_.clear();
    root_.reset();
  });
  // In a second call, so that it runs after anything that the edges' handlers have posted.
  context_->event_loop().call([this] { context_->event_loop().cancel(suspicion_); });
  bootstrap_root_.reset();  // before the Context that it works on
}

// --- sockets to other ranks ---

std::vector<Address> ControlPlane::addresses_of(const PeerInfo& peer, Route route) const {
  if (route == Route::Unix) return {Address::abstract_unix(unix_name(peer.endpoint.process))};
  const bool same_host = is_on_this_host(peer.rank);
  std::vector<Address> addresses;
  if (same_host) addresses.push_back(Address::tcp(kLoopback, peer.tcp_port));
  for (const IpAddress& ip : by_locality(peer.addresses, context_->interfaces()))
    if (same_host || !is_loopback(ip)) addresses.push_back(Address::tcp(ip, peer.tcp_port));
  return addresses;
}

Result<Fd> ControlPlane::dial(int rank, Route route, ConnectRequest purpose, const Deadline& deadline,
                              const Interrupt& interrupt, Contact* contact) {
  const PeerInfo& peer = member(rank);
  purpose.from_rank = rank_;
  purpose.to_rank = rank;
  const std::vector<Address> addresses = addresses_of(peer, route);
  if (addresses.empty())
    return error(ErrorKind::OnlyLoopback, "{} offers no address but loopback; set RONDO_SOCKET_IFNAME there",
                 peer.text());
  Contact furthest = Contact::None;
  auto fd = dial_any(addresses, credentials_, purpose, deadline, interrupt, &furthest);
  if (contact != nullptr) *contact = std::max(*contact, furthest);
  if (fd.ok()) return fd;
  const Code code = fd.status().code();
  // The fault may be at either end, or between them.
  if (code == Code::Timeout && furthest == Contact::Sought)
    return fd.status()
        .within(fmt::format("{} cannot reach {}", member(rank_).text(), peer.text()))
        .because(ErrorKind::CannotConnect);
  return fd.status().within(code == Code::RemoteError   ? peer.text() + " is gone"
                            : code == Code::SystemError ? "cannot reach " + peer.text()
                                                        : peer.text());
}

Fd ControlPlane::arrived(ConnectRequest& purpose) {
  std::lock_guard lock(mutex_);
  const auto found =
      arrivals_.extract({purpose.communicator, purpose.from_rank, purpose.port, purpose.index});
  if (found.empty()) return Fd();
  purpose.route = found.mapped().route;
  return std::move(found.mapped().fd);
}

void ControlPlane::admit(const ConnectRequest& purpose, Fd fd) {
  switch (purpose.kind) {
    case ConnectKind::Control:
      if (seated_) return add_edge(purpose.from_rank, std::move(fd));
      early_edges_.emplace_back(purpose.from_rank, std::move(fd));
      return;
    case ConnectKind::Data: {
      std::lock_guard lock(mutex_);
      arrivals_[{purpose.communicator, purpose.from_rank, purpose.port, purpose.index}] = {std::move(fd),
                                                                                           purpose.route};
      return;
    }
    case ConnectKind::Inquiry: return answer_inquiry(purpose, fd);
    case ConnectKind::Place: return answer_place(thread_of(purpose.communicator), std::move(fd));
    case ConnectKind::Calls:
      if (context_->ps() != nullptr) context_->ps()->answer(credentials_.session, std::move(fd));
      return;
    case ConnectKind::Register:
    case ConnectKind::Meet: return;  // handled by the root
  }
}

std::string ControlPlane::interfaces_text() const {
  if (context_ == nullptr) return "none";
  std::vector<std::string> parts;
  for (const Interface& one : context_->interfaces())
    parts.push_back(fmt::format("{} {}", one.name, ip_text(one.ip)));
  return fmt::to_string(fmt::join(parts, ", "));
}

// --- the control tree ---

void ControlPlane::add_edge(int rank, Fd fd) {
  // Any rank may connect: one whose parent has gone may do so before this rank knows that the parent has.
  if (rank < 0 || rank >= size() || edges_.contains(rank)) {
    log().warn("a control connection came from rank {}, which rank {} does not expect", rank, rank_);
    return;
  }
  Edge& edge = edges_[rank];
  if (!is_on_this_host(rank)) watch_for_lost_host(fd, unreachable_s_);
  edge.socket = std::make_unique<FramedSocket>(
      context_->event_loop(), std::move(fd),
      [this, rank](const ControlMessage& message) { on_edge_message(rank, message); },
      [this, rank] { lose(rank, {}); });
  watch_process(rank, edge);
  if (rank == tree_.parent) told_ = Ended::Nothing;
  {
    std::lock_guard lock(mutex_);
    for (const FailureNotice& notice : heard_)
      edge.socket->send(MessageType::FailureNotice, notice.written());
    edge.socket->send(MessageType::AllEnded, ByteWriter().put(all_end_));
    established_.insert(rank);
    changed_.notify_all();
  }
  pass_up();
}

/// A socket outlives its process if a forked child has inherited it, so the process itself is watched.
void ControlPlane::watch_process(int rank, Edge& edge) {
  auto credentials = peer_credentials(edge.socket->fd());
  if (!credentials.ok() || credentials.value().pid <= 0 || credentials.value().pid == ::getpid()) return;
  edge.pidfd = Fd(static_cast<int>(::syscall(SYS_pidfd_open, credentials.value().pid, 0)));
  if (!edge.pidfd.valid()) return;
  // Its last messages may still be in the socket, and are handled first.
  context_->event_loop().watch(edge.pidfd.get(), EPOLLIN, [this, rank](uint32_t) {
    context_->event_loop().post([this, rank] { lose(rank, "died"); });
  });
}

void ControlPlane::on_edge_message(int rank, const ControlMessage& message) {
  ByteReader reader(message.body);
  if (message.type == MessageType::FailureNotice) hear({FailureNotice::read(reader)}, rank);
  const auto found = edges_.find(rank);  // may be lost already; its earlier messages still count
  if (found == edges_.end()) return;
  Edge& edge = found->second;
  switch (message.type) {
    case MessageType::FailureNotice:  // a leaving rank waits until its neighbours have passed the notice on
      if (gone_.contains(rank)) edge.socket->send(MessageType::Farewell, ByteWriter());
      return;
    case MessageType::Ended: edge.ended = reader.get<Ended>(); return pass_up();
    case MessageType::AllEnded: return all_have(reader.get<Ended>());
    case MessageType::Left: edge.left = true; return;
    case MessageType::Farewell: edge.farewell = true; return;
    case MessageType::Sounding: {
      const auto id = reader.get<SoundingId>();  // posted, so after notices posted by this rank's threads
      return context_->event_loop().post([this, id, rank] { sound(id, rank); });
    }
    case MessageType::Sounded: return end_sounding(reader.get<SoundingId>(), rank);
    default: log().warn("{} sent an unexpected control message", member(rank).text());
  }
}

void ControlPlane::on_root_message(const ControlMessage& message) {
  if (message.type != MessageType::FailureNotice) return;
  ByteReader reader(message.body);
  hear({FailureNotice::read(reader)}, -1);
}

bool ControlPlane::is_unreachable(const Edge& edge) {
  const int error_number = edge.socket->error_number();
  return error_number == ETIMEDOUT || error_number == EHOSTUNREACH || error_number == ENETUNREACH;
}

/// `how`: empty if the cause has to be determined from the socket.
void ControlPlane::lose(int rank, const std::string& how) {
  auto node = edges_.extract(rank);
  if (node.empty()) return;
  Edge& edge = node.mapped();
  if (edge.pidfd.valid()) context_->event_loop().unwatch(edge.pidfd.get());
  const bool unreachable = how.empty() && is_unreachable(edge);
  const std::string end = edge.left     ? "left after a failure"
                          : how.empty() ? "died or left without rondo_destroy()"
                                        : how;
  context_->event_loop().post([socket = std::shared_ptr<FramedSocket>(std::move(edge.socket))] {});
  const bool is_news = all_end_ != Ended::Everything && !gone_.contains(rank);
  if (is_news && has_departed_) {  // the remaining ranks report its fate
    gone_.insert(rank);
    take_place();
  } else if (is_news && unreachable) {
    lose_host_of(rank);
  } else if (is_news) {
    hear({FailureNotice::of_rank(rank, error(ErrorKind::RankDied, "{} {}", member(rank).text(), end))}, -1);
  }
  end_soundings(rank);
}

void ControlPlane::notify(const FailureNotice& notice) {
  if (context_ == nullptr) return;
  context_->event_loop().post([this, notice] { hear({notice}, -1); });
}

/// A program may end as soon as its calls fail, and this thread with it: so others hear first, and of all.
void ControlPlane::hear(std::vector<FailureNotice> notices, int from_rank) {
  {
    const std::lock_guard lock(mutex_);
    std::erase_if(notices, [&](const FailureNotice& notice) {
      return std::any_of(heard_.begin(), heard_.end(), [&](const FailureNotice& other) {
        return other.communicator == notice.communicator && other.rank == notice.rank;
      });
    });
    heard_.insert(heard_.end(), notices.begin(), notices.end());
  }
  for (const FailureNotice& notice : notices) {
    for (auto& [rank, edge] : edges_)
      if (rank != from_rank) edge.socket->send(MessageType::FailureNotice, notice.written());
    if (bootstrap_root_) bootstrap_root_->pass_on(notice);
  }
  {
    const std::lock_guard lock(mutex_);
    for (const FailureNotice& notice : notices) {
      for (const auto& [id, attachment] : attachments_) apply(notice, attachment);
      if (notice.communicator == 0 && !notice.is_departure()) start_health_.fail(why_it_ended(notice));
    }
    changed_.notify_all();
  }
  for (const FailureNotice& notice : notices)
    if (notice.communicator == 0 && notice.rank != rank_ && gone_.insert(notice.rank).second) take_place();
}

/// Ranks that are quick to start may have failed in a call, and ended, while this one is still starting.
Status ControlPlane::why_it_ended(const FailureNotice& end) const {
  const auto cause =
      std::find_if(heard_.begin(), heard_.end(), [](const auto& one) { return one.communicator == kWorld; });
  return (cause == heard_.end() ? end : *cause).status();
}

void ControlPlane::apply(const FailureNotice& notice, const Attachment& attachment) {
  if (notice.is_departure()) return;
  const bool member_gone =
      notice.communicator == 0 &&
      std::find(attachment.ranks.begin(), attachment.ranks.end(), notice.rank) != attachment.ranks.end();
  if (member_gone || notice.communicator == attachment.communicator)
    record_failure(*attachment.health, attachment.recorder->named(notice.status()));
}

std::shared_ptr<FlightRecorder> ControlPlane::recorder_of(uint64_t communicator) {
  const std::lock_guard lock(mutex_);
  const auto found = attachments_.find(communicator);
  return found == attachments_.end() ? nullptr : found->second.recorder;
}

/// The thread that made the communicator; 0: there is no such communicator.
pid_t ControlPlane::thread_of(uint64_t communicator) {
  const std::shared_ptr<FlightRecorder> recorder = recorder_of(communicator);
  return recorder == nullptr ? 0 : recorder->thread();
}

int ControlPlane::first_gone(std::span<const int> ranks) {
  const std::lock_guard lock(mutex_);
  for (const FailureNotice& notice : heard_)
    if (notice.communicator == 0 && std::find(ranks.begin(), ranks.end(), notice.rank) != ranks.end())
      return notice.rank;
  return -1;
}

/// For rondo-ps: how a rank has ended; empty: it has not.
std::string ControlPlane::end_of(int rank) {
  const std::lock_guard lock(mutex_);
  for (const FailureNotice& notice : heard_)
    if (notice.communicator == 0 && notice.rank == rank)
      return notice.is_departure() ? std::string("it has left the job") : notice.text;
  return {};
}

void ControlPlane::attach(Attachment attachment) {
  const RecordedComm comm = recorded(attachment, members_, credentials_.session, rank_);
  remember_recorder(comm);
  attachment.recorder->trace_as(trace_track(comm));
  std::lock_guard lock(mutex_);
  for (const FailureNotice& notice : heard_) apply(notice, attachment);
  attachments_[attachment.communicator] = std::move(attachment);
}

void ControlPlane::detach(uint64_t communicator) {
  std::lock_guard lock(mutex_);
  if (const auto found = attachments_.find(communicator); found != attachments_.end()) {
    const Attachment& attachment = found->second;
    if (attachment.finished && !attachment.health->failed())
      note_end({.communicator = communicator, .latest = attachment.recorder->latest()});
    attachments_.erase(found);
    note_ends();
  }
  forget_recorder(credentials_.session, communicator, rank_);
  std::erase_if(arrivals_, [&](const auto& entry) { return std::get<0>(entry.first) == communicator; });
}

void ControlPlane::finish(uint64_t communicator) {
  std::lock_guard lock(mutex_);
  if (const auto found = attachments_.find(communicator); found != attachments_.end())
    found->second.finished = true;
  note_ends();
}

void ControlPlane::leave(uint64_t communicator, uint32_t latest) {
  const std::lock_guard lock(mutex_);
  note_end({.communicator = communicator, .latest = latest, .left = 1});
}

/// With mutex_ held. The first note of a communicator counts: it may be left before it is detached.
void ControlPlane::note_end(const EndedComm& ended) {
  constexpr size_t kRemembered = 256;
  if (find_ended(ended_, ended.communicator) != nullptr) return;
  ended_.push_back(ended);
  if (ended_.size() > kRemembered) ended_.pop_front();
}

std::optional<uint32_t> ControlPlane::last_call(int rank, uint64_t communicator) {
  const std::lock_guard lock(mutex_);
  for (const FailureNotice& notice : heard_) {
    if (!notice.is_departure() || notice.rank != rank) continue;
    const EndedComm* const found = find_ended(notice.ended, communicator);
    if (found != nullptr) return found->latest;
  }
  return std::nullopt;
}

bool ControlPlane::is_last(uint64_t communicator) {
  std::lock_guard lock(mutex_);
  return std::all_of(attachments_.begin(), attachments_.end(),
                     [&](const auto& one) { return one.first == communicator || one.second.finished; });
}

// --- state queries ---

void ControlPlane::answer_inquiry(const ConnectRequest& purpose, const Fd& fd) {
  PeerStates known;
  {
    std::lock_guard lock(mutex_);
    for (const auto& [id, attachment] : attachments_) {
      const auto asker = std::find(attachment.ranks.begin(), attachment.ranks.end(), purpose.from_rank);
      const PeerState activity = PeerState::of(
          *attachment.recorder,
          asker == attachment.ranks.end() ? -1 : static_cast<int>(asker - attachment.ranks.begin()));
      if (id == purpose.communicator) {
        known.here = activity;
      } else if (known.other == 0 && activity.waits()) {
        known.other = id;
        known.there = activity;
      }
    }
    if (const EndedComm* const ended = find_ended(ended_, purpose.communicator); ended != nullptr) {
      known.here = {};
      known.here.left = ended->left;
      known.here.latest = ended->latest;
      known.here.finished = 1 - ended->left;
      known.here.sent = PeerState::kUnknownSent;
    }
  }
  known.here.elsewhere = is_inside_another(credentials_.session, purpose.communicator) ? 1 : 0;
  ByteWriter answer;
  answer.put(known);
  // A fresh socket's buffer holds the few bytes of an answer, so this does not wait.
  if (const Status sent = send_message(fd, MessageType::Answer, answer, Deadline::in_ms(0), {}); !sent.ok())
    log().info("a state query was not answered: {}", sent.text());
}

}  // namespace rondo
