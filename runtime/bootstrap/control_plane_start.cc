// SPDX-License-Identifier: Apache-2.0
// How a rank joins a Session: it registers with the bootstrap root, receives the table of all members, and
// takes its place in the control tree.
#include <algorithm>

#include "base/error_kinds.h"
#include "base/settings.h"
#include "control_plane.h"

namespace rondo {
namespace {

/// A rank of the process, for messages.
std::string process_text(const std::vector<PeerInfo>& members, uint64_t process) {
  for (const PeerInfo& member : members)
    if (member.endpoint.process == process) return member.text();
  return "a process without a rank";
}

}  // namespace

Result<std::unique_ptr<ControlPlane>> ControlPlane::join(const UniqueId& id, int nranks, int rank,
                                                         const PeerGpu& device, int64_t timeout_ms,
                                                         const Interrupt& superseded,
                                                         const Interrupt& interrupt) {
  auto gathering = BootstrapRoot::claim(id.credentials.session);
  if (gathering != nullptr) gathering->allow(timeout_ms);
  std::unique_ptr<ControlPlane> session(new ControlPlane);
  RONDO_TRY_ASSIGN(session->context_, Context::get());
  session->bootstrap_root_ = std::move(gathering);
  session->credentials_ = id.credentials;
  session->rank_ = rank;
  const Status started = session->start(id, nranks, device, timeout_ms, superseded, interrupt);
  if (started.ok()) return session;
  session->give_up(started);
  return started;
}

Status ControlPlane::start(const UniqueId& id, int nranks, const PeerGpu& device, int64_t timeout_ms,
                           const Interrupt& superseded, const Interrupt& interrupt) try {
  const Deadline deadline = Deadline::in_ms(timeout_ms);
  RONDO_TRY_ASSIGN(unreachable_s_, number_setting(Setting::Unreachable, 1, 86'400, 5));
  context_->listeners().open(id.credentials, rank_,
                             [this](const ConnectRequest& purpose, Fd fd) { admit(purpose, std::move(fd)); });
  RONDO_TRY(register_with_root(id, nranks, device, deadline, superseded, interrupt));
  RONDO_TRY(grow_edges(deadline));
  tell_ps();
  return {};
} catch (const std::bad_alloc&) {
  return out_of_memory();
}

/// Ranks that have no edges yet are told by the root.
void ControlPlane::give_up(const Status& cause) {
  if (context_ == nullptr) return;
  const FailureNotice notice = FailureNotice::of_rank(rank_, failed_in_init(*context_, rank_, cause));
  context_->event_loop().call([&] {
    if (bootstrap_root_) bootstrap_root_->give_up(notice.status());
    if (root_) root_->send(MessageType::FailureNotice, notice.written());
    hear({notice}, -1);
  });
}

/// Gives up on a silent address after kSilence_ms: a host that is down never answers, and its id may have
/// been replaced since.
Result<Fd> ControlPlane::reach_root(const UniqueId& id, const Deadline& deadline,
                                    const Interrupt& superseded) {
  constexpr int kSilence_ms = 30'000;
  const ConnectRequest purpose{
      .kind = ConnectKind::Register, .from_rank = rank_, .to_rank = Listeners::kRoot};
  std::vector<Address> addresses{Address::abstract_unix(unix_name(id.process))};
  for (const IpAddress& ip : by_locality(id.addresses, context_->interfaces()))
    addresses.push_back(Address::tcp(ip, id.tcp_port));
  for (;;) {
    Contact contact = Contact::None;
    auto fd = dial_any(addresses, id.credentials, purpose,
                       Deadline::in_ms(std::min(deadline.left_ms(), kSilence_ms)), superseded, &contact);
    if (fd.ok()) return fd;
    const Status& failure = fd.status();
    const bool is_silent = failure.code() == Code::Timeout && !deadline.passed();
    if (is_silent && contact == Contact::Made) continue;  // it is busy
    if (contact == Contact::None) return failure;
    const bool is_gone = is_silent || failure.code() == Code::RemoteError;
    return failure.within(kRootUnreachable).as(is_gone ? Code::SystemError : failure.code());
  }
}

Status ControlPlane::register_with_root(const UniqueId& id, int nranks, const PeerGpu& device,
                                        const Deadline& deadline, const Interrupt& superseded,
                                        const Interrupt& interrupt) {
  RONDO_TRY_ASSIGN(Fd fd, reach_root(id, deadline, superseded));
  PeerInfo self = context_->self(device);
  self.rank = rank_;
  self.nranks = nranks;
  ByteWriter registration;
  self.write(registration);
  constexpr const char* kRootGone =
      "the bootstrap root died, failed in init (its own message says why) or does not answer";
  RONDO_TRY(send_message(fd, MessageType::Registration, registration, deadline, interrupt).within(kRootGone));
  constexpr int64_t kGrace_ms = 2000;  // the root times out first: it knows which ranks are missing
  auto reply = receive_message(fd, Deadline::in_ms(deadline.left_ms() + kGrace_ms), interrupt);
  if (!reply.ok()) return reply.status().within(kRootGone);
  RONDO_TRY(read_table(reply.value(), nranks));
  context_->event_loop().call([&] {
    root_ = std::make_unique<FramedSocket>(
        context_->event_loop(), std::move(fd),
        [this](const ControlMessage& message) { on_root_message(message); },
        [this, process = id.process] {
          {
            const std::lock_guard lock(mutex_);
            start_health_.fail(error(ErrorKind::RankDiedAtStart,
                                     "{}, the bootstrap root, died while the ranks were starting",
                                     process_text(members_, process)));
            changed_.notify_all();
          }
          context_->event_loop().post([root = std::shared_ptr<FramedSocket>(std::move(root_))] {});
        });
  });
  return {};
}

Status ControlPlane::read_table(const ControlMessage& message, int nranks) {
  ByteReader reader(message.body);
  if (message.type == MessageType::Refusal) return FailureNotice::read(reader).status();
  if (message.type == MessageType::Table && reader.get<int>() == nranks)
    for (int i = 0; i < nranks; ++i) members_.push_back(PeerInfo::read(reader));
  if (members_.empty() || !reader.ok())
    return Status(ErrorKind::MessageBroken, "the bootstrap root sent an invalid message");
  return {};
}

Status ControlPlane::grow_edges(const Deadline& deadline) {
  std::vector<uint64_t> hosts;
  for (const PeerInfo& member : members_) hosts.push_back(member.endpoint.host);
  context_->event_loop().call([&, this] {
    parents_ = control_parents(hosts);
    tree_ = control_tree(parents_, {}, rank_);
    seated_ = true;
    for (auto& [child, fd] : early_edges_) add_edge(child, std::move(fd));
    early_edges_.clear();
  });
  if (tree_.parent >= 0) {
    const auto failed = [this] { return start_health_.cause(); };
    auto fd = dial(tree_.parent, route_to(tree_.parent), ConnectRequest{.kind = ConnectKind::Control},
                   deadline, failed);
    if (!fd.ok()) return first_news(fd.status());
    auto shared = std::make_shared<Fd>(fd.take());
    context_->event_loop().post([this, shared] { add_edge(tree_.parent, std::move(*shared)); });
  }
  std::unique_lock lock(mutex_);
  const auto is_connected = [this] {
    return established_.size() == tree_.children.size() + (tree_.parent >= 0 ? 1 : 0);
  };
  while (!is_connected() && !start_health_.failed()) {
    if (changed_.wait_for(lock, std::chrono::milliseconds(deadline.left_ms())) == std::cv_status::timeout &&
        deadline.passed())
      break;
  }
  if (start_health_.failed()) return start_health_.cause();
  if (!is_connected())
    return Status(ErrorKind::NeighboursSilent,
                  "start-up: neighbours in the control tree did not answer in time");
  lock.unlock();
  context_->event_loop().post([this] {
    connected_ = true;
    take_place();
    if (root_) root_->send(MessageType::Ready, ByteWriter());
    root_.reset();
  });
  return {};
}

/// rondo-ps may now ask this process about those of other hosts.
void ControlPlane::tell_ps() {
  if (context_->ps() == nullptr) return;
  context_->ps()->add({.credentials = credentials_,
                       .rank = rank_,
                       .members = members_,
                       .addresses = [this](const PeerInfo& peer) { return addresses_of(peer, Route::Tcp); },
                       .end_of = [this](int rank) { return end_of(rank); }});
}

/// A failure notice that names the cause may still be in flight; waits briefly for it.
Status ControlPlane::first_news(const Status& failure) {
  constexpr auto kNewsMayTake = std::chrono::milliseconds(300);
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, kNewsMayTake, [this] { return start_health_.failed(); });
  return start_health_.failed() ? start_health_.cause() : failure;
}

}  // namespace rondo
