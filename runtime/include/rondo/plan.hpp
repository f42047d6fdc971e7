// SPDX-License-Identifier: Apache-2.0
/**
 * @file plan.hpp
 * @brief Plans for C++20: plan.h with ownership, strings and errors as in rondo.hpp. Header only.
 *
 *     const auto plan = rondo::Plan::named({.ranks = 8}, "ring");
 *     if (!plan.proof().verifies) ...
 *     std::puts(plan.simulate({.bytes = 1e6}).explain().c_str());
 *
 * Of topology.h, Topology owns what plans follow; its get() gives the rest of that header's calls.
 */
#pragma once

#include <rondo/plan.h>
#include <rondo/cxx/error.hpp>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace rondo {

/// The call that a plan is for, as rondo_plan_call_t describes it.
struct PlanCall {
  std::string collective = "all_reduce";  ///< "all_reduce", "broadcast", ...
  int ranks = 2;                          ///< Number of ranks.
  int root = 0;                           ///< The root's rank.
  int group = 1;                          ///< Consecutive ranks that are close to one another.
  std::vector<int> weights = {};          ///< Of each rank of a group; empty: all weigh the same.

  /// As the C API takes it; refers to this object.
  Result<rondo_plan_call_t> get() const {
    if (!weights.empty() && weights.size() != static_cast<std::size_t>(group))
      return detail::refused("Plan", "there are " + std::to_string(weights.size()) +
                                         " weights: there must be one for each of the " +
                                         std::to_string(group) + " ranks of a group");
    return rondo_plan_call_t{sizeof(rondo_plan_call_t),
                             collective.c_str(),
                             ranks,
                             root,
                             group,
                             weights.empty() ? nullptr : weights.data()};
  }
};

/// The links of hosts. Move-only; null after a move.
template <typename Errors>
class BasicTopology {
 public:
  /// What a call returns that has a T to return.
  template <typename T>
  using Outcome = typename Errors::template Outcome<T>;

  /// A well-known machine, such as "hgx-h100".
  static Outcome<BasicTopology> named(const std::string& machine) {
    rondo_topology_t topology = nullptr;
    const rondo_status_t status = rondo_topology_named(&topology, machine.c_str(), nullptr);
    return Errors::outcome(detail::made(status, BasicTopology(topology)));
  }
  /// A description of a host in a file; see rondo_topology_load().
  static Outcome<BasicTopology> load(const std::string& path) {
    rondo_topology_t topology = nullptr;
    const rondo_status_t status = rondo_topology_load(&topology, path.c_str(), nullptr);
    return Errors::outcome(detail::made(status, BasicTopology(topology)));
  }
  /// This host.
  static Outcome<BasicTopology> detect() {
    rondo_topology_t topology = nullptr;
    const rondo_status_t status = rondo_topology_detect(&topology, nullptr);
    return Errors::outcome(detail::made(status, BasicTopology(topology)));
  }

  /// Whether it is one, and was not moved from.
  explicit operator bool() const noexcept { return topology_ != nullptr; }
  /// As the C API takes it.
  rondo_topology_t get() const noexcept { return topology_.get(); }

 private:
  explicit BasicTopology(rondo_topology_t topology) noexcept : topology_(topology) {}

  std::unique_ptr<rondo_topology, detail::FreedBy<rondo_topology_free>> topology_;
};

/// What a plan runs on in simulated time, as rondo_plan_network_t describes it.
struct PlanNetwork {
  double bytes = 67'108'864.0;          ///< Of the vector.
  int tiles = 1;                        ///< Stretches for each of which the plan runs once.
  double bandwidth = 25.0;              ///< Of a port, GB/s; not used with a topology.
  double latency = 2e-6;                ///< In seconds.
  int slots = 2;                        ///< Messages that a connection holds.
  rondo_topology_t topology = nullptr;  ///< BasicTopology::get(); null: a port out and one in for each rank.
  bool all_links = false;               ///< With a topology, as in rondo_topology_limit().

  /// As the C API takes it.
  rondo_plan_network_t get() const noexcept {
    return {
        sizeof(rondo_plan_network_t), topology, all_links ? 1 : 0, bandwidth, latency, slots, bytes, tiles};
  }
};

namespace detail {

/// What a C query writes into a struct that states its own size.
template <typename Info, typename Query>
Result<Info> queried(Query&& query) {
  Info info{};
  info.size = sizeof(Info);
  const rondo_status_t status = query(&info);
  return made(status, info);
}

}  // namespace detail

/// A run of a plan in simulated time. Move-only; null after a move. Strings of what it returns live as long.
template <typename Errors>
class BasicPlanRun {
 public:
  /// What a call returns that has a T to return.
  template <typename T>
  using Outcome = typename Errors::template Outcome<T>;

  /// How long it took, and why.
  Outcome<rondo_plan_time_t> time() const {
    return Errors::outcome(detail::queried<rondo_plan_time_t>(
        [&](rondo_plan_time_t* time) { return rondo_plan_time(get(), time); }));
  }
  /// What the time consists of, in several lines.
  Outcome<std::string> explain() const {
    const char* text = "";
    const rondo_status_t status = rondo_plan_explain(get(), &text);
    return Errors::outcome(detail::made(status, std::string(text)));
  }
  /// A message, in the order in which their last bytes leave; there are time().messages.
  Outcome<rondo_plan_message_t> message(int index) const {
    return Errors::outcome(detail::queried<rondo_plan_message_t>(
        [&](rondo_plan_message_t* message) { return rondo_plan_message(get(), index, message); }));
  }

  /// Whether it is one, and was not moved from.
  explicit operator bool() const noexcept { return run_ != nullptr; }
  /// As the C API takes it.
  rondo_plan_run_t get() const noexcept { return run_.get(); }

 private:
  template <typename E>
  friend class BasicPlan;

  explicit BasicPlanRun(rondo_plan_run_t run) noexcept : run_(run) {}

  std::unique_ptr<rondo_plan_run, detail::FreedBy<rondo_plan_run_free>> run_;
};

/// What all ranks do in one collective. Move-only; null after a move. Strings of what it returns live as
/// long.
template <typename Errors>
class BasicPlan {
 public:
  /// What a call returns that has a T to return.
  template <typename T>
  using Outcome = typename Errors::template Outcome<T>;

  /// That of an algorithm of the table.
  static Outcome<BasicPlan> named(const PlanCall& call, const std::string& algorithm) {
    const auto settings = call.get();
    if (!settings) return Errors::outcome(Result<BasicPlan>(settings.error()));
    rondo_plan_t plan = nullptr;
    const rondo_status_t status = rondo_plan_named(&plan, &*settings, algorithm.c_str());
    return Errors::outcome(detail::made(status, BasicPlan(plan)));
  }
  /// That of "forest" or "rings", by the links of a host.
  static Outcome<BasicPlan> found(const PlanCall& call, const std::string& algorithm,
                                  const BasicTopology<Errors>& topology) {
    const auto settings = call.get();
    if (!settings) return Errors::outcome(Result<BasicPlan>(settings.error()));
    rondo_plan_t plan = nullptr;
    const rondo_status_t status = rondo_plan_found(&plan, &*settings, algorithm.c_str(), topology.get());
    return Errors::outcome(detail::made(status, BasicPlan(plan)));
  }
  /// That of a file in MSCCL's XML.
  static Outcome<BasicPlan> read(const std::string& path) {
    rondo_plan_t plan = nullptr;
    const rondo_status_t status = rondo_plan_import(&plan, path.c_str());
    return Errors::outcome(detail::made(status, BasicPlan(plan)));
  }
  /// Writes it in MSCCL's XML.
  Outcome<void> write(const std::string& path) const {
    return Errors::outcome(detail::checked(rondo_plan_export(get(), path.c_str())));
  }

  /// What it is.
  Outcome<rondo_plan_info_t> info() const {
    return Errors::outcome(detail::queried<rondo_plan_info_t>(
        [&](rondo_plan_info_t* info) { return rondo_plan_info(get(), info); }));
  }
  /// What a rank does in it.
  Outcome<rondo_plan_rank_t> rank(int rank) const {
    return Errors::outcome(detail::queried<rondo_plan_rank_t>(
        [&](rondo_plan_rank_t* of_rank) { return rondo_plan_rank(get(), rank, of_rank); }));
  }
  /// The steps of one of a rank's lanes, as text.
  Outcome<std::vector<std::string>> steps(int rank, int lane) const {
    return Errors::outcome(texts(rank, lane));
  }
  /// What is proved of it, by running it with symbols for data.
  Outcome<rondo_plan_proof_t> proof() const {
    return Errors::outcome(detail::queried<rondo_plan_proof_t>(
        [&](rondo_plan_proof_t* proof) { return rondo_plan_verify(get(), proof); }));
  }
  /// Runs it in simulated time.
  Outcome<BasicPlanRun<Errors>> simulate(const PlanNetwork& network = {}) const {
    const rondo_plan_network_t settings = network.get();
    rondo_plan_run_t run = nullptr;
    const rondo_status_t status = rondo_plan_simulate(&run, get(), &settings);
    return Errors::outcome(detail::made(status, BasicPlanRun<Errors>(run)));
  }

  /// Whether it is one, and was not moved from.
  explicit operator bool() const noexcept { return plan_ != nullptr; }
  /// As the C API takes it.
  rondo_plan_t get() const noexcept { return plan_.get(); }

 private:
  explicit BasicPlan(rondo_plan_t plan) noexcept : plan_(plan) {}

  Result<std::vector<std::string>> texts(int rank, int lane) const {
    std::vector<std::string> found;
    for (int index = 0;; ++index) {
      const char* text = nullptr;
      if (auto result = detail::checked(rondo_plan_step(get(), rank, lane, index, &text)); !result)
        return result.error();
      if (text == nullptr) return found;
      found.emplace_back(text);
    }
  }

  std::unique_ptr<rondo_plan, detail::FreedBy<rondo_plan_free>> plan_;
};

#ifdef __cpp_exceptions
using Topology = BasicTopology<Throwing>;  ///< See BasicTopology.
using Plan = BasicPlan<Throwing>;          ///< See BasicPlan.
using PlanRun = BasicPlanRun<Throwing>;    ///< See BasicPlanRun.
#endif

namespace nothrow {
using Topology = BasicTopology<Returning>;  ///< See BasicTopology.
using Plan = BasicPlan<Returning>;          ///< See BasicPlan.
using PlanRun = BasicPlanRun<Returning>;    ///< See BasicPlanRun.
}  // namespace nothrow

}  // namespace rondo
