// SPDX-License-Identifier: Apache-2.0
// HandleExchange: one end of the exchange by which two processes of a host come to share memory, over a Unix
// socket. Each end offers memory of its own: descriptors, and the terms on which it offers them. Then each
// gives a verdict on what it was offered: an objection, or none if it can use it.
//
//     offer | hear_offer, open the memory | judge | hear_verdict
//
// With both verdicts, both ends know whether all memory can be used; if not, they may start over with other
// memory. Nothing waits for the peer, unless it leaves its socket full. Used by one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/fd.h"
#include "base/status.h"

namespace rondo {

class HandleExchange {
 public:
  /// `peer`: the other end, for errors.
  HandleExchange(Fd socket, std::string peer) : socket_(std::move(socket)), peer_(std::move(peer)) {}

  /// Offers memory. The kernel holds its own references to the descriptors from then on. `Terms`: plain data.
  template <typename Terms>
  Status offer(const Terms& terms, std::span<const int> descriptors) const {
    const Offer<Terms> message{.terms = terms};
    return send(std::as_bytes(std::span(&message, 1)), descriptors);
  }
  /// The descriptors that the peer offers, and its terms; nothing if its offer has not arrived.
  template <typename Terms>
  Result<std::optional<std::vector<Fd>>> hear_offer(Terms& terms) const {
    Offer<Terms> message;
    RONDO_TRY_ASSIGN(auto descriptors, receive(std::as_writable_bytes(std::span(&message, 1)), kOffer));
    if (descriptors) terms = message.terms;
    return descriptors;
  }

  /// `objection`: why this end cannot use what it was offered; "": it can. Sent up to its first 239 bytes.
  Status judge(const std::string& objection) const;
  /// The peer's objection; nothing if its verdict has not arrived.
  Result<std::optional<std::string>> hear_verdict() const;

 private:
  /// A message begins with its kind and its size.
  struct Head {
    uint32_t kind = 0;
    uint32_t bytes = 0;
    friend bool operator==(const Head&, const Head&) = default;
  };
  static constexpr uint32_t kOffer = 0x66666f52;    // "Roff"
  static constexpr uint32_t kVerdict = 0x64727652;  // "Rvrd"
  template <typename Terms>
  struct Offer {
    static_assert(std::is_trivially_copyable_v<Terms>);
    Head head{kOffer, sizeof(Offer)};
    Terms terms;
  };
  struct Verdict;
  Status send(std::span<const std::byte> message, std::span<const int> descriptors) const;
  /// RemoteError unless the peer's message has that kind and that size.
  Result<std::optional<std::vector<Fd>>> receive(std::span<std::byte> message, uint32_t kind) const;

  Fd socket_;
  std::string peer_;
};

}  // namespace rondo
