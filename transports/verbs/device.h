// SPDX-License-Identifier: Apache-2.0
// Devices: the network cards that this process has opened, and Domain, the protection domain of a session on
// one of them: keys of one session are worth nothing in another. All connections of the process share them;
// the last one closes them. A forked child opens devices of its own. Any thread; opening may take long in the
// kernel, so only threads that connect do it.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "verbs/path_history.h"
#include "verbs/ports.h"
#include "verbs/rank_location.h"
#include "verbs/settings.h"
#include "verbs/user_regions.h"

namespace rondo::verbs {

class Domain;

class Device : public std::enable_shared_from_this<Device> {
 public:
  Device(const Library& verbs, ibv_context* context, PinnedBytes& pinned);
  ~Device();
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  const Library& verbs() const { return verbs_; }
  ibv_context* context() const { return context_; }
  std::string name() const { return verbs_.get_device_name(context_->device); }
  /// Whether it has failed for good, after which nothing completes. Reads the events that have come; while
  /// another thread does so, the answer may be old.
  bool has_failed();
  /// What has happened to a port since the device was opened, as far as has_failed() has read.
  struct PortEvents {
    int64_t down_since_ns = 0;  // 0: it is not down, as far as events say
    uint32_t gid_changes = 0;
  };
  PortEvents port_events(uint8_t port);
  /// The session's domain on this device. The rest as VerbsSettings says.
  Result<std::shared_ptr<Domain>> domain(uint64_t session, uint64_t max_pinned = kUnlimited,
                                         bool on_demand = false);

 private:
  void read_events();
  void take(const ibv_async_event& event);

  const Library& verbs_;
  ibv_context* const context_;
  PinnedBytes& pinned_;
  std::mutex mutex_;  // guards domains_ and port_events_
  std::map<uint64_t, std::weak_ptr<Domain>> domains_;
  std::map<uint8_t, PortEvents> port_events_;
  std::mutex events_mutex_;  // held while events are read; taken before mutex_, if both are
  std::atomic<bool> has_failed_ = false;
};

class Domain {
 public:
  Domain(std::shared_ptr<Device> device, ibv_pd* pd, PinnedBytes& pinned, uint64_t max_pinned,
         std::shared_ptr<const Region> everything);
  ~Domain();
  Domain(const Domain&) = delete;
  Domain& operator=(const Domain&) = delete;

  Device& device() const { return *device_; }
  ibv_pd* pd() const { return pd_; }
  /// The region must end before the domain does.
  Result<std::unique_ptr<Region>> register_memory(const Region::PinnedRange& place,
                                                  Region::WrittenBy writer) const;
  UserRegions& user_regions() const { return *user_regions_; }

 private:
  Result<std::unique_ptr<Region>> register_users(const ExportableMemory& piece) const;

  const std::shared_ptr<Device> device_;
  ibv_pd* const pd_;
  PinnedBytes& pinned_;
  const uint64_t max_pinned_;
  const std::shared_ptr<UserRegions> user_regions_;
};

/// All devices of the host.
class Devices {
 public:
  Devices(PathHistory& history, PinnedBytes& pinned) : history_(history), pinned_(pinned) {}
  /// Opens them, unless a connection has; Unsupported, with every reason, if there is none.
  static Result<std::shared_ptr<Devices>> open();

  /// The ports that the settings admit, as they are now. Unsupported, with every reason, if none can be used;
  /// InvalidArgument if the settings name what is not there. `place`: from where they are near or far.
  Result<std::vector<VerbsPort>> ports(const VerbsSettings& settings = {},
                                       const RankLocation& place = {}) const;
  Result<std::shared_ptr<Device>> named(const std::string& name) const;
  /// Of the process: it outlives the devices.
  PathHistory& history() const { return history_; }

 private:
  Status open_all(const Library& verbs);
  Status open_one(const Library& verbs, ibv_device* device);

  PathHistory& history_;
  PinnedBytes& pinned_;
  std::vector<std::shared_ptr<Device>> devices_;
  std::vector<std::string> refused_;
};

}  // namespace rondo::verbs
