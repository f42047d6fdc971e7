// SPDX-License-Identifier: Apache-2.0
#include "comm/create.h"

#include <algorithm>
#include <atomic>
#include <numeric>
#include <thread>

#include "base/error_kinds.h"
#include "base/quiet_thread.h"
#include "base/settings.h"
#include "bootstrap/device_choice.h"
#include "bootstrap/rendezvous.h"
#include "comm/group.h"
#include "gpu/device.h"
#include "init_siblings.h"
#include "this_host/described_host.h"
#include "topology/binding.h"
#include "topology/host.h"

namespace rondo {
namespace {

/// RONDO_PIN: binds the calling thread to the CPU for this rank's position among the ranks of its host.
Status pin_if_wanted(const Session& session) {
  RONDO_TRY_ASSIGN(const bool wanted, switch_setting(Setting::Pin, false));
  if (!wanted) return {};
  int ranks_here = 0;
  int place = 0;
  for (int rank = 0; rank < session.size(); ++rank) {
    if (!session.is_on_this_host(rank)) continue;
    if (rank < session.rank()) ++place;
    ++ranks_here;
  }
  RONDO_TRY_ASSIGN(const HostInfo host, detect_host());
  const auto cpus = place_ranks(host, ranks_here);
  return cpus.empty() ? Status() : bind_thread(cpus[static_cast<size_t>(place)]);
}

Result<CommunicatorPtr> make_world(std::shared_ptr<Session> session, Communicator::Options options) try {
  RONDO_TRY(pin_if_wanted(*session));
  std::vector<int> ranks(static_cast<size_t>(session->size()));
  std::iota(ranks.begin(), ranks.end(), 0);
  const int self = session->rank();
  if (options.name.empty()) options.name = "world";
  return Communicator::make(std::move(session), Session::kWorld, std::move(ranks), self, std::move(options));
} catch (const std::bad_alloc&) {
  return out_of_memory();
}

Result<CommunicatorPtr> world_of(const std::shared_ptr<Session>& session, Communicator::Options options) {
  auto made = make_world(session, std::move(options));
  if (!made.ok()) session->give_up(made.status());
  return made;
}

/// The GPU of the joining rank. Where NVLink joins all GPUs, nothing depends on how the host is described.
Result<PeerGpu> device_of(const Communicator::Options& options) {
  RONDO_TRY_ASSIGN(PeerGpu gpu, open_device(options.devices.empty() ? -1 : options.devices.front()));
  if (gpu.ordinal < 0) return gpu;
  RONDO_TRY_ASSIGN(const int seen, gpu::device_count());
  if (std::ssize(gpu.linked) < seen) gpu.host = hash_of_this_host();
  return gpu;
}

Result<CommunicatorPtr> alone(Communicator::Options options) {
  RONDO_TRY_ASSIGN(const PeerGpu device, device_of(options));
  return world_of(Session::alone(device), std::move(options));
}

/// Each rank's arguments to a split.
struct ColorAndKey {
  int32_t color;
  int32_t key;
};

Result<std::vector<ColorAndKey>> gather_choices(Communicator& parent, ColorAndKey own) {
  std::vector<ColorAndKey> choices(static_cast<size_t>(parent.size()));
  Call call;
  call.kind = CollectiveKind::AllGather;
  call.send = &own;
  call.recv = choices.data();
  call.count = 2;
  call.type = CallType::of(ElementType::Int32);
  call.purpose = CallPurpose::Split;
  RONDO_TRY(submit({.communicator = &parent, .what = std::move(call)}));  // in order, after queued calls
  return choices;
}

}  // namespace

Result<int64_t> init_timeout_ms() {
  return seconds_setting_ms(Setting::InitTimeout, Communicator::Options().init_timeout_ms);
}

Result<UniqueId> make_unique_id() {
  RONDO_TRY_ASSIGN(const int64_t timeout_ms, init_timeout_ms());
  return start_root(timeout_ms);
}

Result<CommunicatorPtr> join(const UniqueId& id, int nranks, int rank, Communicator::Options options,
                             const Interrupt& superseded, const Interrupt& interrupt) {
  if (nranks < 1) return error(Code::InvalidArgument, "nranks is {}: it must be at least 1", nranks);
  if (rank < 0 || rank >= nranks)
    return error(ErrorKind::RankOutOfRange, "rank is {}: it must be from 0 to {}", rank, nranks - 1);
  if (nranks == 1) {
    end_root(id);  // no other rank will join
    return alone(std::move(options));
  }
  const Result<PeerGpu> device = device_of(options);
  if (!device.ok()) {
    fail_root(id, rank, device.status());
    return device.status();
  }
  RONDO_TRY_ASSIGN(const auto session, Session::join(id, nranks, rank, device.value(),
                                                     options.init_timeout_ms, superseded, interrupt));
  return world_of(session, std::move(options));
}

Result<std::vector<CommunicatorPtr>> join_all(int nranks, const Communicator::Options& options) {
  if (nranks < 1) return error(Code::InvalidArgument, "nranks is {}: it must be at least 1", nranks);
  RONDO_TRY_ASSIGN(const UniqueId id, make_unique_id());
  std::vector<CommunicatorPtr> joined(static_cast<size_t>(nranks));
  std::vector<Status> outcomes(joined.size());
  std::vector<std::thread> threads;
  std::atomic<bool> is_short_of_threads{false};
  const auto interrupt = [&]() -> Status {
    return is_short_of_threads
               ? Status(ErrorKind::TooManyThreads, "another rank of the process has no thread")
                     .as(Code::Aborted)
               : Status();
  };
  Status started;
  for (int rank = 0; rank < nranks && started.ok(); ++rank) {
    auto thread = try_quiet_thread("rondo-init", [&, rank] {
      Communicator::Options own = options;
      if (!own.devices.empty()) own.devices = {own.devices[static_cast<size_t>(rank) % own.devices.size()]};
      auto one = join(id, nranks, rank, std::move(own), interrupt, interrupt);
      outcomes[static_cast<size_t>(rank)] = one.status();
      if (one.ok()) joined[static_cast<size_t>(rank)] = one.take();
    });
    started = thread.status();
    if (started.ok()) threads.push_back(thread.take());
  }
  is_short_of_threads = !started.ok();
  for (std::thread& thread : threads) thread.join();
  RONDO_TRY(started);
  for (const Status& outcome : outcomes) RONDO_TRY(outcome);
  const auto init_siblings = std::make_shared<InitSiblings>(nranks);
  for (const CommunicatorPtr& one : joined) one->join(init_siblings);
  return joined;
}

Result<CommunicatorPtr> join_by_method(const std::string& text, Communicator::Options options) {
  RONDO_TRY_ASSIGN(const Method method, parse_method(text));
  if (method.launch.size == 1) return alone(std::move(options));
  const Deadline deadline = Deadline::in_ms(options.init_timeout_ms);
  RONDO_TRY_ASSIGN(RendezvousResult meeting, meet(method, options.init_timeout_ms, nullptr));
  for (;;) {
    auto joined = join(meeting.id, method.launch.size, method.launch.rank, options, meeting.superseded);
    if (joined.ok() || !meeting.superseded) return joined;
    // The process that made an earlier run's id cannot be reached, or ends while this rank waits for others.
    if (!Session::is_root_gone(joined.status()) && meeting.superseded().ok()) return joined;
    auto next = meet(method, deadline.left_ms(), &meeting.id);
    if (!next.ok()) return joined;
    meeting = next.take();
    options.init_timeout_ms = deadline.left_ms();
  }
}

Result<CommunicatorPtr> split(Communicator& parent, int color, int key, Communicator::Options options) {
  RONDO_TRY(refuse_in_group("splitting or duplicating a communicator"));
  RONDO_TRY_ASSIGN(const auto choices, gather_choices(parent, {color, key}));
  const uint64_t id = parent.next_child_id(color);
  if (color < 0) return CommunicatorPtr();
  std::vector<int> members;
  for (int rank = 0; rank < parent.size(); ++rank)
    if (choices[static_cast<size_t>(rank)].color == color) members.push_back(rank);
  std::stable_sort(members.begin(), members.end(), [&](int a, int b) {
    return choices[static_cast<size_t>(a)].key < choices[static_cast<size_t>(b)].key;
  });
  const auto self = std::find(members.begin(), members.end(), parent.rank()) - members.begin();
  for (int& rank : members) rank = parent.membership().session_rank(rank);
  if (options.name.empty()) options.name = parent.child_name(color);
  RONDO_TRY_ASSIGN(auto made, Communicator::make(parent.membership().session(), id, std::move(members),
                                                 static_cast<int>(self), std::move(options)));
  made->join(parent.init_siblings());
  return made;
}

}  // namespace rondo
