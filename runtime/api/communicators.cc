// SPDX-License-Identifier: Apache-2.0
// The C API's communicators: start, split, end.
#include <span>

#include "base/clock.h"
#include "base/disowned.h"
#include "base/error_kinds.h"
#include "base/file_name.h"
#include "base/json_text.h"
#include "base/log.h"
#include "bootstrap/device_choice.h"
#include "bootstrap/rendezvous.h"
#include "comm/create.h"
#include "comm/group.h"
#include "handles.h"
#include "health/flight_file.h"
#include "health/metrics_file.h"
#include "health/trace.h"

namespace {

using namespace rondo;
using api::guarded;
using api::HandlePool;

/// Copies the fields that the caller's version of the struct has.
Result<Communicator::Options> options_of(const rondo_config_t* config) {
  rondo_config_t known = RONDO_CONFIG_INITIALIZER;
  if (config != nullptr) {
    if (config->size < offsetof(rondo_config_t, timeout_ms) + sizeof config->timeout_ms ||
        config->size > 4096)
      return error(ErrorKind::StructSizeUnknown,
                   "config.size is {}: initialise it with RONDO_CONFIG_INITIALIZER", config->size);
    std::memcpy(&known, config, std::min(config->size, sizeof known));
  }
  return Communicator::options({.transport = known.transport,
                                .algorithm = known.algorithm,
                                .timeout_ms = known.timeout_ms,
                                .name = known.name,
                                .device = known.device,
                                .init_timeout_ms = known.init_timeout_ms,
                                .protocol = known.protocol,
                                .channels = known.channels,
                                .traffic_class = known.traffic_class});
}

std::string version_text() {
  return fmt::format("{}.{}.{}", RONDO_VERSION / 10000, RONDO_VERSION / 100 % 100, RONDO_VERSION % 100);
}

/// Logs, at RONDO_LOG=info, the rank and host of a new communicator, its transports, interfaces and GPU.
/// `began_ns`: now_ns() at the start of the call that created it.
void announce(const Communicator& made, int64_t began_ns) {
  if (!log_shows_info()) return;
  log().info(
      "communicator {}: rank {} of {} on host {}, Rondo {}; transports: {}; interfaces: {}; GPU: {}; "
      "made in {:.1f} ms",
      in_one_line(made.options().name), made.rank(), made.size(), host_name(), version_text(),
      made.transports_text(), made.membership().session()->interfaces_text(),
      made.membership().device() < 0 ? "none" : std::to_string(made.membership().device()),
      static_cast<double>(now_ns() - began_ns) / 1e6);
}

/// `began_ns`: see announce().
rondo_comm_t handle_of(CommunicatorPtr communicator, int64_t began_ns) {
  announce(*communicator, began_ns);
  rondo_comm_t comm = HandlePool<rondo_comm>::get().take();
  comm->communicator = std::move(communicator);
  comm->error_number = api::latest_error_number();
  comm->mark = api::kCommMark;
  return comm;
}

// What creates communicators holds an InUse: a child that is forked meanwhile has locks and static objects
// that never come free.

/// Stores the handle of the communicator that `make` returns, or null if it returns none.
template <typename Make>
Status create(rondo_comm_t* comm, const char* name, Make&& make) {
  if (comm == nullptr) return api::null_argument(name);
  const InUse in_use;
  *comm = nullptr;
  const int64_t began_ns = now_ns();
  RONDO_TRY_ASSIGN(CommunicatorPtr made, make());
  if (made != nullptr) *comm = handle_of(std::move(made), began_ns);
  return {};
}

/// The options of a communicator made from `parent`: its own, without the name, unless there is a config.
Result<Communicator::Options> options_of_child(const Communicator& parent, const rondo_config_t* config) {
  if (config != nullptr) return options_of(config);
  Communicator::Options options = parent.options();
  options.name.clear();
  return options;
}

Status split_into(rondo_comm_t comm, int color, int key, rondo_comm_t* newcomm,
                  const rondo_config_t* config) {
  return create(newcomm, "newcomm", [&]() -> Result<CommunicatorPtr> {
    RONDO_TRY_ASSIGN(Communicator * parent, api::live(comm));
    if (color < RONDO_NO_COLOR)
      return error(Code::InvalidArgument, "color is {}: it must be at least 0, or RONDO_NO_COLOR", color);
    RONDO_TRY_ASSIGN(auto options, options_of_child(*parent, config));
    return split(*parent, color, key, std::move(options));
  });
}

/// InvalidArgument or InvalidUsage if the communicator must not be freed now.
Status check_freeable(rondo_comm_t comm) {
  if (comm->mark != api::kCommMark)
    return Status(ErrorKind::NoSuchHandle, "comm is not a communicator, or one that was destroyed");
  if (group_has(*comm->communicator))
    return comm->communicator->membership().recorder().named(Status(
        ErrorKind::GroupUsage, "comm has calls in the group that is open on this thread; end that first"));
  return {};
}

/// Invalidates the handle.
std::unique_ptr<Communicator> take_back(rondo_comm_t comm) {
  comm->mark = 0;
  auto communicator = std::move(comm->communicator);
  comm->last_error.clear();
  HandlePool<rondo_comm>::get().give_back(comm);
  return communicator;
}

/// A query about a communicator, which may have failed or have been finalized.
template <typename Answer, typename Ask>
rondo_status_t query(const char* call, rondo_comm_t comm, const char* name, Answer* answer, Ask&& ask) {
  return guarded(call, comm, [&]() -> Status {
    if (comm == nullptr || comm->mark != api::kCommMark) return api::live(comm).status();
    if (answer == nullptr) return api::null_argument(name);
    RONDO_TRY_ASSIGN(*answer, Result<Answer>(ask(*comm->communicator)));
    return {};
  });
}

}  // namespace

const char* rondo_status_string(rondo_status_t status) { return code_name(static_cast<Code>(status)); }

rondo_status_t rondo_version(int* version) {
  return guarded("rondo_version", nullptr, [&]() -> Status {
    if (version == nullptr) return api::null_argument("version");
    *version = RONDO_VERSION;
    return {};
  });
}

rondo_status_t rondo_get_unique_id(rondo_unique_id_t* id) {
  return guarded("rondo_get_unique_id", nullptr, [&]() -> Status {
    if (id == nullptr) return api::null_argument("id");
    const InUse in_use;
    RONDO_TRY_ASSIGN(const UniqueId made, make_unique_id());
    made.write(std::as_writable_bytes(std::span(id->internal)));
    return {};
  });
}

rondo_status_t rondo_init_rank(rondo_comm_t* comm, int nranks, const rondo_unique_id_t* id, int rank,
                               const rondo_config_t* config) {
  return guarded("rondo_init_rank", nullptr, [&]() -> Status {
    return create(comm, "comm", [&]() -> Result<CommunicatorPtr> {
      if (id == nullptr) return api::null_argument("id");
      RONDO_TRY_ASSIGN(auto options, options_of(config));
      RONDO_TRY_ASSIGN(const UniqueId known, UniqueId::read(std::as_bytes(std::span(id->internal))));
      return join(known, nranks, rank, std::move(options));
    });
  });
}

rondo_status_t rondo_init_all(rondo_comm_t* comms, int nranks, const rondo_config_t* config) {
  return guarded("rondo_init_all", nullptr, [&]() -> Status {
    if (comms == nullptr) return api::null_argument("comms");
    const InUse in_use;
    for (int rank = 0; rank < nranks; ++rank) comms[rank] = nullptr;
    const int64_t began_ns = now_ns();
    RONDO_TRY_ASSIGN(const auto options, options_of(config));
    RONDO_TRY_ASSIGN(auto made, join_all(nranks, options));
    for (int rank = 0; rank < nranks; ++rank)
      comms[rank] = handle_of(std::move(made[static_cast<size_t>(rank)]), began_ns);
    return {};
  });
}

rondo_status_t rondo_init(rondo_comm_t* comm, const char* method, const rondo_config_t* config) {
  return guarded("rondo_init", nullptr, [&]() -> Status {
    return create(comm, "comm", [&]() -> Result<CommunicatorPtr> {
      RONDO_TRY_ASSIGN(auto options, options_of(config));
      return join_by_method(method ? method : "env://", std::move(options));
    });
  });
}

rondo_status_t rondo_split(rondo_comm_t comm, int color, int key, rondo_comm_t* newcomm,
                           const rondo_config_t* config) {
  return guarded("rondo_split", comm, [&] { return split_into(comm, color, key, newcomm, config); });
}

rondo_status_t rondo_duplicate(rondo_comm_t comm, rondo_comm_t* newcomm) {
  return guarded("rondo_duplicate", comm, [&] { return split_into(comm, 0, 0, newcomm, nullptr); });
}

rondo_status_t rondo_shrink(rondo_comm_t comm, const int* excluded, int nexcluded, rondo_comm_t* newcomm,
                            const rondo_config_t* config) {
  return guarded("rondo_shrink", comm, [&]() -> Status {
    const bool the_gone = nexcluded == RONDO_THE_GONE;
    return create(newcomm, "newcomm", [&]() -> Result<CommunicatorPtr> {
      if (!the_gone && nexcluded < 0)
        return error(Code::InvalidArgument, "nexcluded is {}: it must be at least 0, or RONDO_THE_GONE",
                     nexcluded);
      if (nexcluded > 0 && excluded == nullptr) return api::null_argument("excluded");
      if (comm == nullptr || comm->mark != api::kCommMark) return api::live(comm).status();
      Communicator& parent = *comm->communicator;
      RONDO_TRY_ASSIGN(auto options, options_of_child(parent, config));
      if (options.name.empty()) options.name = parent.options().name + "/shrunk";
      if (the_gone) return shrink_to_living(parent, std::move(options));
      return shrink(parent, std::span(excluded, static_cast<size_t>(nexcluded)), std::move(options));
    });
  });
}

rondo_status_t rondo_finalize(rondo_comm_t comm) {
  return guarded("rondo_finalize", comm, [&]() -> Status {
    RONDO_TRY_ASSIGN(Communicator * communicator, api::live(comm));
    RONDO_TRY(refuse_in_group("rondo_finalize()"));
    return communicator->finalize();
  });
}

rondo_status_t rondo_set_timeout(rondo_comm_t comm, int64_t timeout_ms) {
  return guarded("rondo_set_timeout", comm, [&]() -> Status {
    RONDO_TRY_ASSIGN(Communicator * communicator, api::live(comm));
    if (timeout_ms < 1)
      return error(Code::InvalidArgument, "timeout_ms is {}: it must be at least 1", timeout_ms);
    communicator->membership().set_timeout_ms(timeout_ms);
    return {};
  });
}

rondo_status_t rondo_quiesce(rondo_comm_t comm) {
  return guarded("rondo_quiesce", comm, [&]() -> Status {
    RONDO_TRY_ASSIGN(Communicator * communicator, api::live(comm));
    RONDO_TRY(refuse_in_group("rondo_quiesce()"));
    return communicator->quiesce();
  });
}

rondo_status_t rondo_destroy(rondo_comm_t comm) {
  if (comm == nullptr) return RONDO_OK;
  bool gone = false;
  const rondo_status_t status = guarded("rondo_destroy", nullptr, [&]() -> Status {
    RONDO_TRY(check_freeable(comm));
    gone = true;
    if (!comm->communicator->membership().failed()) return comm->communicator->finalize();
    await_flight_file();
    return {};
  });
  if (!gone) return status;
  Communicator::retire(take_back(comm));
  finish_metrics_file();
  flush_trace();
  return status;
}

rondo_status_t rondo_leave(rondo_comm_t comm) {
  if (comm == nullptr) return RONDO_OK;
  return guarded("rondo_leave", nullptr, [&]() -> Status {
    RONDO_TRY(check_freeable(comm));
    const Status left = Communicator::leave(take_back(comm));
    finish_metrics_file();
    flush_trace();
    return left;
  });
}

rondo_status_t rondo_abort(rondo_comm_t comm) {
  return guarded("rondo_abort", nullptr, [&]() -> Status {
    if (comm == nullptr) return api::null_argument("comm");
    if (comm->mark != api::kCommMark)
      return Status(ErrorKind::NoSuchHandle, "comm is not a communicator, or one that was destroyed");
    Communicator& communicator = *comm->communicator;
    // fail() returns the first failure, which may be another one; the abort succeeds either way.
    static_cast<void>(
        communicator.membership().fail(error(ErrorKind::RankAborted, "{} called rondo_abort()",
                                             communicator.membership().rank_text(communicator.rank()))));
    await_flight_file();  // the caller may end the process
    return {};
  });
}

rondo_status_t rondo_rank(rondo_comm_t comm, int* rank) {
  return query("rondo_rank", comm, "rank", rank, [](const Communicator& of) { return of.rank(); });
}

rondo_status_t rondo_size(rondo_comm_t comm, int* size) {
  return query("rondo_size", comm, "size", size, [](const Communicator& of) { return of.size(); });
}

rondo_status_t rondo_device(rondo_comm_t comm, int* device) {
  return query("rondo_device", comm, "device", device,
               [](const Communicator& of) { return of.membership().device(); });
}

rondo_status_t rondo_current_device(int* device) {
  return guarded("rondo_current_device", nullptr, [&]() -> Status {
    if (device == nullptr) return api::null_argument("device");
    *device = current_or_first_device();
    return {};
  });
}

rondo_status_t rondo_last_algorithm(rondo_comm_t comm, const char** name) {
  return query("rondo_last_algorithm", comm, "name", name,
               [](const Communicator& of) { return of.membership().recorder().algorithm(); });
}

rondo_status_t rondo_transport(rondo_comm_t comm, int peer, const char** name) {
  return query("rondo_transport", comm, "name", name, [&](const Communicator& of) -> Result<const char*> {
    if (peer < 0 || peer >= of.size())
      return error(ErrorKind::RankOutOfRange, "peer is {}: it must be from 0 to {}", peer, of.size() - 1);
    return of.transport_to(peer);
  });
}

rondo_status_t rondo_gone_ranks(rondo_comm_t comm, int* ranks, int* nranks) {
  return query("rondo_gone_ranks", comm, "nranks", nranks, [&](const Communicator& of) -> Result<int> {
    if (ranks == nullptr) return api::null_argument("ranks");
    const std::vector<int> gone = of.membership().gone_ranks();
    std::copy(gone.begin(), gone.end(), ranks);
    return static_cast<int>(gone.size());
  });
}

rondo_status_t rondo_async_error(rondo_comm_t comm, rondo_status_t* status) {
  return guarded("rondo_async_error", nullptr, [&]() -> Status {
    if (comm == nullptr || comm->mark != api::kCommMark) return api::live(comm).status();
    if (status == nullptr) return api::null_argument("status");
    const Status cause = comm->communicator->membership().cause();
    if (!cause.ok()) await_flight_file();  // the caller may end the process
    *status = static_cast<rondo_status_t>(cause.code());
    return {};
  });
}
