// SPDX-License-Identifier: Apache-2.0
#include "exec/connection_executor.h"

#include "algorithms/algorithm.h"
#include "plan/connection_costs.h"
#include "step_executor.h"

namespace rondo {

struct ConnectionExecutor::BoundSchedule {
  explicit BoundSchedule(Program made) : program(std::move(made)), run(program) {}
  BoundSchedule(const BoundSchedule&) = delete;
  BoundSchedule& operator=(const BoundSchedule&) = delete;
  Program program;
  StepExecutor run;
};

namespace {

class ConnectionPlan final : public Plan {
 public:
  ConnectionPlan(ConnectionExecutor& executor, const Call& call, const Algorithm& algorithm,
                 const Chunking& cut)
      : Plan(algorithm.name, cut.hash, call, executor.rank(), executor.nranks()),
        executor_(executor),
        call_(call),
        algorithm_(algorithm),
        tile_units_(cut.tile_units) {}

  Task* start(const CallBuffers& buffers) override {
    // The first call makes its connections only now that it has a sequence number, by which errors name it.
    if (bound_ == nullptr) {
      if (Status unbound = bind(); !unbound.ok()) return fail(std::move(unbound));
    }
    args_.input = static_cast<const std::byte*>(buffers.send);
    args_.output = static_cast<std::byte*>(buffers.recv);
    args_.scratch = executor_.scratch(scratch_bytes_);
    args_.in_place = rule().is_in_place(buffers.send, buffers.recv);
    args_.streams = !args_.in_place && is_uncached_;
    args_.signature = signature();
    bound_->run.begin(args_);
    return &bound_->run;
  }

 private:
  Status bind() {
    const LinkModel& links = executor_.terms().links;
    RONDO_TRY_ASSIGN(bound_, executor_.bound(algorithm_, links.shape(call_)));
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
  if (terms_.locality_order.empty() || !is_free_in_order(shape.kind)) return algorithm.build(shape, rank_);
  return build_in_order(algorithm, shape, rank_, terms_.locality_order);
}

Result<ConnectionExecutor::BoundSchedule*> ConnectionExecutor::bound(const Algorithm& algorithm,
                                                                     const Shape& shape) {
  auto& made = bound_[{&algorithm, shape.root, shape.varying, shape.commutative}];
  if (made == nullptr) {
    const auto connect = [this](int peer, uint16_t port) { return connections_.lane(peer, port); };
    RONDO_TRY_ASSIGN(Program program, Program::bind(shape, schedule(algorithm, shape), connect));
    made = std::make_unique<BoundSchedule>(std::move(program));
  }
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
