// SPDX-License-Identifier: Apache-2.0
#include "base/error_kinds.h"
#include "bootstrap/rendezvous.h"

#include <algorithm>
#include <cstring>

namespace rondo {
namespace {

struct IdFormat {
  char magic[6] = {'R', 'O', 'N', 'D', 'O', '1'};  // the digit is the version
  uint16_t tcp_port = 0;
  uint64_t session = 0;
  uint64_t process = 0;
  Digest secret{};
  std::array<IpAddress, UniqueId::kMaxAddresses> addresses{};
  uint64_t address_count = 0;
  std::byte reserved[16] = {};
};
static_assert(sizeof(IdFormat) == UniqueId::kBytes);

}  // namespace

void UniqueId::write(std::span<std::byte, kBytes> out) const {
  IdFormat form;
  form.tcp_port = tcp_port;
  form.session = credentials.session;
  form.process = process;
  form.secret = credentials.secret.bytes;
  form.address_count = std::min(addresses.size(), kMaxAddresses);
  std::copy_n(addresses.begin(), form.address_count, form.addresses.begin());
  std::memcpy(out.data(), &form, sizeof form);
}

Result<UniqueId> UniqueId::read(std::span<const std::byte, kBytes> in) {
  IdFormat form;
  std::memcpy(&form, in.data(), sizeof form);
  const IdFormat good;
  if (std::memcmp(form.magic, good.magic, sizeof form.magic) != 0 || form.address_count > kMaxAddresses)
    return Status(ErrorKind::UniqueIdInvalid,
                  "the unique id is not one that rondo_get_unique_id() of this version made");
  UniqueId id;
  id.credentials = {form.session, Secret{form.secret}};
  id.process = form.process;
  id.tcp_port = form.tcp_port;
  id.addresses.assign(form.addresses.begin(),
                      form.addresses.begin() + static_cast<std::ptrdiff_t>(form.address_count));
  return id;
}

}  // namespace rondo
