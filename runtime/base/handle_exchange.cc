// SPDX-License-Identifier: Apache-2.0
#include "base/handle_exchange.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "base/error_kinds.h"
#include "base/shared_segment.h"

namespace rondo {

struct HandleExchange::Verdict {
  Head head{kVerdict, sizeof(Verdict)};
  std::array<char, 240> objection{};  // a string that ends with 0; empty: none
};

Status HandleExchange::judge(const std::string& objection) const {
  Verdict verdict;
  std::copy_n(objection.begin(), std::min(objection.size(), verdict.objection.size() - 1),
              verdict.objection.begin());
  return send(std::as_bytes(std::span(&verdict, 1)), {});
}

Result<std::optional<std::string>> HandleExchange::hear_verdict() const {
  Verdict verdict;
  RONDO_TRY_ASSIGN(const auto arrived, receive(std::as_writable_bytes(std::span(&verdict, 1)), kVerdict));
  if (!arrived) return std::optional<std::string>();
  const auto end = std::find(verdict.objection.begin(), verdict.objection.end(), '\0');
  return std::optional(std::string(verdict.objection.begin(), end));
}

Status HandleExchange::send(std::span<const std::byte> message, std::span<const int> descriptors) const {
  return send_descriptors(socket_, message, descriptors);
}

Result<std::optional<std::vector<Fd>>> HandleExchange::receive(std::span<std::byte> message,
                                                               uint32_t kind) const {
  RONDO_TRY_ASSIGN(auto arrived, receive_descriptors(socket_, message));
  if (!arrived) return std::optional<std::vector<Fd>>();
  if (arrived->bytes == 0) return error(ErrorKind::SharingFailed, "{} left while memory was shared", peer_);
  Head head;
  std::memcpy(&head, message.data(), sizeof head);
  if (arrived->bytes != message.size() || head != Head{kind, static_cast<uint32_t>(message.size())})
    return error(ErrorKind::SharingFailed, "{} sent something else while memory was shared", peer_);
  return std::optional(std::move(arrived->attached));
}

}  // namespace rondo
