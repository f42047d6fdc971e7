// SPDX-License-Identifier: Apache-2.0
#include "verbs/handshake.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <set>

#include "base/error_kinds.h"
#include "base/quiet_thread.h"
#include "verbs/gid_choice.h"

namespace rondo::verbs {
Handshake::~Handshake() { stop(); }

Fd Handshake::stop() {
  if (thread_.joinable()) {
    conversation_.close();
    thread_.join();
  }
  return conversation_.take_socket();
}

Status Handshake::begin(Fd socket) {
  RONDO_TRY(conversation_.begin(std::move(socket)));
  done_ = Fd(::eventfd(0, EFD_CLOEXEC));
  if (!done_.valid()) return system_error("eventfd", errno);
  RONDO_TRY_ASSIGN(thread_, try_quiet_thread("rondo-handshake", [this] { run(); }));
  return {};
}

void Handshake::run() {
  connected_ = connect();
  if (!connected_.ok()) conversation_.end_sending();
  is_refused_ = is_refused_ || conversation_.peer_refuses();
  over_.store(true, std::memory_order_release);  // pairs with is_over(): the outcome is complete
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = ::write(done_.get(), &one, sizeof one);
}

Result<Handshake::Connected> Handshake::connect() {
  RONDO_TRY(exchange_ports());
  return terms_.dials ? propose_paths() : follow_proposals();
}

/// Packets of other partitions are dropped without a word.
Status Handshake::check_settings(const PortOffer& peers) {
  const PartitionKey& partition = terms_.settings.partition;
  if (const uint32_t own = partition.number(); own != 0 && peers.partition != 0 && own != peers.partition)
    return error(ErrorKind::VerbsSettingsDiffer, "{} is {:#06x} at this end and {:#06x} at the other",
                 partition.variable, own, peers.partition);
  const uint32_t pairs = terms_.settings.queue_pairs;
  pairs_ = pairs != 0 ? pairs : peers.pairs;
  if (peers.pairs == 0 || pairs_ == peers.pairs) return {};
  return error(ErrorKind::VerbsSettingsDiffer, "{} is {} at this end and {} at the other",
               terms_.settings.queue_pairs_variable, pairs, peers.pairs);
}

/// The lists of ports go one way after the other: sockets may hold less than both.
Status Handshake::exchange_ports() {
  if (lost_.was_last)
    return give_up<PortOffer>(error(Code::Unsupported, "one path after the other fails: {}", lost_.failure));
  auto devices = Devices::open();
  auto ports = devices.ok() ? devices.value()->ports(terms_.settings, terms_.place) : devices.status();
  if (!ports.ok()) return give_up<PortOffer>(ports.status());
  devices_ = devices.take();
  own_ports_ = ports.take();
  ByteWriter own;
  write_ports(own, own_ports_);
  if (own.bytes().size() > PortOffer::kMaxPortBytes)
    return give_up<PortOffer>(error(Code::Unsupported, "{} ports are too many", own_ports_.size()));
  RONDO_TRY(conversation_.send(PortOffer{.port_bytes = static_cast<uint32_t>(own.bytes().size()),
                                         .partition = terms_.settings.partition.number(),
                                         .turn = terms_.turn,
                                         .pairs = terms_.settings.queue_pairs,
                                         .slot_bytes = terms_.params.slot_bytes,
                                         .slots = terms_.params.slots}));
  RONDO_TRY_ASSIGN(const PortOffer peers, conversation_.receive<PortOffer>());
  RONDO_TRY(check_settings(peers));
  peers_turn_ = peers.turn;
  if (terms_.dials) RONDO_TRY(conversation_.send_bytes(own.bytes().data(), own.bytes().size()));
  std::vector<std::byte> bytes(peers.port_bytes);
  RONDO_TRY(conversation_.receive_bytes(bytes.data(), bytes.size()));
  if (!terms_.dials) RONDO_TRY(conversation_.send_bytes(own.bytes().data(), own.bytes().size()));
  RONDO_TRY_ASSIGN(peers_ports_, ports_of(bytes));
  return {};
}

Result<Handshake::Connected> Handshake::connected() {
  Connected made{.text = text_of_all()};
  std::set<std::string> devices;
  for (const VerbsPath& path : paths_) {
    const std::string name = text(path);
    const bool is_known = std::find(made.paths.begin(), made.paths.end(), name) != made.paths.end();
    const VerbsPath::PathEnd& own = terms_.dials ? path.dialler : path.acceptor;
    if (!is_known) made.watched.push_back({watch_of(own), made.paths.size()});
    made.paths.push_back(name);
    devices.insert(own_ports_[own.port].device);
  }
  made.devices = devices.size();
  made.parts = {.devices = devices_,
                .layout = terms_.layout(),
                .peer_rank = terms_.peer,
                .gpu_obstacle = gpu_obstacle(),
                .pairs = nullptr};
  RONDO_TRY_ASSIGN(made.parts.pairs, PairSet::make(terms_.layout(), terms_.peer, std::move(ends_)));
  return made;
}

/// Through the root of the PCI bus devices reach one another slowly, or not at all.
std::string Handshake::gpu_obstacle() const {
  const auto wanted = terms_.settings.gpu_direct;
  if (wanted && !*wanted) return "RONDO_IB_GPU_DIRECT is 0";
  for (const VerbsPath& path : paths_) {
    const VerbsPort& port = own_ports_[(terms_.dials ? path.dialler : path.acceptor).port];
    if (!wanted && (terms_.place.gpu.empty() || !is_below_gpus_root(port.distance)))
      return fmt::format(
          "{} is not below the same PCI root as the GPU (RONDO_IB_GPU_DIRECT=1 uses it anyway)", port.name());
  }
  return {};
}

PortWatch Handshake::watch_of(const VerbsPath::PathEnd& used) const {
  const auto watched = [&](const VerbsPort& port) {
    return PortWatch::WatchedPort{devices_->named(port.device).take(), port.number};
  };
  std::vector<PortWatch::WatchedPort> others;
  for (const VerbsPort& port : own_ports_) {
    const bool reaches = std::any_of(peers_ports_.begin(), peers_ports_.end(), [&](const VerbsPort& peer) {
      return !address_pairs(port, peer).empty();
    });
    if (reaches && &port != &own_ports_[used.port]) others.push_back(watched(port));
  }
  const VerbsPort& port = own_ports_[used.port];
  std::optional<Gid> gid;
  if (used.gid >= 0) gid = port.gids[static_cast<size_t>(used.gid)];
  return {watched(port), std::move(gid), std::move(others), terms_.settings.give_up_us()};
}

}  // namespace rondo::verbs
