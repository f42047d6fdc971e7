// SPDX-License-Identifier: Apache-2.0
#include "verbs/device.h"

#include <fcntl.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/clock.h"
#include "base/error_kinds.h"
#include "base/log.h"
#include "base/network_interfaces.h"

namespace rondo::verbs {
namespace {

/// What the connections of one process share. A forked child leaves its parent's alone, lock included, and
/// makes its own.
struct OpenDevices {
  const pid_t owner = ::getpid();
  std::mutex mutex;
  std::weak_ptr<Devices> devices;
  PathHistory history;
  PinnedBytes pinned;
};

OpenDevices& registry() {
  static std::atomic<OpenDevices*> current = nullptr;
  OpenDevices* found = current.load(std::memory_order_acquire);
  if (found != nullptr && found->owner == ::getpid()) return *found;
  auto made = std::make_unique<OpenDevices>();
  // Pairs with the acquire loads: the registry is complete.
  if (current.compare_exchange_strong(found, made.get(), std::memory_order_acq_rel)) return *made.release();
  return *found;
}

const char* cure_for(int cause) {
  switch (cause) {
    case EACCES:
    case EPERM: return "; this user may not open /dev/infiniband/uverbs*";
    case ENOENT: return "; has the container been started without --device /dev/infiniband?";
    default: return "";
  }
}

Status nothing_usable(const std::vector<std::string>& refused) {
  if (refused.empty())
    return error(ErrorKind::NoVerbsDevice, "InfiniBand verbs cannot be used: this host has no device");
  return error(ErrorKind::NoVerbsPort, "InfiniBand verbs cannot be used: {}", fmt::join(refused, "; "));
}

}  // namespace

Device::Device(const Library& verbs, ibv_context* context, PinnedBytes& pinned)
    : verbs_(verbs), context_(context), pinned_(pinned) {
  ::fcntl(context->async_fd, F_SETFL, ::fcntl(context->async_fd, F_GETFL) | O_NONBLOCK);
}

void Device::read_events() {
  const std::unique_lock lock(events_mutex_, std::try_to_lock);
  ibv_async_event event{};
  while (lock.owns_lock() && verbs_.get_async_event(context_, &event) == 0) {
    take(event);
    verbs_.ack_async_event(&event);
  }
}

void Device::take(const ibv_async_event& event) {
  const std::lock_guard lock(mutex_);
  const auto port = static_cast<uint8_t>(event.element.port_num);
  switch (event.event_type) {
    case IBV_EVENT_DEVICE_FATAL: has_failed_ = true; break;
    case IBV_EVENT_PORT_ERR: port_events_[port].down_since_ns = now_ns(); break;
    case IBV_EVENT_PORT_ACTIVE: port_events_[port].down_since_ns = 0; break;
    case IBV_EVENT_GID_CHANGE: ++port_events_[port].gid_changes; break;
    default: break;
  }
}

bool Device::has_failed() {
  read_events();
  return has_failed_;
}

Device::PortEvents Device::port_events(uint8_t port) {
  const std::lock_guard lock(mutex_);
  const auto found = port_events_.find(port);
  return found != port_events_.end() ? found->second : PortEvents();
}

Device::~Device() { verbs_.close_device(context_); }

Result<std::shared_ptr<Domain>> Device::domain(uint64_t session, uint64_t max_pinned, bool on_demand) {
  const std::lock_guard lock(mutex_);
  std::erase_if(domains_, [](const auto& entry) { return entry.second.expired(); });
  if (auto known = domains_[session].lock()) return known;
  ibv_pd* const pd = verbs_.alloc_pd(context_);
  if (pd == nullptr) return system_error(fmt::format("ibv_alloc_pd({})", name()), errno);
  std::shared_ptr<const Region> everything;
  if (on_demand) {
    auto registered = Region::make_of_everything(verbs_, pd, pinned_);
    if (registered.ok())
      everything = registered.take();
    else
      log().info("messages from memory that was not registered are copied: {}",
                 registered.status().message());
  }
  auto made = std::make_shared<Domain>(shared_from_this(), pd, pinned_, max_pinned, std::move(everything));
  domains_[session] = made;
  return made;
}

Domain::Domain(std::shared_ptr<Device> device, ibv_pd* pd, PinnedBytes& pinned, uint64_t max_pinned,
               std::shared_ptr<const Region> everything)
    : device_(std::move(device)),
      pd_(pd),
      pinned_(pinned),
      max_pinned_(max_pinned),
      user_regions_(std::make_shared<UserRegions>(
          [this](const ExportableMemory& piece) { return register_users(piece); }, std::move(everything))) {}

Domain::~Domain() {
  user_regions_->end();  // a thread that frees memory may have hold of it
  device_->verbs().dealloc_pd(pd_);
}

Result<std::unique_ptr<Region>> Domain::register_memory(const Region::PinnedRange& place,
                                                        Region::WrittenBy writer) const {
  return Region::make(device_->verbs(), pd_, place, writer, pinned_, max_pinned_);
}

/// For messages that leave from there, and that go there unless the memory can only be read.
Result<std::unique_ptr<Region>> Domain::register_users(const ExportableMemory& piece) const {
  if (piece.gpu != nullptr) return Region::make_of_gpu(device_->verbs(), pd_, piece, pinned_);
  const Region::PinnedRange place{piece.begin, piece.bytes};
  auto made = register_memory(place, Region::WrittenBy::Peer);
  const bool is_limit = made.status().code() == Code::InvalidUsage;
  return made.ok() || is_limit ? std::move(made) : register_memory(place, Region::WrittenBy::Owner);
}

Status Devices::open_one(const Library& verbs, ibv_device* device) {
  const char* const name = verbs.get_device_name(device);
  if (device->transport_type == IBV_TRANSPORT_IWARP)
    return error(Code::Unsupported, "{} is iWARP, which has no immediate data", name);
  if (device->transport_type != IBV_TRANSPORT_IB)
    return error(Code::Unsupported, "{} is neither InfiniBand nor RoCE", name);
  ibv_context* const context = verbs.open_device(device);
  if (context == nullptr)
    return error(Code::Unsupported, "{} cannot be opened: {}{}", name, std::strerror(errno), cure_for(errno));
  devices_.push_back(std::make_shared<Device>(verbs, context, pinned_));
  return {};
}

Status Devices::open_all(const Library& verbs) {
  int count = 0;
  ibv_device** const list = verbs.get_device_list(&count);
  if (list == nullptr)
    return error(ErrorKind::NoVerbsDevice, "InfiniBand verbs cannot be used: the kernel lists no devices: {}",
                 std::strerror(errno));
  for (int i = 0; i < count; ++i)
    if (const Status opened = open_one(verbs, list[i]); !opened.ok()) refused_.push_back(opened.message());
  verbs.free_device_list(list);
  return devices_.empty() ? nothing_usable(refused_) : Status();
}

Result<std::shared_ptr<Devices>> Devices::open() {
  RONDO_TRY_ASSIGN(const Library* verbs, library());
  OpenDevices& shared = registry();
  const std::lock_guard lock(shared.mutex);
  if (auto known = shared.devices.lock()) return known;
  // Before the first registration; without need where the kernel copies registered pages when it forks.
  if (const int failed = verbs->fork_init(); failed != 0)
    log().info("ibv_fork_init: {}: a fork may disturb memory of this process that is registered",
               std::strerror(failed));
  auto made = std::make_shared<Devices>(shared.history, shared.pinned);
  RONDO_TRY(made->open_all(*verbs));
  shared.devices = made;
  return made;
}

/// Ports that are down are numbered too, so that both hosts count alike.
Result<std::vector<VerbsPort>> Devices::ports(const VerbsSettings& settings,
                                              const RankLocation& place) const {
  std::vector<QueriedPort> found;
  std::vector<std::string> refused = refused_;
  for (const auto& device : devices_)
    if (device->has_failed())
      refused.push_back(device->name() + " has failed");
    else if (const Status added = add_ports(device->verbs(), device->context(), found); !added.ok())
      refused.push_back(added.message());
  std::vector<VerbsPort> ports;
  for (const QueriedPort& one : found) {
    ports.push_back(one.port);
    ports.back().distance = port_distance(place, one.folder, one.port.numa);
  }
  number_rails(ports);
  RONDO_TRY(settings.ports.apply(ports));
  std::erase_if(ports, [&](const VerbsPort& port) {
    const auto one = std::find_if(found.begin(), found.end(),
                                  [&](const QueriedPort& other) { return other.port.name() == port.name(); });
    if (!one->obstacle.empty()) refused.push_back(port.name() + " " + one->obstacle);
    return !one->obstacle.empty();
  });
  const std::string filter = interface_filter().value;
  const auto admits = [&](std::string_view name) {
    return filter.empty() || interface_matches(filter, name);
  };
  Status no_gid;
  std::erase_if(ports, [&](VerbsPort& port) {
    const Status offered = offer_gids(port, settings.gid, admits);
    if (!offered.ok()) no_gid = offered;
    return !offered.ok();
  });
  if (ports.empty()) return no_gid.ok() ? nothing_usable(refused) : no_gid;
  return ports;
}

Result<std::shared_ptr<Device>> Devices::named(const std::string& name) const {
  for (const auto& device : devices_)
    if (device->name() == name) return device;
  return error(Code::InternalError, "the device {} is not open", name);
}

}  // namespace rondo::verbs
