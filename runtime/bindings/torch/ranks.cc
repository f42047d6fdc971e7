#include "ranks.h"

#include <cstring>
#include <vector>

#include "failures.h"

namespace rondo::torch_binding {
namespace {

/// Rank 0 makes the id; the store carries it to the others.
rondo_unique_id_t agree_on_id(c10d::Store& store, const std::string& key, int rank, Rank::Timeout timeout,
                              const std::string& where) {
  rondo_unique_id_t id;
  if (rank == 0) {
    check(rondo_get_unique_id(&id), nullptr, where);
    const auto* bytes = reinterpret_cast<const uint8_t*>(id.internal);
    store.set(key, std::vector<uint8_t>(bytes, bytes + sizeof id.internal));
    return id;
  }
  store.wait({key}, timeout);
  const std::vector<uint8_t> bytes = store.get(key);
  if (bytes.size() != sizeof id.internal)
    C10_THROW_ERROR(DistBackendError,
                    where + ": the store gave " + std::to_string(bytes.size()) +
                        " bytes for the group's id, where 128 belong; is it another group's store?");
  std::memcpy(id.internal, bytes.data(), bytes.size());
  return id;
}

std::string place(const char* call, int rank, const std::string& group) {
  return std::string(call) + ", rank " + std::to_string(rank) + " of group '" + group + "'";
}

}  // namespace

Rank::Rank(c10d::Store& store, const std::string& key, int rank, int size, Timeout timeout,
           const char* device, const std::string& group)
    : timeout_ms_(timeout.count()) {
  const std::string where = place("rondo: joining", rank, group);
  const rondo_unique_id_t id = agree_on_id(store, key, rank, timeout, where);
  rondo_config_t config = RONDO_CONFIG_INITIALIZER;
  config.timeout_ms = timeout.count();
  config.init_timeout_ms = timeout.count();
  config.name = group.c_str();
  config.device = device;
  check(rondo_init_rank(&comm_, size, &id, rank, &config), nullptr, where);
}

Rank::~Rank() { rondo_leave(comm_); }

rondo_comm_t Rank::within(Timeout timeout) {
  if (timeout_ms_.exchange(timeout.count()) != timeout.count()) rondo_set_timeout(comm_, timeout.count());
  return comm_;
}

void Rank::abort() const { rondo_abort(comm_); }

Ranks::Ranks(c10::intrusive_ptr<c10d::Store> store, std::string group, int rank, int size,
             Rank::Timeout timeout)
    : store_(std::move(store)),
      group_(std::move(group)),
      rank_(rank),
      size_(size),
      timeout_(timeout),
      host_(*store_, "rondo/host", rank, size, timeout, "host", group_) {}

Rank& Ranks::on(c10::Device device) {
  if (!device.is_cuda()) return host_;
  const std::lock_guard lock(mutex_);
  auto& rank = on_gpus_[device.index()];
  // Ranks have GPUs of different numbers; the how-manieth it is they agree on.
  if (rank == nullptr)
    rank = std::make_unique<Rank>(*store_, "rondo/cuda/" + std::to_string(on_gpus_.size()), rank_, size_,
                                  timeout_, ("cuda:" + std::to_string(device.index())).c_str(), group_);
  return *rank;
}

void Ranks::abort() {
  host_.abort();
  const std::lock_guard lock(mutex_);
  for (const auto& [index, rank] : on_gpus_)
    if (rank != nullptr) rank->abort();
}

std::string Ranks::place_of(const char* call) const { return place(call, rank_, group_); }

}  // namespace rondo::torch_binding
