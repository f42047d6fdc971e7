// SPDX-License-Identifier: Apache-2.0
// Communicators made from others: ncclCommSplit(), ncclCommShrink(), ncclCommGrow().
#include <array>
#include <cstring>
#include <vector>

#include "comm_task.h"
#include "config.h"
#include "group.h"

namespace rondo::nccl {
namespace {

/// The settings of a child; without a config of its own it inherits its parent's.
struct Wish {
  bool inherits = true;
  Config config;

  const rondo_config_t* view(rondo_config_t& room) const {
    if (inherits) return nullptr;
    room = config.view();
    return &room;
  }
};

std::string device_of(const ncclComm& comm) {
  return comm.device < 0 ? "host" : "cuda:" + std::to_string(comm.device);
}

Outcome read_wish(const ncclComm& parent, const ncclConfig_t* config, Wish& wish) {
  wish.inherits = config == nullptr;
  RONDO_NCCL_TRY(read_config(config, &parent.blocking, wish.config));
  wish.config.device = device_of(parent);
  return {};
}

/// Several children in one group may share a parent, whose tasks then have yet to run.
Outcome check_parent(ncclComm& parent, const ncclComm_t* newcomm, bool may_be_revoked) {
  if (newcomm == nullptr) return null_argument("newcomm");
  if (GroupCalls::has(parent))
    return wrong(ncclInvalidUsage, "comm has calls in the group that is open on this thread; end that first");
  if (GroupCalls::is_open() && parent.comm != nullptr) return {};
  if (may_be_revoked && parent.revoked.load() && parent.jobs.load() == 0) return {};
  return check_ready(parent);
}

/// Submits a task that makes a child of `parent`; `make` yields it, or null if this rank is not a member.
template <typename Make>
Outcome submit_child(ncclComm& parent, bool member, const Wish& wish, ncclComm_t* newcomm, Make&& make) {
  ncclComm* child = member ? take_handle(wish.config.blocking) : nullptr;
  *newcomm = child;
  const auto run = [child, make = std::forward<Make>(make)]() -> Outcome {
    rondo_comm_t made = nullptr;
    RONDO_NCCL_TRY(make(&made));
    return child != nullptr ? adopt(*child, made) : Outcome{};
  };
  if (!member) return submit({&parent, nullptr, nullptr, parent.blocking, run});
  return submit({child, &parent, newcomm, wish.config.blocking, run});
}

/// A revoked communicator is renewed first, by a shrink that excludes no rank.
Outcome split(const ncclComm& parent, int color, int key, const Wish& wish, rondo_comm_t* made) {
  rondo_config_t room;
  const rondo_config_t* view = wish.view(room);
  if (!parent.revoked.load())
    return outcome_of(rondo_split(parent.comm, color, key, made, view), parent.comm);
  rondo_comm_t renewed = nullptr;
  RONDO_NCCL_TRY(outcome_of(rondo_shrink(parent.comm, nullptr, 0, &renewed, nullptr), parent.comm));
  const Outcome outcome = outcome_of(rondo_split(renewed, color, key, made, view), renewed);
  rondo_leave(renewed);  // its children keep what they need
  return outcome;
}

Outcome submit_split(ncclComm& parent, int color, int key, ncclComm_t* newcomm, const ncclConfig_t* config) {
  RONDO_NCCL_TRY(check_parent(parent, newcomm, true));
  if (color < kNoColor)
    return wrong(ncclInvalidArgument, "color is {}: it must be at least 0, or NCCL_SPLIT_NOCOLOR", color);
  Wish wish;
  RONDO_NCCL_TRY(read_wish(parent, config, wish));
  return submit_child(parent, color >= 0, wish, newcomm, [&parent, color, key, wish](rondo_comm_t* made) {
    return split(parent, color, key, wish, made);
  });
}

Outcome submit_shrink(ncclComm& parent, std::vector<int> excluded, ncclComm_t* newcomm,
                      const ncclConfig_t* config, int flags) {
  RONDO_NCCL_TRY(check_parent(parent, newcomm, true));
  if (flags != 0 && flags != kShrinkAbort)
    return wrong(ncclInvalidArgument,
                 "shrinkFlags is {}: it must be NCCL_SHRINK_DEFAULT or NCCL_SHRINK_ABORT", flags);
  Wish wish;
  RONDO_NCCL_TRY(read_wish(parent, config, wish));
  if (flags == kShrinkAbort) rondo_abort(parent.comm);
  return submit_child(parent, true, wish, newcomm, [&parent, excluded, wish](rondo_comm_t* made) {
    rondo_config_t room;
    return outcome_of(
        rondo_shrink(parent.comm, excluded.data(), static_cast<int>(excluded.size()), made, wish.view(room)),
        parent.comm);
  });
}

// --- growing ---

/// Each rank's contribution to agreeing on the grown communicator's id, which exactly one rank knows.
struct SplitChoice {
  std::array<char, sizeof(ncclUniqueId)> id{};
  char knows = 0;
};

Outcome agree_on_id(const ncclComm& parent, const ncclUniqueId* own, rondo_unique_id_t& agreed) {
  SplitChoice word;
  if (own != nullptr) {
    std::memcpy(word.id.data(), own, sizeof *own);
    word.knows = 1;
  }
  std::vector<SplitChoice> words(static_cast<size_t>(parent.size));
  RONDO_NCCL_TRY(outcome_of(
      rondo_all_gather(&word, words.data(), sizeof word, RONDO_UINT8, parent.comm, nullptr), parent.comm));
  int known = 0;
  for (const SplitChoice& one : words) {
    if (one.knows == 0) continue;
    ++known;
    std::memcpy(&agreed, one.id.data(), sizeof agreed);
  }
  if (known == 1) return {};
  return wrong(ncclInvalidUsage, "{} ranks of the communicator gave a uniqueId: exactly one must", known);
}

Outcome grow(const ncclComm& parent, int nranks, const std::vector<ncclUniqueId>& id, const Config& config,
             rondo_comm_t* made) {
  rondo_unique_id_t agreed;
  RONDO_NCCL_TRY(agree_on_id(parent, id.empty() ? nullptr : &id.front(), agreed));
  const rondo_config_t view = config.view();
  return outcome_of(rondo_init_rank(made, nranks, &agreed, parent.rank, &view));
}

Outcome submit_grow(ncclComm& parent, int nranks, const ncclUniqueId* id, int rank, ncclComm_t* newcomm,
                    const ncclConfig_t* config) {
  RONDO_NCCL_TRY(check_parent(parent, newcomm, false));
  if (rank != -1 && rank != parent.rank)
    return wrong(ncclInvalidArgument, "rank is {}: ranks of comm keep theirs, and give -1", rank);
  if (nranks < parent.size)
    return wrong(ncclInvalidArgument, "nRanks is {}, less than comm has, which is {}", nranks, parent.size);
  Wish wish;
  RONDO_NCCL_TRY(read_wish(parent, config, wish));
  std::vector<ncclUniqueId> own;
  if (id != nullptr) own.push_back(*id);
  return submit_child(parent, true, wish, newcomm,
                      [&parent, nranks, own, config = wish.config](rondo_comm_t* made) {
                        return grow(parent, nranks, own, config, made);
                      });
}

}  // namespace
}  // namespace rondo::nccl

using namespace rondo::nccl;

ncclResult_t ncclCommSplit(ncclComm_t comm, int color, int key, ncclComm_t* newcomm, ncclConfig_t* config) {
  if (newcomm != nullptr) *newcomm = nullptr;
  return with_any("ncclCommSplit", comm,
                  [&](ncclComm& known) { return submit_split(known, color, key, newcomm, config); });
}

ncclResult_t ncclCommShrink(ncclComm_t comm, int* excluded, int nexcluded, ncclComm_t* newcomm,
                            ncclConfig_t* config, int flags) {
  if (newcomm != nullptr) *newcomm = nullptr;
  return with_any("ncclCommShrink", comm, [&](ncclComm& known) -> Outcome {
    if (nexcluded < 0 || (nexcluded != 0 && excluded == nullptr))
      return wrong(ncclInvalidArgument, "excludeRanksList is {} with {} ranks", static_cast<void*>(excluded),
                   nexcluded);
    return submit_shrink(known, std::vector<int>(excluded, excluded + nexcluded), newcomm, config, flags);
  });
}

ncclResult_t ncclCommGetUniqueId(ncclComm_t comm, ncclUniqueId* id) {
  return with("ncclCommGetUniqueId", comm, [&](ncclComm&) { return get_unique_id(id); });
}

ncclResult_t ncclCommGrow(ncclComm_t comm, int nranks, const ncclUniqueId* id, int rank, ncclComm_t* newcomm,
                          ncclConfig_t* config) {
  if (newcomm != nullptr) *newcomm = nullptr;
  if (comm != nullptr)
    return with_any("ncclCommGrow", comm,
                    [&](ncclComm& known) { return submit_grow(known, nranks, id, rank, newcomm, config); });
  if (id == nullptr)
    return guarded("ncclCommGrow", nullptr,
                   [] { return wrong(ncclInvalidArgument, "comm and uniqueId are NULL"); });
  return ncclCommInitRankConfig(newcomm, nranks, *id, rank, config);
}

RONDO_NCCL_ALIAS(CommSplit);
RONDO_NCCL_ALIAS(CommShrink);
RONDO_NCCL_ALIAS(CommGetUniqueId);
RONDO_NCCL_ALIAS(CommGrow);
