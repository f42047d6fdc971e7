// The handshake that opens every connection: both ends prove that they know the session's secret before a
// byte of anything else is believed.
//
//     dialler  -> Hello   {magic, version, session, nonce}
//     listener -> Answer  {magic, version, verdict, nonce}
//     dialler  -> Claim   {purpose, who it is, proof over all that was said}
//     listener -> Receipt {verdict, proof over the same}
//
// The dialler proves first: from a listener that anybody can reach, nobody learns anything by which guesses
// at the secret could be checked. Sizes are fixed, so a stranger can make the listener read 160 bytes and no
// more. dial() blocks its caller; Greeting (greeting.h) is the listener's side.
#pragma once

#include <span>

#include "comm/secret.h"
#include "comm/socket.h"

namespace rondo {

/// What a connection is for.
enum class PurposeKind : uint32_t {
  Register,  // a rank joins: it registers with the session's root
  Control,   // an edge of the control tree
  Data,      // a socket of a transport's connection
  Inquiry,   // what is that rank doing?
  Meet,      // a process asks rank 0 for the unique id
};

struct Purpose {
  PurposeKind kind = PurposeKind::Register;
  int32_t from_rank = -1;  // in the session
  int32_t to_rank = -1;    // -1: the root, before it has a rank
  uint32_t index = 0;      // Data: the number of the socket
  uint64_t communicator = 0;
  uint32_t port = 0;
  uint32_t route = 0;  // Data: the number of the transport in the table
};
static_assert(sizeof(Purpose) == 32);

/// Which session a dialler speaks for.
struct Credentials {
  uint64_t session = 0;
  Secret secret;
};

/// Connects, proves, states the purpose. The socket is non-blocking. RemoteError where nobody listens or
/// nobody knows the session, InvalidUsage where versions or secrets differ, Timeout at the deadline.
Result<Fd> dial(const Address& address, const Credentials& credentials, const Purpose& purpose,
                const Deadline& deadline, const Interrupt& interrupt);

/// How far an attempt got.
enum class Contact {
  None,    // not out of this process, which has too few descriptors, say
  Sought,  // no address took the connection
  Made,    // one did, whatever came of it
};

/// Dials the addresses in turn until one answers, and all of them again while one is silent or hangs up
/// without a word: a listener that strangers besiege may drop a rank as well. `contact` becomes the best of
/// the attempts.
Result<Fd> dial_any(std::span<const Address> addresses, const Credentials& credentials,
                    const Purpose& purpose, const Deadline& deadline, const Interrupt& interrupt,
                    Contact* contact = nullptr);

}  // namespace rondo
