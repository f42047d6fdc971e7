// SPDX-License-Identifier: Apache-2.0
#include "exec/connection_executor.h"

#include "algorithms/algorithm.h"
#include "plan/connection_costs.h"
#include "step_executor.h"

namespace rondo {

struct ConnectionExecutor::BoundSchedule {
  BoundSchedule(const Shape& shape, Schedule schedule) : program(shape, std::move(schedule)), run(program) {}
  BoundSchedule(const BoundSchedule&) = delete;
  BoundSchedule& operator=(const BoundSchedule&) = delete;
  Program program;
  StepExecutor run;
  int awaited = -1;  // the rank whose connection is being made; -1: none is missing
};

namespace {

/// Itself the Task of its first call, which makes the connections.
class ConnectionPlan final : public Plan, private Task {
 public:
  ConnectionPlan(ConnectionExecutor& executor, const Call& call, const Algorithm& algorithm,
                 const Chunking& cut)
      : Plan(algorithm.name, cut.hash, call, executor.rank(), executor.nranks()),
        executor_(executor),
        call_(call),
        algorithm_(algorithm),
        tile_units_(cut.tile_units) {}

  Task* start(const CallBuffers& buffers) override {
    args_.input = static_cast<const std::byte*>(buffers.send);
    args_.output = static_cast<std::byte*>(buffers.recv);
    args_.in_place = rule().is_in_place(buffers.send, buffers.recv);
    args_.signature = signature();
    if (!is_bound_) return this;
    begin();
    return &bound_->run;
  }

 private:
  // Until it is bound; afterwards bound_->run does the same.
  Progress advance() override {
    if (!is_bound_) {
      if (unbound_.ok()) unbound_ = bind();
      if (!unbound_.ok()) return Progress::Failed;
      if (!is_bound_) return Progress::Stuck;
      begin();
    }
    return bound_->run.advance();
  }
  Status status() const override { return is_bound_ ? bound_->run.status() : unbound_; }
  int blocked_on() const override {
    if (is_bound_) return bound_->run.blocked_on();
    return bound_ != nullptr ? bound_->awaited : -1;
  }
  Awaited awaited() override { return is_bound_ ? bound_->run.awaited() : Awaited(); }
  Status connection_status() const override { return is_bound_ ? bound_->run.connection_status() : Status(); }
  void abandon() override {
    if (is_bound_) bound_->run.abandon();
  }

  void begin() {
    args_.scratch = executor_.scratch(scratch_bytes_);
    args_.streams = !args_.in_place && is_uncached_;
    bound_->run.begin(args_);
  }

  /// Connections are made only now that the call has a sequence number, by which errors name it.
  Status bind() {
    const LinkModel& links = executor_.terms().links;
    RONDO_TRY_ASSIGN(bound_, executor_.bound(algorithm_, links.shape(call_)));
    if (bound_->awaited >= 0) return {};
    is_bound_ = true;
    const Schedule& schedule = bound_->program.schedule();
    args_.layout = layout_of(call_, schedule.chunks, tile_units_);
    args_.type = call_.type;
    args_.op = call_.op;
    args_.nranks = links.nranks;
    args_.reduces = reduces(call_.kind);
    // The root has the most work, and the other ranks can relieve it by copying.
    args_.is_read = call_.kind != CollectiveKind::Gather;
    scratch_bytes_ = scratch_bytes(schedule, args_.layout);
    is_uncached_ = call_.vector_bytes(links.nranks).value_or(0) > executor_.terms().max_cached_bytes;
    return {};
  }

  ConnectionExecutor& executor_;
  const Call call_;  // the layout refers to its blocks
  const Algorithm& algorithm_;
  size_t tile_units_;
  ConnectionExecutor::BoundSchedule* bound_ = nullptr;
  bool is_bound_ = false;
  Status unbound_;  // why it could not be bound
  CallArgs args_;
  size_t scratch_bytes_ = 0;
  bool is_uncached_ = false;
};

}  // namespace

ConnectionExecutor::ConnectionExecutor(ConnectionTable& connections, int rank, ConnectionTerms terms)
    : connections_(connections), rank_(rank), terms_(std::move(terms)) {}

ConnectionExecutor::~ConnectionExecutor() = default;

Executor ConnectionExecutor::row() {
  Executor row = connections_row(terms_.links, terms_.slot_bytes);
  row.prepare = [this](const Call& call, const Algorithm* algorithm) -> Result<std::unique_ptr<Plan>> {
    const Shape shape = terms_.links.shape(call);
    RONDO_TRY_ASSIGN(const Chunking made, cut(*algorithm, call, shape, terms_.slot_bytes));
    return std::unique_ptr<Plan>(new ConnectionPlan(*this, call, *algorithm, made));
  };
  return row;
}

Schedule ConnectionExecutor::schedule(const Algorithm& algorithm, const Shape& shape) const {
  const bool has_places = algorithm.has_shares(shape);  // which are those of Shape::order
  if (terms_.locality_order.empty() || !is_free_in_order(shape.kind) || has_places)
    return algorithm.build(shape, rank_);
  return build_in_order(algorithm, shape, rank_, terms_.locality_order);
}

Result<ConnectionExecutor::BoundSchedule*> ConnectionExecutor::bound(const Algorithm& algorithm,
                                                                     const Shape& shape) {
  auto& made = bound_[{&algorithm, shape.root, shape.varying, shape.commutative}];
  if (made == nullptr) made = std::make_unique<BoundSchedule>(shape, schedule(algorithm, shape));
  RONDO_TRY_ASSIGN(made->awaited, made->program.bind([this](int peer, uint16_t port) {
    return connections_.lane(peer, port);
  }));
  return made.get();
}

std::byte* ConnectionExecutor::scratch(size_t bytes) {
  if (bytes > scratch_bytes_) {
    scratch_bytes_ = 0;
    scratch_.reset();
    scratch_ = std::make_unique_for_overwrite<std::byte[]>(bytes);
    scratch_bytes_ = bytes;
  }
  return scratch_.get();
}

}  // namespace rondo
