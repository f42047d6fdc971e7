#include "comm/communicator.h"

#include <time.h>

#include <mutex>
#include <utility>

#include "algorithms/ordered.h"
#include "base/log.h"
#include "base/log_level.h"
#include "base/settings.h"
#include "comm/device_choice.h"
#include "comm/ending.h"
#include "comm/gpu_calls.h"
#include "comm/requests.h"
#include "comm/shared_calls.h"
#include "comm/wiring.h"

namespace rondo {
namespace {

/// Everybody reads everybody's posts, and rank 0 gives the memory to all. For hundreds of ranks that is still
/// a fraction of what connections cost them; but every rank has 9 KiB of posts, which all of them map.
constexpr int kMostExchanging = 512;

Result<ConnectionParams> params_from_settings() {
  ConnectionParams params;
  constexpr int64_t kMostSlotBytes = int64_t{1} << 30;
  RONDO_TRY_ASSIGN(const int64_t slot_bytes, size_setting(Setting::SlotBytes, 64, kMostSlotBytes, 0));
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

void warn_of_unknown_variables() {
  static std::once_flag once;
  std::call_once(once, [] {
    for (const std::string& sentence : unknown_variables()) log().warn("{}", sentence);
  });
}

}  // namespace

Result<Communicator::Options> Communicator::options(const Wishes& wishes) {
  RONDO_TRY(read_log_level());
  warn_of_unknown_variables();
  Options options;
  if (wishes.timeout_ms < 0)
    return error(Code::InvalidArgument, "config.timeout_ms is {}: it must be at least 0", wishes.timeout_ms);
  RONDO_TRY_ASSIGN(options.timeout_ms, seconds_setting_ms(Setting::Timeout, options.timeout_ms));
  if (wishes.timeout_ms != 0) options.timeout_ms = wishes.timeout_ms;
  if (wishes.init_timeout_ms < 0)
    return error(Code::InvalidArgument, "config.init_timeout_ms is {}: it must be at least 0",
                 wishes.init_timeout_ms);
  RONDO_TRY_ASSIGN(options.init_timeout_ms,
                   seconds_setting_ms(Setting::InitTimeout, options.init_timeout_ms));
  if (wishes.init_timeout_ms != 0) options.init_timeout_ms = wishes.init_timeout_ms;
  RONDO_TRY_ASSIGN(options.params, params_from_settings());
  const auto wish = [](const char* wished, Setting otherwise) {
    return wished ? std::string(wished) : setting(otherwise).value_or("");
  };
  const std::string transport_name = wish(wishes.transport, Setting::Transport);
  RONDO_TRY_ASSIGN(options.exchange_bytes,
                   size_setting(Setting::ExchangeBytes, 0, PostTable::kMostBytes, options.exchange_bytes));
  RONDO_TRY_ASSIGN(options.stream_bytes,
                   size_setting(Setting::StreamBytes, 0, INT64_MAX, options.stream_bytes));
  RONDO_TRY_ASSIGN(options.group, number_setting(Setting::Group, 1, INT32_MAX, options.group));
  if (!transport_name.empty()) {
    RONDO_TRY_ASSIGN(options.transport, transport_by_name(transport_name));
  }
  RONDO_TRY_ASSIGN(const bool reproducible, switch_setting(Setting::Reproducible, false));
  RONDO_TRY_ASSIGN(options.selector,
                   Selector::parse(wish(wishes.algorithm, Setting::Algorithm), reproducible));
  RONDO_TRY_ASSIGN(options.protocol, wished_protocol(wishes.protocol));
  RONDO_TRY_ASSIGN(options.channels, wished_channels(wishes.channels));
  RONDO_TRY_ASSIGN(options.devices, choose_devices(wish(wishes.device, Setting::Device)));
  if (wishes.name != nullptr) options.name = wishes.name;
  return options;
}

Communicator::Communicator(std::shared_ptr<Session> session, uint64_t id, std::vector<int> ranks, int self,
                           Options options, const ConnectionParams& params)
    : session_(std::move(session)),
      id_(id),
      ranks_(std::move(ranks)),
      self_(self),
      options_(std::move(options)),
      params_(params),
      board_(std::make_shared<Board>(options_.name)),
      connections_(session_, id_, ranks_, self_, health_, {options_.transport, params_, options_.timeout_ms}),
      timeout_ms_(options_.timeout_ms),
      messages_(self_, size(),
                [this](int source, int destination) { return connections_.messages(source, destination); }),
      requests_(std::make_shared<Requests>()) {}

ConnectionParams Communicator::gpu_params() const {
  ConnectionParams params = params_;
  if (options_.params.slots == 0) params.slots = ConnectionParams().slots;
  return params;
}

Result<std::unique_ptr<Communicator>> Communicator::make(std::shared_ptr<Session> session, uint64_t id,
                                                         std::vector<int> ranks, int self, Options options) {
  const Wiring wiring(*session, ranks, options.transport);
  const ConnectionParams params = wiring.settle(options.params);
  std::unique_ptr<Communicator> made(
      new Communicator(std::move(session), id, std::move(ranks), self, std::move(options), params));
  for (int rank = 0; rank < made->size(); ++rank)
    if (rank != self) RONDO_TRY(made->connections_.transport_for(self, rank).status());
  made->links_ = wiring.links(made->options_.group);
  made->crowded_ = wiring.crowded();
  const int64_t asked = made->options_.stream_bytes;
  made->most_cached_bytes_ = asked >= 0 ? static_cast<size_t>(asked) : wiring.most_cached_bytes();
  made->near_order_ = wiring.near_order();
  const bool few = made->size() > 1 && made->size() <= kMostExchanging;
  if (wiring.shares_memory() && few) made->share_memory();
  RONDO_TRY_ASSIGN(made->gpu_calls_, GpuCalls::make(*made));
  made->session_->attach({id, made->ranks_, made->health_, made->board_, false});
  return made;
}

Communicator::~Communicator() {
  drain();  // a queue's thread may still be in a call, which may still fail
  requests_->close();
  gpu_calls_.reset();
  session_->detach(id_);
}

void Communicator::drain() const {
  while (!is_turn(next_turn_)) {
    const timespec nap{0, 50'000};
    ::nanosleep(&nap, nullptr);
  }
}

Status Communicator::fail(const Status& cause) {
  const bool is_own = cause.code() == Code::SystemError || cause.code() == Code::OutOfMemory;
  const Status named = board_->named(is_own ? cause.within(rank_text(self_)) : cause);
  if (health_->fail(named)) {
    log().info("rank {}: {}", self_, named.message());
    session_->notify(Notice::of_communicator(id_, named));
  }
  return health_->cause();
}

Schedule Communicator::schedule(const Algorithm& algorithm, const Shape& shape) const {
  if (near_order_.empty() || !is_free_in_order(shape.kind)) return algorithm.build(shape, self_);
  return build_in_order(algorithm, shape, self_, near_order_);
}

Result<Communicator::Plan*> Communicator::plan(const Algorithm& algorithm, const Shape& shape) {
  auto& made = plans_[{&algorithm, shape.root, shape.varying, shape.commutative}];
  if (made == nullptr) {
    RONDO_TRY_ASSIGN(Program program,
                     Program::bind(shape, schedule(algorithm, shape), [this](int peer, uint16_t port) {
                       return connections_.lane(peer, port);
                     }));
    made = std::make_unique<Plan>(std::move(program));
  }
  return made.get();
}

Result<Communicator::Choice*> Communicator::choose(const Call& call) {
  auto& memo = choices_[static_cast<size_t>(call.kind)];
  if (Choice* known = memo.find(call)) return known;
  RONDO_TRY_ASSIGN(const Decision decision,
                   options_.selector.select(call, links_, params_.slot_bytes, exchange_terms(call.kind)));
  Choice choice{.decision = decision};
  if (decision.exchanged) {
    choice.exchange = resolve(call, decision);
    choice.buffers = buffer_rule(call, self_, size());
  }
  return memo.keep(call, choice);
}

/// Connections overlap the two copies of a longer vector; where ranks outnumber CPUs nothing overlaps, and
/// what counts is how seldom they have to take turns. There a round costs a turn of every rank. A long vector
/// of which each peer reads another part does not stay in the caches until all have read.
ExchangeTerms Communicator::exchange_terms(CollectiveKind kind) const {
  constexpr double kRound_us = 0.3;
  if (shared_calls_ == nullptr) return {};
  ExchangeTerms terms{.most_bytes = size_t{16} * 1024,
                      .cost = {.latency_us = kRound_us, .us_per_byte = 8e-5}};
  if (crowded_) {
    const bool is_parted = kind == CollectiveKind::Scatter || kind == CollectiveKind::AllToAll;
    terms.most_bytes = is_parted ? PostTable::kMostBytes / 2 : PostTable::kMostBytes;
    terms.cost.latency_us = kTurn_us * size();
  }
  if (options_.exchange_bytes >= 0) terms.most_bytes = static_cast<size_t>(options_.exchange_bytes);
  return terms;
}

void Communicator::share_memory() {
  shared_calls_ = std::make_unique<SharedCalls>(CommonMemory::Parties{.session = session_,
                                                                      .communicator = id_,
                                                                      .ranks = ranks_,
                                                                      .self = self_,
                                                                      .health = health_,
                                                                      .timeout_ms = timeout_ms()});
}

std::byte* Communicator::scratch(size_t bytes) {
  if (bytes > scratch_bytes_) {
    scratch_.reset();
    scratch_ = std::make_unique_for_overwrite<std::byte[]>(bytes);
    scratch_bytes_ = bytes;
  }
  return scratch_.get();
}

void Communicator::begin(Signature& signature, const char* algorithm) {
  signature.sequence = ++sequence_;
  board_->begin(signature);
  note_algorithm(algorithm);
}

Binding Communicator::bind(const Call& call, const Signature& signature) const {
  return {.input = static_cast<const std::byte*>(call.send),
          .output = static_cast<std::byte*>(call.recv),
          .scratch = nullptr,
          .in_place = is_in_place(call, self_),
          .layout = {},
          .type = call.type,
          .op = call.op,
          .nranks = size(),
          .reduces = reduces(call.kind),
          .signature = signature};
}

/// What the call is, for an Exchange.
std::shared_ptr<ExchangeCall> Communicator::resolve(const Call& call, const Decision& decision) {
  const Rounds& plan = shared_calls_->plan(*decision.algorithm, call.shape(size()));
  Binding binding = bind(call, {});
  binding.layout = layout_of(call, plan.chunks, decision.tile_units);
  return std::make_shared<ExchangeCall>(plan, binding, self_);
}

Result<Task*> Communicator::prepare(const Call& call) {
  if (call.place.on_gpu) return gpu_calls_->prepare(call);
  RONDO_TRY_ASSIGN(Choice * choice, choose(call));
  Signature signature = call.signature();
  signature.plan = choice->decision.plan;
  begin(signature, choice->decision.algorithm->name);
  if (choice->exchange != nullptr) {
    choice->exchange->use(call.send, call.recv, signature);
    return shared_calls_->begin(*choice->exchange);
  }
  Binding binding = bind(call, signature);
  if (choice->plan == nullptr) {
    RONDO_TRY_ASSIGN(choice->plan, plan(*choice->decision.algorithm, call.shape(size(), links_.group)));
  }
  const Schedule& schedule = choice->plan->program.schedule();
  binding.layout =
      layout_of(call, {schedule.input_chunks, schedule.output_chunks}, choice->decision.tile_units);
  binding.scratch = scratch(scratch_bytes(schedule, binding.layout));
  // The root has most to do, and the others can help it by copying.
  binding.is_read = call.kind != CollectiveKind::Gather;
  binding.streams = !binding.in_place && call.vector_bytes(size()).value_or(0) > most_cached_bytes_;
  choice->plan->run.begin(binding);
  return &choice->plan->run;
}

Task* Communicator::begin_again(const PlainCall& call) {
  if (!call.is_built_in()) return nullptr;
  const Choice* known = choices_[static_cast<size_t>(call.kind)].find(
      call.count, static_cast<uint32_t>(call.type), static_cast<uint32_t>(call.op), call.root);
  if (known == nullptr || known->exchange == nullptr || !known->buffers.allow(call.send, call.recv))
    return nullptr;
  ExchangeCall& again = *known->exchange;
  Signature signature = again.signature;
  begin(signature, known->decision.algorithm->name);
  again.use(call.send, call.recv, signature);
  return shared_calls_->begin(again);
}

Result<const char*> Communicator::transport_to(int rank) const {
  if (rank == self_) return "self";
  RONDO_TRY_ASSIGN(const Transport* transport, connections_.transport_for(self_, rank));
  return transport->name;
}

uint64_t Communicator::next_child_id(int color) {
  // A hash that all members compute alike; two communicators that share ranks never get the same number.
  uint64_t id = id_;
  for (const uint64_t part : {static_cast<uint64_t>(++children_), static_cast<uint64_t>(color) + 1}) {
    id = (id ^ part) * 0x9e3779b97f4a7c15u;
    id ^= id >> 29;
  }
  return id | 1;
}

void Communicator::retire(std::unique_ptr<Communicator> communicator) {
  if (!communicator->left_early_) return;
  const auto company = std::exchange(communicator->company_, nullptr);
  company->keep(std::move(communicator));
}

Status Communicator::quiesce() {
  if (finalized_) return health_->cause();
  finalized_ = true;
  drain();
  requests_->close();  // what queues were still doing is over
  RONDO_TRY(gpu_calls_->finish());
  {
    const std::lock_guard lock(messages_.mutex());
    board_->finish(messages_.sent());
  }
  session_->finish(id_);
  return health_->cause();
}

/// Others that end no communicator now may need this rank in one that it still has, so it waits at its last.
Status Communicator::leave_session() {
  if (!session_->is_last(id_)) return {};
  left_early_ = company_ != nullptr && !company_->leave();
  if (left_early_) return {};
  board_->wait_for_ends();
  const Status ended = await_ends(*this);
  board_->end();
  if (!ended.ok()) return fail(ended);
  session_->depart();
  return {};
}

/// This rank has come to the end, so what was sent to it and not taken never will be.
Status Communicator::check_nothing_left() const {
  RONDO_TRY(connections_.check_nothing_left());
  if (shared_calls_) RONDO_TRY(shared_calls_->check_nothing_left());
  if (messages_.unreceived() == 0) return {};
  return error(Code::Mismatch, "{} messages were sent to rank {} and never received", messages_.unreceived(),
               self_);
}

Status Communicator::finalize() {
  if (std::exchange(ended_, true)) return {};
  RONDO_TRY(quiesce());
  RONDO_TRY(leave_session());
  gpu_calls_->disconnect();
  const Status left = check_nothing_left();
  return left.ok() ? left : fail(left);
}

Status Communicator::leave(std::unique_ptr<Communicator> communicator) {
  Communicator& leaving = *communicator;
  const bool ended = std::exchange(leaving.ended_, true) || leaving.health_->failed();
  const Status quiet = ended ? Status() : leaving.quiesce();
  if (!ended && quiet.ok()) {
    if (leaving.session_->is_last(leaving.id_)) {
      leaving.left_early_ = leaving.company_ != nullptr && !leaving.company_->leave();
      leaving.session_->depart();
    }
    leaving.gpu_calls_->disconnect();
  }
  retire(std::move(communicator));
  return quiet;
}

}  // namespace rondo
