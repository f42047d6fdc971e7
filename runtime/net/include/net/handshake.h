// SPDX-License-Identifier: Apache-2.0
// The handshake that opens every connection: both ends prove that they know the session's secret before
// anything else is accepted.
//
//     dialler  -> Hello   {magic, version, session, nonce}
//     listener -> Answer  {magic, version, verdict, nonce}
//     dialler  -> Claim   {purpose, who it is, proof over the transcript}
//     listener -> Receipt {verdict, proof over the same transcript}
//
// The dialler proves first, so a stranger who reaches the listener learns nothing that would verify a guess
// at the secret. Sizes are fixed, so a stranger can make the listener read at most 160 bytes. dial() blocks
// its caller, any thread, and a Dialler does not; Listeners have the other side.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/status.h"
#include "net/socket.h"

namespace rondo {

/// A keyed hash, which proves that its sender knows the secret.
using Digest = std::array<std::byte, 32>;

/// Random bytes that the ranks of a session share.
struct Secret {
  Digest bytes{};
};

/// From the system's random number generator.
Secret random_secret();
uint64_t random_u64();

/// The secret derived from a user's text. 32 random bytes, as 64 hexadecimal digits or in base64, are only
/// hashed; any other text can be guessed, and is stretched to make guessing expensive, once per process, text
/// and salt.
Result<Secret> secret_from_text(std::string_view text, std::string_view salt);

/// HMAC-SHA-256 of the concatenated parts.
Digest keyed_hash(const Secret& secret, std::initializer_list<std::span<const std::byte>> parts);

/// Compares in constant time.
bool same_digest(const Digest& a, const Digest& b);

/// What a connection is for.
enum class ConnectKind : uint32_t {
  Register,  // a rank joins: it registers with the bootstrap root
  Control,   // an edge of the control tree
  Data,      // a socket of a transport's connection
  Inquiry,   // a state query
  Meet,      // a process asks rank 0 for the unique id
  Place,     // a query of where the rank's program is
  Calls,     // a process of another host asks for rondo-ps which calls this one makes
};

struct ConnectRequest {
  ConnectKind kind = ConnectKind::Register;
  int32_t from_rank = -1;  // in the session
  int32_t to_rank = -1;    // -1: the root, before it has a rank
  uint32_t index = 0;      // Data: the number of the socket
  uint64_t communicator = 0;
  uint32_t port = 0;
  uint32_t route = 0;  // Data: the number of the transport in the table
};
static_assert(sizeof(ConnectRequest) == 32);

/// The session that a dialler belongs to, and the secret that proves it.
struct Credentials {
  uint64_t session = 0;
  Secret secret;
};

/// Connects, proves knowledge of the secret and states the purpose. The socket is non-blocking. RemoteError
/// if nothing listens there or the listener does not know the session, InvalidUsage if versions or secrets
/// differ, Timeout at the deadline.
Result<Fd> dial(const Address& address, const Credentials& credentials, const ConnectRequest& purpose,
                const Deadline& deadline, const Interrupt& interrupt);

/// How far an attempt got.
enum class Contact {
  None,    // it failed inside this process, e.g. for lack of descriptors
  Sought,  // no address accepted the connection
  Made,    // an address accepted it, whatever happened then
};

/// Dials the addresses in turn until one answers. Tries all of them again while one is silent or hangs up
/// without an answer: a listener flooded by strangers, or short of descriptors, may drop a rank as well. One
/// that does so until the deadline is there, so that is a Timeout. Addresses that do not take a connection
/// are given up a tenth of the time before: this rank knows the cause, and others, which know only that it is
/// late, may have the same deadline. `contact` becomes the furthest that any attempt got.
Result<Fd> dial_any(std::span<const Address> addresses, const Credentials& credentials,
                    const ConnectRequest& purpose, const Deadline& deadline, const Interrupt& interrupt,
                    Contact* contact = nullptr);

}  // namespace rondo
