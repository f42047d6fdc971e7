// SPDX-License-Identifier: Apache-2.0
/**
 * @file communicator.hpp
 * @brief One rank's membership in a group of ranks: Communicator.
 */
#pragma once

#include <rondo/cxx/calls.hpp>
#include <rondo/cxx/memory.hpp>
#include <rondo/cxx/request.hpp>

#include <chrono>
#include <exception>
#include <string>
#include <utility>
#include <vector>

namespace rondo {

/// What ranks need to find and trust one another. Treat it as a password.
using UniqueId = rondo_unique_id_t;

/// The color of a rank that gets a null communicator from split().
inline constexpr int no_color = RONDO_NO_COLOR;

/// Settings of a communicator, as rondo_config_t describes them; empty and 0: the default.
struct Config {
  std::chrono::milliseconds timeout{0};       ///< Deadline of each call.
  std::string transport = {};                 ///< "local", "shm", "tcp", ...
  std::string algorithm = {};                 ///< In RONDO_ALGORITHM's syntax.
  std::string name = {};                      ///< In every message about the communicator.
  std::string device = {};                    ///< "host", "cuda", "cuda:N", ...
  std::chrono::milliseconds init_timeout{0};  ///< Deadline of initialization.
  std::string protocol = {};                  ///< Between GPUs: "simple", "ll" or "ll128".
  int channels = 0;                           ///< Maximum number between two GPUs.
  int traffic_class = 0;                      ///< Of InfiniBand and RoCE packets.

  /// As the C API takes it; refers to this object's strings.
  rondo_config_t get() const noexcept {
    rondo_config_t config = RONDO_CONFIG_INITIALIZER;
    config.timeout_ms = timeout.count();
    config.transport = text(transport);
    config.algorithm = text(algorithm);
    config.name = text(name);
    config.device = text(device);
    config.init_timeout_ms = init_timeout.count();
    config.protocol = text(protocol);
    config.channels = channels;
    config.traffic_class = traffic_class;
    return config;
  }

 private:
  static const char* text(const std::string& string) noexcept {
    return string.empty() ? nullptr : string.c_str();
  }
};

/// A communicator, which it owns. Move-only; null after a move.
///
/// The destructor ends it as close() does, and discards the error. If an exception unwinds the stack it
/// leaves instead (rondo_leave()), so that the other ranks' calls fail within seconds, not at their deadline.
/// Requests, registrations and queues with calls of a communicator must end before it.
template <typename Errors>
class BasicCommunicator : public BasicCalls<Errors> {
  using Calls = BasicCalls<Errors>;

 public:
  /// What a call returns that has a T to return.
  template <typename T>
  using Outcome = typename Errors::template Outcome<T>;

  /// Joins the communicator of all processes of this job, as their launcher's variables say.
  static Outcome<BasicCommunicator> init(const Config& config = {}) { return init_by("env://", config); }
  /// The same by another method: "tcp://host:port?rank=R&size=N", "file:///path?rank=R&size=N"; see
  /// rondo_init().
  static Outcome<BasicCommunicator> init_by(const std::string& method, const Config& config = {}) {
    return Errors::outcome(make([&](rondo_comm_t* comm) {
      const rondo_config_t settings = config.get();
      return rondo_init(comm, method.c_str(), &settings);
    }));
  }

  /// An id by which ranks find one another. This process must live until all of them have joined.
  static Outcome<UniqueId> unique_id() {
    UniqueId id;
    const rondo_status_t status = rondo_get_unique_id(&id);
    return Errors::outcome(detail::made(status, id));
  }
  /// Joins the communicator of an id; returns once all ranks have joined.
  static Outcome<BasicCommunicator> init_rank(const UniqueId& id, int rank, int nranks,
                                              const Config& config = {}) {
    return Errors::outcome(make([&](rondo_comm_t* comm) {
      const rondo_config_t settings = config.get();
      return rondo_init_rank(comm, nranks, &id, rank, &settings);
    }));
  }
  /// A communicator whose ranks all live in this process: one of each rank.
  static Outcome<std::vector<BasicCommunicator>> init_all(int nranks, const Config& config = {}) {
    return Errors::outcome(make_all(nranks, config));
  }
  /// Owns a communicator of the C API from now on.
  static Outcome<BasicCommunicator> adopt(rondo_comm_t comm) { return Errors::outcome(adopted(comm)); }

  /// Takes over another's communicator.
  BasicCommunicator(BasicCommunicator&& other) noexcept
      : Calls(std::exchange(other.calls(), Calls())), unwinding_(std::uncaught_exceptions()) {}
  /// Ends the one that it has, then takes over another's.
  BasicCommunicator& operator=(BasicCommunicator&& other) noexcept {
    if (this == &other) return *this;
    end();
    calls() = std::exchange(other.calls(), Calls());
    return *this;
  }
  ~BasicCommunicator() { end(); }

  /// Whether it is one: neither moved from, closed, nor of a rank without a color.
  explicit operator bool() const noexcept { return this->get() != nullptr; }
  /// Gives it up to the C API.
  rondo_comm_t release() noexcept { return std::exchange(calls(), Calls()).get(); }

  /// Splits it by color; collective. The key orders the new ranks. Null for no_color.
  Outcome<BasicCommunicator> split(int color, int key) const {
    return child([&](rondo_comm_t* made) { return rondo_split(this->get(), color, key, made, nullptr); });
  }
  /// The same, with settings of its own.
  Outcome<BasicCommunicator> split(int color, int key, const Config& config) const {
    const rondo_config_t settings = config.get();
    return child([&](rondo_comm_t* made) { return rondo_split(this->get(), color, key, made, &settings); });
  }
  /// Duplicates it; collective.
  Outcome<BasicCommunicator> duplicate() const {
    return child([&](rondo_comm_t* made) { return rondo_duplicate(this->get(), made); });
  }
  /// A communicator of all ranks that live, also after a failure; see rondo_shrink().
  Outcome<BasicCommunicator> shrink() const {
    return child([&](rondo_comm_t* made) {
      return rondo_shrink(this->get(), nullptr, RONDO_THE_GONE, made, nullptr);
    });
  }
  /// A communicator of all ranks but the excluded ones, also after a failure.
  Outcome<BasicCommunicator> shrink(const std::vector<int>& excluded) const {
    return child([&](rondo_comm_t* made) {
      return rondo_shrink(this->get(), excluded.data(), static_cast<int>(excluded.size()), made, nullptr);
    });
  }
  /// The same, with settings of its own.
  Outcome<BasicCommunicator> shrink(const std::vector<int>& excluded, const Config& config) const {
    const rondo_config_t settings = config.get();
    return child([&](rondo_comm_t* made) {
      return rondo_shrink(this->get(), excluded.data(), static_cast<int>(excluded.size()), made, &settings);
    });
  }

  /// Completes all calls and checks for messages that were never received; collective.
  Outcome<void> finalize() const { return this->done(rondo_finalize(this->get())); }
  /// Completes all calls without waiting for other ranks to end theirs.
  Outcome<void> quiesce() const { return this->done(rondo_quiesce(this->get())); }
  /// Finalizes it, unless that was done or it has failed, and frees it.
  Outcome<void> close() { return Errors::outcome(detail::checked(rondo_destroy(release()))); }
  /// Frees it without waiting for other ranks to finalize it.
  Outcome<void> leave() { return Errors::outcome(detail::checked(rondo_leave(release()))); }
  /// Ends all calls in flight, here and at every other rank. Any thread.
  Outcome<void> abort() const { return Errors::outcome(detail::checked(rondo_abort(this->get()))); }
  /// Changes the deadline of later calls. Any thread.
  Outcome<void> set_timeout(std::chrono::milliseconds timeout) const {
    return this->done(rondo_set_timeout(this->get(), timeout.count()));
  }

  /// Starts a send. The request, and so the buffer, must outlive the message.
  template <Buffer In>
  Outcome<BasicRequest<Errors>> isend(In&& in, int peer, int tag = 0) const {
    const auto from = elements_of(in);
    return start<ElementOf<In>>(nullptr, [&](rondo_type_t type, rondo_request_t* request) {
      return rondo_isend(from.data(), from.size(), type, peer, tag, this->get(), request);
    });
  }
  /// Starts a receive of a message, which may be shorter than out: the request's receipt() says what arrived.
  template <WritableBuffer Out>
  Outcome<BasicRequest<Errors>> irecv(Out&& out, int peer = any_source, int tag = any_tag) const {
    const auto to = elements_of(out);
    auto receipt = std::make_unique<Receipt>();
    Receipt* const got = receipt.get();
    return start<ElementOf<Out>>(std::move(receipt), [&](rondo_type_t type, rondo_request_t* request) {
      return rondo_irecv(to.data(), to.size(), type, peer, tag, this->get(), got, request);
    });
  }

  /// Registers memory; see rondo_register().
  template <WritableBuffer B>
  Outcome<BasicRegistration<Errors>> register_memory(B&& buffer) const {
    const auto bytes = std::as_writable_bytes(elements_of(buffer));
    void* handle = nullptr;
    const rondo_status_t status = rondo_register(this->get(), bytes.data(), bytes.size(), &handle);
    return Errors::outcome(detail::made(status, BasicRegistration<Errors>(this->get(), handle), this->get()));
  }

  /// The rank's CUDA device; -1: it uses none.
  Outcome<int> device() const {
    int device = -1;
    const rondo_status_t status = rondo_device(this->get(), &device);
    return Errors::outcome(detail::made(status, device, this->get()));
  }
  /// The algorithm of the latest collective; see rondo_last_algorithm(). Any thread.
  Outcome<std::string> last_algorithm() const {
    return text([&](const char** name) { return rondo_last_algorithm(this->get(), name); });
  }
  /// The transport between this rank and another. Any thread.
  Outcome<std::string> transport(int peer) const {
    return text([&](const char** name) { return rondo_transport(this->get(), peer, name); });
  }
  /// Code::ok, or the first error outside a call: a peer's death, an abort, a failed queue. Any thread.
  Outcome<Code> async_error() const {
    rondo_status_t error = RONDO_OK;
    const rondo_status_t status = rondo_async_error(this->get(), &error);
    return Errors::outcome(detail::made(status, static_cast<Code>(error)));
  }
  /// The ranks that are known here to have died or left. Any thread.
  Outcome<std::vector<int>> gone_ranks() const {
    int count = 0;
    rondo_status_t status = rondo_size(this->get(), &count);
    std::vector<int> ranks(static_cast<std::size_t>(count));
    if (status == RONDO_OK) status = rondo_gone_ranks(this->get(), ranks.data(), &count);
    ranks.resize(static_cast<std::size_t>(count));
    return Errors::outcome(detail::made(status, std::move(ranks), this->get()));
  }
  /// Explains how a call on `count` elements of T in host memory would run; see rondo_explain().
  template <BuiltinElement T>
  Outcome<std::string> explain(const std::string& collective, std::size_t count, Op op = Op::sum,
                               int root = 0) const {
    return text([&](const char** explanation) {
      return rondo_explain(this->get(), collective.c_str(), count, builtin_type<T>,
                           static_cast<rondo_op_t>(op), root, explanation);
    });
  }

 private:
  BasicCommunicator() = default;

  Calls& calls() noexcept { return *this; }

  void end() noexcept {
    if (std::uncaught_exceptions() > unwinding_)
      rondo_leave(release());
    else
      rondo_destroy(release());
  }

  static Result<BasicCommunicator> adopted(rondo_comm_t comm) {
    BasicCommunicator made;
    if (comm == nullptr) return made;
    int rank = -1, size = 0;
    if (auto result = detail::checked(rondo_rank(comm, &rank)); !result) return result.error();
    if (auto result = detail::checked(rondo_size(comm, &size)); !result) return result.error();
    made.calls() = Calls(comm, {rank, size});
    return made;
  }

  /// The communicator that a C call makes.
  template <typename Make>
  static Result<BasicCommunicator> make(Make&& make, rondo_comm_t parent = nullptr) {
    rondo_comm_t comm = nullptr;
    if (auto result = detail::checked(make(&comm), parent); !result) return result.error();
    return adopted(comm);
  }
  template <typename Make>
  Outcome<BasicCommunicator> child(Make&& make_child) const {
    return Errors::outcome(make(std::forward<Make>(make_child), this->get()));
  }

  static Result<std::vector<BasicCommunicator>> make_all(int nranks, const Config& config) {
    std::vector<rondo_comm_t> comms(nranks > 0 ? static_cast<std::size_t>(nranks) : 1);
    std::vector<BasicCommunicator> made;
    made.reserve(comms.size());
    const rondo_config_t settings = config.get();
    if (auto result = detail::checked(rondo_init_all(comms.data(), nranks, &settings)); !result)
      return result.error();
    int rank = 0;
    for (const rondo_comm_t comm : comms) {
      made.push_back(BasicCommunicator());
      made.back().calls() = Calls(comm, {rank++, nranks});
    }
    return made;
  }

  template <typename T, typename Start>
  Outcome<BasicRequest<Errors>> start(std::unique_ptr<Receipt> receipt, Start&& start) const {
    const Result<rondo_type_t> type = type_of<T>();
    if (!type) return Errors::outcome(Result<BasicRequest<Errors>>(type.error()));
    rondo_request_t request = nullptr;
    const rondo_status_t status = start(*type, &request);
    return Errors::outcome(
        detail::made(status, BasicRequest<Errors>(request, std::move(receipt)), this->get()));
  }

  /// The text that a C query gives.
  template <typename Query>
  Outcome<std::string> text(Query&& query) const {
    const char* found = "";
    const rondo_status_t status = query(&found);
    return Errors::outcome(detail::made(status, std::string(found), this->get()));
  }

  int unwinding_ = std::uncaught_exceptions();  // exceptions in flight when it was made
};

}  // namespace rondo
