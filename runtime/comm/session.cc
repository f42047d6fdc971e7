#include "comm/session.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/log.h"
#include "comm/boards.h"
#include "comm/inquiry.h"

namespace rondo {

std::shared_ptr<Session> Session::alone(const MemberDevice& device) {
  std::shared_ptr<Session> session(new Session);
  session->members_.resize(1);
  session->members_.front().device = device;
  session->credentials_.session = random_u64();
  return session;
}

Session::~Session() {
  if (context_ == nullptr) return;
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
    changed_.notify_all();
  }
  if (seeker_.joinable()) seeker_.join();
  context_->close(credentials_.session, rank_);
  context_->poller().call([this] {
    for (auto& [rank, edge] : edges_) {
      if (all_end_ != Ended::Everything && !has_departed_) edge.socket->send(MessageType::Left, ByteWriter());
      if (edge.pidfd.valid()) context_->poller().unwatch(edge.pidfd.get());
    }
    edges_.clear();
    root_.reset();
  });
  // After what handlers of the edges have posted.
  context_->poller().call([this] { context_->poller().cancel(suspicion_); });
  gathering_.reset();  // before the Context that it works on
}

// --- sockets to other ranks ---

std::vector<Address> Session::addresses_of(const Member& peer, Route route) const {
  if (route == Route::Unix) return {Address::abstract_unix(unix_name(peer.endpoint.process))};
  const bool same_host = is_on_this_host(peer.rank);
  std::vector<Address> addresses;
  if (same_host) addresses.push_back(Address::tcp(kLoopback, peer.tcp_port));
  for (const IpAddress& ip : by_nearness(peer.addresses, context_->interfaces()))
    if (same_host || !is_loopback(ip)) addresses.push_back(Address::tcp(ip, peer.tcp_port));
  return addresses;
}

Result<Fd> Session::dial(int rank, Route route, Purpose purpose, const Deadline& deadline,
                         const Interrupt& interrupt, Contact* contact) {
  const Member& peer = member(rank);
  purpose.from_rank = rank_;
  purpose.to_rank = rank;
  const std::vector<Address> addresses = addresses_of(peer, route);
  if (addresses.empty())
    return error(Code::SystemError, "{} offers no address but loopback; set RONDO_SOCKET_IFNAME there",
                 peer.text());
  auto fd = dial_any(addresses, credentials_, purpose, deadline, interrupt, contact);
  if (fd.ok()) return fd;
  const Code code = fd.status().code();
  return fd.status().within(code == Code::RemoteError   ? peer.text() + " is gone"
                            : code == Code::SystemError ? "cannot reach " + peer.text()
                                                        : peer.text());
}

Fd Session::arrived(Purpose& purpose) {
  std::lock_guard lock(mutex_);
  const auto found =
      arrivals_.extract({purpose.communicator, purpose.from_rank, purpose.port, purpose.index});
  if (found.empty()) return Fd();
  purpose.route = found.mapped().route;
  return std::move(found.mapped().fd);
}

void Session::admit(const Purpose& purpose, Fd fd) {
  switch (purpose.kind) {
    case PurposeKind::Control:
      if (seated_) return add_edge(purpose.from_rank, std::move(fd));
      early_edges_.emplace_back(purpose.from_rank, std::move(fd));
      return;
    case PurposeKind::Data: {
      std::lock_guard lock(mutex_);
      arrivals_[{purpose.communicator, purpose.from_rank, purpose.port, purpose.index}] = {std::move(fd),
                                                                                           purpose.route};
      return;
    }
    case PurposeKind::Inquiry: return answer_inquiry(purpose, fd);
    case PurposeKind::Register:
    case PurposeKind::Meet: return;  // the root's business
  }
}

// --- the control tree ---

void Session::add_edge(int rank, Fd fd) {
  // A rank whose parent has gone may come before this one knows that it has.
  if (rank < 0 || rank >= size() || edges_.contains(rank)) {
    log().warn("a control connection came from rank {}, which rank {} does not expect", rank, rank_);
    return;
  }
  Edge& edge = edges_[rank];
  if (!is_on_this_host(rank)) watch_for_lost_host(fd, unreachable_s_);
  edge.socket = std::make_unique<MessageSocket>(
      context_->poller(), std::move(fd),
      [this, rank](const Message& message) { on_edge_message(rank, message); },
      [this, rank] { lose(rank, {}); });
  watch_process(rank, edge);
  if (rank == tree_.parent) told_ = Ended::Nothing;
  {
    std::lock_guard lock(mutex_);
    for (const Notice& notice : heard_) edge.socket->send(MessageType::Notice, notice.written());
    edge.socket->send(MessageType::AllEnded, ByteWriter().put(all_end_));
    standing_.insert(rank);
    changed_.notify_all();
  }
  pass_up();
}

/// A socket outlives its process where a forked child has inherited it; the process itself tells the truth.
void Session::watch_process(int rank, Edge& edge) {
  auto credentials = peer_credentials(edge.socket->fd());
  if (!credentials.ok() || credentials.value().pid <= 0 || credentials.value().pid == ::getpid()) return;
  edge.pidfd = Fd(static_cast<int>(::syscall(SYS_pidfd_open, credentials.value().pid, 0)));
  if (!edge.pidfd.valid()) return;
  // What it said last may be in the socket still, and is looked at first.
  context_->poller().watch(edge.pidfd.get(), EPOLLIN, [this, rank](uint32_t) {
    context_->poller().post([this, rank] { lose(rank, "died"); });
  });
}

void Session::on_edge_message(int rank, const Message& message) {
  ByteReader reader(message.body);
  if (message.type == MessageType::Notice) hear(Notice::read(reader), rank);
  const auto found = edges_.find(rank);  // it may be lost, and what it said before still counts
  if (found == edges_.end()) return;
  Edge& edge = found->second;
  switch (message.type) {
    case MessageType::Notice:  // a rank that leaves waits until its neighbours have passed the news on
      if (gone_.contains(rank)) edge.socket->send(MessageType::Farewell, ByteWriter());
      return;
    case MessageType::Ended: edge.ended = reader.get<Ended>(); return pass_up();
    case MessageType::AllEnded: return all_have(reader.get<Ended>());
    case MessageType::Left: edge.left = true; return;
    case MessageType::Farewell: edge.farewell = true; return;
    case MessageType::Sounding: {
      const auto id = reader.get<SoundingId>();  // after what this rank's own threads have posted to tell
      return context_->poller().post([this, id, rank] { sound(id, rank); });
    }
    case MessageType::Sounded: return end_sounding(reader.get<SoundingId>(), rank);
    default: log().warn("{} sent an unexpected control message", member(rank).text());
  }
}

void Session::on_root_message(const Message& message) {
  if (message.type != MessageType::Notice) return;
  ByteReader reader(message.body);
  hear(Notice::read(reader), -1);
}

bool Session::is_unreachable(const Edge& edge) {
  const int error_number = edge.socket->error_number();
  return error_number == ETIMEDOUT || error_number == EHOSTUNREACH || error_number == ENETUNREACH;
}

/// `how`: empty where the socket has to say.
void Session::lose(int rank, const std::string& how) {
  auto node = edges_.extract(rank);
  if (node.empty()) return;
  Edge& edge = node.mapped();
  if (edge.pidfd.valid()) context_->poller().unwatch(edge.pidfd.get());
  const bool unreachable = how.empty() && is_unreachable(edge);
  const std::string end = edge.left     ? "left after a failure"
                          : how.empty() ? "died or left without rondo_destroy()"
                                        : how;
  context_->poller().post([socket = std::shared_ptr<MessageSocket>(std::move(edge.socket))] {});
  const bool is_news = all_end_ != Ended::Everything && !gone_.contains(rank);
  if (is_news && has_departed_) {  // the others see what becomes of it
    gone_.insert(rank);
    take_place();
  } else if (is_news && unreachable) {
    lose_host_of(rank);
  } else if (is_news) {
    hear(Notice::of_rank(rank, error(Code::RemoteError, "{} {}", member(rank).text(), end)), -1);
  }
  end_soundings(rank);
}

void Session::notify(const Notice& notice) {
  if (context_ == nullptr) return;
  context_->poller().post([this, notice] { hear(notice, -1); });
}

void Session::hear(const Notice& notice, int from_rank) {
  {
    std::lock_guard lock(mutex_);
    const bool known = std::any_of(heard_.begin(), heard_.end(), [&](const Notice& other) {
      return other.communicator == notice.communicator && other.rank == notice.rank;
    });
    if (known) return;
    heard_.push_back(notice);
    for (const auto& [id, attachment] : attachments_) apply(notice, attachment);
    if (notice.communicator == 0 && !notice.is_departure()) start_health_.fail(notice.status());
    changed_.notify_all();
  }
  for (auto& [rank, edge] : edges_)
    if (rank != from_rank) edge.socket->send(MessageType::Notice, notice.written());
  if (gathering_) gathering_->pass_on(notice);
  if (notice.communicator == 0 && notice.rank != rank_ && gone_.insert(notice.rank).second) take_place();
}

void Session::apply(const Notice& notice, const Attachment& attachment) {
  if (notice.is_departure()) return;
  const bool member_gone =
      notice.communicator == 0 &&
      std::find(attachment.ranks.begin(), attachment.ranks.end(), notice.rank) != attachment.ranks.end();
  if (member_gone || notice.communicator == attachment.communicator)
    attachment.health->fail(attachment.board->named(notice.status()));
}

std::shared_ptr<Board> Session::board_of(uint64_t communicator) {
  const std::lock_guard lock(mutex_);
  const auto found = attachments_.find(communicator);
  return found == attachments_.end() ? nullptr : found->second.board;
}

int Session::first_gone(std::span<const int> ranks) {
  const std::lock_guard lock(mutex_);
  for (const Notice& notice : heard_)
    if (notice.communicator == 0 && std::find(ranks.begin(), ranks.end(), notice.rank) != ranks.end())
      return notice.rank;
  return -1;
}

void Session::attach(Attachment attachment) {
  remember_board(credentials_.session, attachment.communicator, rank_, attachment.board, attachment.health);
  std::lock_guard lock(mutex_);
  for (const Notice& notice : heard_) apply(notice, attachment);
  attachments_[attachment.communicator] = std::move(attachment);
}

void Session::detach(uint64_t communicator) {
  std::lock_guard lock(mutex_);
  if (attachments_.erase(communicator) != 0) note_ends();
  forget_board(credentials_.session, communicator, rank_);
  std::erase_if(arrivals_, [&](const auto& entry) { return std::get<0>(entry.first) == communicator; });
}

void Session::finish(uint64_t communicator) {
  std::lock_guard lock(mutex_);
  if (const auto found = attachments_.find(communicator); found != attachments_.end())
    found->second.finished = true;
  note_ends();
}

bool Session::is_last(uint64_t communicator) {
  std::lock_guard lock(mutex_);
  return std::all_of(attachments_.begin(), attachments_.end(),
                     [&](const auto& one) { return one.first == communicator || one.second.finished; });
}

// --- inquiries ---

void Session::answer_inquiry(const Purpose& purpose, const Fd& fd) {
  Activities known;
  {
    std::lock_guard lock(mutex_);
    for (const auto& [id, attachment] : attachments_) {
      const auto asker = std::find(attachment.ranks.begin(), attachment.ranks.end(), purpose.from_rank);
      const Activity activity = Activity::of(
          *attachment.board,
          asker == attachment.ranks.end() ? -1 : static_cast<int>(asker - attachment.ranks.begin()));
      if (id == purpose.communicator) {
        known.here = activity;
      } else if (known.other == 0 && activity.waits()) {
        known.other = id;
        known.there = activity;
      }
    }
  }
  known.here.elsewhere = is_inside_another(credentials_.session, purpose.communicator) ? 1 : 0;
  ByteWriter answer;
  answer.put(known);
  // A fresh socket's buffer holds the few bytes of an answer, so this does not wait.
  if (const Status sent = send_message(fd, MessageType::Answer, answer, Deadline::in_ms(0), {}); !sent.ok())
    log().info("an inquiry was not answered: {}", sent.message());
}

}  // namespace rondo
