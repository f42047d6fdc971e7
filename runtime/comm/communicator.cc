// SPDX-License-Identifier: Apache-2.0
#include "comm/communicator.h"

#include <fmt/ranges.h>

#include <atomic>
#include <map>
#include <set>
#include <utility>

#include "base/error_kinds.h"
#include "base/log.h"
#include "base/settings.h"
#include "bootstrap/device_choice.h"
#include "call/check.h"
#include "cause_search.h"
#include "comm/requests.h"
#include "exec/connection_executor.h"
#include "gpu/device.h"
#include "gpu/rdma_memory.h"
#include "gpu_calls.h"
#include "health/flight_file.h"
#include "health/metrics_file.h"
#include "health/trace.h"
#include "plan/comm_topology.h"
#include "plan/preference.h"
#include "shm_pull/shm_executor.h"
#include "stacks/program_place.h"
#include "this_host/described_host.h"
#include "topology/cache.h"

namespace rondo {
namespace {

Result<ConnectionParams> params_from_settings() {
  ConnectionParams params;
  constexpr int64_t kMaxSlotBytes = int64_t{1} << 30;
  RONDO_TRY_ASSIGN(const int64_t slot_bytes, size_setting(Setting::SlotBytes, 64, kMaxSlotBytes, 0));
  RONDO_TRY_ASSIGN(const int64_t slots, number_setting(Setting::Slots, 1, 1024, 0));
  RONDO_TRY_ASSIGN(const int64_t sockets, number_setting(Setting::TcpSockets, 1, 64, 0));
  RONDO_TRY_ASSIGN(const int64_t seed, number_setting(Setting::SimSeed, 0, INT64_MAX, 0));
  RONDO_TRY_ASSIGN(params.sim_delay_us,
                   number_setting(Setting::SimDelay, 0, 1'000'000'000, params.sim_delay_us));
  if (setting(Setting::ReadPeer)) {
    RONDO_TRY_ASSIGN(const bool read_peer, switch_setting(Setting::ReadPeer, false));
    params.read_peer = read_peer ? ReadPeer::Always : ReadPeer::Never;
  }
  params.slot_bytes = static_cast<size_t>(slot_bytes) / 64 * 64;
  params.slots = static_cast<int>(slots);
  params.sockets = static_cast<int>(sockets);
  params.sim_seed = static_cast<uint64_t>(seed);
  return params;
}

/// Whether its plan serves every call with the same key.
bool is_like_others(const Call& call) { return !call.varying && !call.is_internal(); }

void warn_of_unknown_variables() {
  static std::atomic_flag is_said;
  if (is_said.test_and_set()) return;
  for (const std::string& sentence : unknown_variables()) log().warn("{}", sentence);
}

RanksOfMachine ranks_of_machine(const Membership& membership) {
  RanksOfMachine ranks{.nranks = membership.size()};
  std::set<uint64_t> hosts;
  for (int rank = 0; rank < membership.size(); ++rank) {
    hosts.insert(membership.peer(rank).endpoint.host);
    ranks.bus_ids.push_back(membership.peer(rank).device.bus_id);
  }
  ranks.hosts = static_cast<int>(hosts.size());
  ranks.describe = [] {
    DetectOptions options;
    options.visible_devices.reset();  // every rank may have another
    return described_host(options);
  };
  return ranks;
}

}  // namespace

Result<Communicator::Options> Communicator::options(const UserConfig& config) {
  RONDO_TRY(read_log_file());
  RONDO_TRY(read_log_level());
  RONDO_TRY(read_flight_file_name());
  RONDO_TRY(read_metrics_file_name());
  RONDO_TRY(read_stacks_setting());
  RONDO_TRY(read_trace_settings());
  warn_of_unknown_variables();
  Options options;
  if (config.timeout_ms < 0)
    return error(ErrorKind::ConfigInvalid, "config.timeout_ms is {}: it must be at least 0",
                 config.timeout_ms);
  RONDO_TRY_ASSIGN(options.timeout_ms, seconds_setting_ms(Setting::Timeout, options.timeout_ms));
  if (config.timeout_ms != 0) options.timeout_ms = config.timeout_ms;
  if (config.init_timeout_ms < 0)
    return error(ErrorKind::ConfigInvalid, "config.init_timeout_ms is {}: it must be at least 0",
                 config.init_timeout_ms);
  RONDO_TRY_ASSIGN(options.init_timeout_ms,
                   seconds_setting_ms(Setting::InitTimeout, options.init_timeout_ms));
  if (config.init_timeout_ms != 0) options.init_timeout_ms = config.init_timeout_ms;
  RONDO_TRY_ASSIGN(options.params, params_from_settings());
  const auto requested = [](const char* wished, Setting otherwise) {
    return wished ? std::string(wished) : setting(otherwise).value_or("");
  };
  const std::string transport_name = requested(config.transport, Setting::Transport);
  RONDO_TRY_ASSIGN(options.pull_bytes,
                   size_setting(Setting::ExchangeBytes, 0, ShmExecutor::kMaxBytes, options.pull_bytes));
  RONDO_TRY_ASSIGN(options.stream_bytes,
                   size_setting(Setting::StreamBytes, 0, INT64_MAX, options.stream_bytes));
  RONDO_TRY_ASSIGN(options.levels, requested_levels());
  if (!transport_name.empty()) {
    RONDO_TRY_ASSIGN(options.transport, transport_by_name(transport_name));
  }
  RONDO_TRY_ASSIGN(const bool reproducible, switch_setting(Setting::Reproducible, false));
  RONDO_TRY_ASSIGN(options.selector,
                   Selector::parse(requested(config.algorithm, Setting::Algorithm), reproducible));
  RONDO_TRY_ASSIGN(options.protocol, requested_protocol(config.protocol));
  RONDO_TRY_ASSIGN(options.channels, requested_channels(config.channels));
  RONDO_TRY_ASSIGN(options.devices, choose_devices(requested(config.device, Setting::Device)));
  constexpr int kMaxTrafficClass = 255;
  if (config.traffic_class < 0 || config.traffic_class > kMaxTrafficClass)
    return error(ErrorKind::ConfigInvalid, "config.traffic_class is {}: it must be from 0 to {}",
                 config.traffic_class, kMaxTrafficClass);
  options.params.traffic_class = static_cast<uint8_t>(config.traffic_class);
  if (config.name != nullptr) options.name = config.name;
  return options;
}

Communicator::Communicator(MembershipPtr membership, Options options, const ConnectionParams& params)
    : membership_(std::move(membership)),
      options_(std::move(options)),
      params_(params),
      connections_(membership_, options_.transport, params_),
      messages_(rank(), size(),
                [this](int source, int destination) { return connections_.messages(source, destination); }),
      requests_(std::make_shared<Requests>()),
      started_calls_(std::make_shared<Requests>()),
      cause_search_(std::make_unique<CauseSearch>(membership_)) {}

ConnectionParams Communicator::gpu_params() const {
  ConnectionParams params = params_;
  if (options_.params.slots == 0) params.slots = ConnectionParams().slots;
  return params;
}

Result<std::unique_ptr<Communicator>> Communicator::make(std::shared_ptr<Session> session, uint64_t id,
                                                         std::vector<int> ranks, int self, Options options) {
  const CommTopology topology(*session, ranks, options.transport);
  ConnectionParams params = topology.settle(options.params);
  if (const int gpu = session->member(session->rank()).device.ordinal; gpu >= 0) {
    if (auto bus_id = gpu::bus_id(gpu); bus_id.ok()) params.gpu = bus_id.take();
    const auto visibility = gpu::rdma_visibility(gpu);
    params.gpu_reads_back = visibility.ok() && visibility.value() == GpuMemory::Visibility::AfterRead;
  }
  const auto membership =
      std::make_shared<Membership>(session, id, std::move(ranks), self, options.name, options.timeout_ms);
  options.selector.use(std::make_shared<FoundPlans>(ranks_of_machine(*membership)));
  std::unique_ptr<Communicator> made(new Communicator(membership, std::move(options), params));
  for (int rank = 0; rank < made->size(); ++rank)
    if (rank != self) RONDO_TRY(made->connections_.transport_to(rank).status());
  RONDO_TRY(made->make_executors(topology));
  session->attach({.communicator = id,
                   .ranks = membership->session_ranks(),
                   .health = membership->state(),
                   .recorder = membership->shared_recorder(),
                   .transports = made->transports_text()});
  return made;
}

Communicator::~Communicator() {
  drain();  // a queue's thread may still run a call, which may still fail
  requests_->close();
  started_calls_->close();
  kept_plans_.clear();
  plan_of_one_call_.reset();
  plans_ = {};
  executors_.clear();
  gpu_calls_.reset();  // after all that points to it
  membership_->session()->detach(membership_->id());
}

Status Communicator::make_executors(const CommTopology& topology) {
  links_ = topology.links(options_.levels);
  if (const std::string shares = links_.shares.text(); rank() == 0 && !shares.empty())
    log().info("{}", shares);
  oversubscribed_ = topology.oversubscribed();
  const int64_t asked = options_.stream_bytes;
  connection_executor_ = std::unique_ptr<ConnectionExecutor>(new ConnectionExecutor(
      connections_, rank(),
      {.links = links_,
       .slot_bytes = params_.slot_bytes,
       .locality_order = topology.locality_order(),
       .max_cached_bytes = asked >= 0 ? static_cast<size_t>(asked) : topology.max_cached_bytes()}));
  if (auto terms = topology.pull_terms(options_.pull_bytes)) {
    terms->lines_move = lines_move();
    shm_executor_ = std::make_unique<ShmExecutor>(membership_, *terms);
  }
  RONDO_TRY_ASSIGN(gpu_calls_, GpuCalls::make(*this));
  if (shm_executor_) executors_.push_back(shm_executor_->row());
  executors_.push_back(connection_executor_->row());
  for (Executor& row : gpu_calls_->executors()) executors_.push_back(std::move(row));
  put_in_order(executors_);
  return {};
}

bool Communicator::is_host_only() const { return !gpu_calls_->may_see_memory(); }

Plan* Communicator::find_plan(const CallRequest& request) {
  if (request.varying != nullptr || request.place.on_stream || !request.is_built_in() || !is_host_only())
    return nullptr;
  Plan* const plan = plans_.find({request.count, static_cast<uint32_t>(request.type),
                                  static_cast<uint32_t>(request.op), request.root, request.kind, false});
  return plan != nullptr && plan->rule().allow(request.send, request.recv) ? plan : nullptr;
}

Result<Call> Communicator::check(const CallRequest& request) {
  RONDO_TRY_ASSIGN(Call call, checked(request, rank(), size()));
  if (is_host_only() && !call.place.on_stream) return call;
  RONDO_TRY(found(place(call, rank(), size(), membership_->device(), gpu_calls_->share_buffers())));
  return call;
}

Status Communicator::found(const Status& placed) {
  return placed.code() == Code::SystemError ? membership_->fail(placed) : placed;
}

Task* Communicator::start(Plan& plan, const CallBuffers& buffers) {
  plan.number(++sequence_);
  membership_->recorder().begin(plan.recorded(), plan.name());
  return plan.start(buffers);
}

Result<Task*> Communicator::prepare(const Call& call) {
  Plan* plan = is_like_others(call) ? plans_.find(PlanKey::of(call)) : nullptr;
  if (plan == nullptr) {
    RONDO_TRY_ASSIGN(plan, make_plan(call));
  }
  RONDO_TRY(check_serves(*plan, call));
  return start(*plan, call);
}

Result<Task*> Communicator::start(Plan& plan, const Call& call) {
  Task* const task = start(plan, {call.send, call.recv, call.place});
  return task != nullptr ? Result<Task*>(task) : plan.failure();
}

Status Communicator::check_serves(const Plan& plan, const Call& call) {
  if (plan.serves(call.send, call.recv)) return {};
  return error(ErrorKind::NeedsOutput,
               "{} by {}: it needs an output apart from the input, not a call in place",
               collective_name(call.kind), plan.name());
}

Result<Plan*> Communicator::keep_plan(const Call& call, std::weak_ptr<const void> user) {
  std::erase_if(kept_plans_, [](const KeptPlan& kept) { return kept.user.expired(); });
  RONDO_TRY_ASSIGN(auto made, new_plan(call));
  RONDO_TRY(check_serves(*made, call));
  kept_plans_.push_back({std::move(user), std::move(made)});
  return kept_plans_.back().plan.get();
}

Status Communicator::check_needs(const Candidate& chosen, const Call& call) const {
  const int slots = call.place.on_gpu ? gpu_params().slots : params_.slots;
  if (chosen.algorithm == nullptr || chosen.algorithm->slots <= slots) return {};
  return error(ErrorKind::SlotsTooSmall,
               "{} by {} needs connections of {} slots, and they have {} (RONDO_SLOTS)",
               collective_name(call.kind), chosen.algorithm->name, chosen.algorithm->slots, slots);
}

Result<std::unique_ptr<Plan>> Communicator::new_plan(const Call& call) {
  if (call.place.on_gpu) RONDO_TRY(gpu_calls_->no_calls());
  const Shape shape = links_.shape(call);
  RONDO_TRY_ASSIGN(const Candidate chosen, options_.selector.select(call, shape, executors_));
  RONDO_TRY(check_needs(chosen, call));
  RONDO_TRY_ASSIGN(auto made, chosen.executor->prepare(call, chosen.algorithm));
  if (chosen.algorithm != nullptr) made->set_hash(options_.selector.marked(made->signature().plan));
  if (chosen.algorithm != nullptr && !chosen.algorithm->in_place) made->forbid_in_place();
  return made;
}

Result<Plan*> Communicator::make_plan(const Call& call) {
  RONDO_TRY_ASSIGN(auto made, new_plan(call));
  if (is_like_others(call)) return plans_.keep(PlanKey::of(call), std::move(made));
  plan_of_one_call_ = std::move(made);
  return plan_of_one_call_.get();
}

Result<const char*> Communicator::transport_to(int rank) const {
  if (rank == this->rank()) return "self";
  RONDO_TRY_ASSIGN(const Transport* transport, connections_.transport_to(rank));
  return transport->name;
}

std::string Communicator::transports_text() const {
  std::map<std::string, int> peers;
  for (int rank = 0; rank < size(); ++rank)
    if (rank != this->rank()) ++peers[transport_to(rank).value()];
  std::vector<std::string> parts;
  for (const auto& [name, count] : peers)
    parts.push_back(fmt::format("{} to {} {}", name, count, count == 1 ? "rank" : "ranks"));
  return parts.empty() ? "none" : fmt::to_string(fmt::join(parts, ", "));
}

uint64_t Communicator::next_child_id(int color) {
  // A hash that all members compute alike; communicators that share ranks never get the same id.
  uint64_t id = membership_->id();
  for (const uint64_t part : {static_cast<uint64_t>(++children_), static_cast<uint64_t>(color) + 1}) {
    id = (id ^ part) * 0x9e3779b97f4a7c15u;
    id ^= id >> 29;
  }
  return id | 1;
}

}  // namespace rondo
