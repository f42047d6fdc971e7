// SPDX-License-Identifier: Apache-2.0
#include "verbs/read_back.h"

namespace rondo::verbs {

Result<std::unique_ptr<ReadBack>> ReadBack::make(const std::shared_ptr<Domain>& domain,
                                                 std::shared_ptr<const SlotMemory> incoming, Path path,
                                                 const OwnAddress& own, uint16_t pkey_index) {
  std::unique_ptr<ReadBack> made(new ReadBack(std::move(incoming)));
  RONDO_TRY_ASSIGN(made->pair_, QueuePair::make(domain, {.sends = 1, .receives = 1}));
  path.peer_gid = own.gid;
  path.peer_lid = own.lid;
  RONDO_TRY(made->pair_->prepare(path.port, pkey_index, IBV_ACCESS_REMOTE_READ));
  RONDO_TRY(made->pair_->connect(path, {.queue_pair = made->pair_->number()}, 0));
  return made;
}

Status ReadBack::begin(const std::byte* at, const Region& region) {
  is_reading_ = true;
  return pair_->post_read({.at = at,
                           .remote_key = region.remote_key(),
                           .to = incoming_->proof(),
                           .local_key = incoming_->local_key()});
}

Result<bool> ReadBack::is_done() {
  if (!is_reading_) return true;
  RONDO_TRY_ASSIGN(const auto found, pair_->poll());
  for (const ibv_wc& completion : found) {
    if (completion.status != IBV_WC_SUCCESS)
      return error(Code::SystemError, "reading what {} has written to a GPU: {} (status {})",
                   pair_->device().name(), library().value()->wc_status_str(completion.status),
                   static_cast<int>(completion.status));
    is_reading_ = false;
  }
  return !is_reading_;
}

}  // namespace rondo::verbs
