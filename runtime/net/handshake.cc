// SPDX-License-Identifier: Apache-2.0
#include "net/handshake.h"

#include <poll.h>

#include <algorithm>

#include "base/error_kinds.h"
#include "handshake_format.h"

namespace rondo {
namespace {

/// `dropped`: the other end hung up without an answer.
Status prove(const Fd& fd, const Credentials& credentials, const ConnectRequest& purpose,
             const Deadline& deadline, const Interrupt& interrupt, bool& dropped) {
  Transcript said{.purpose = purpose, .speaker = Speaker::self()};
  said.hello.session = credentials.session;
  said.hello.nonce = random_nonce();
  dropped = true;
  RONDO_TRY(send_all(fd, raw(said.hello), deadline, interrupt));
  RONDO_TRY(receive_all(fd, std::as_writable_bytes(std::span(&said.answer, 1)), deadline, interrupt));
  dropped = false;
  RONDO_TRY(check_answer(said.answer));
  const Claim claim{purpose, said.speaker, dialler_proof(credentials.secret, said)};
  Receipt receipt;
  dropped = true;
  RONDO_TRY(send_all(fd, raw(claim), deadline, interrupt));
  RONDO_TRY(receive_all(fd, std::as_writable_bytes(std::span(&receipt, 1)), deadline, interrupt));
  dropped = false;
  return check_receipt(receipt, credentials.secret, said);
}

/// How one attempt to dial an address ended.
struct Attempt {
  Contact contact = Contact::None;
  bool dropped = false;  // the other end hung up without an answer
};

/// `connect_by`: when to give up an address that does not take the connection.
Result<Fd> dial_once(const Address& address, const Credentials& credentials, const ConnectRequest& purpose,
                     const Deadline& connect_by, const Deadline& deadline, const Interrupt& interrupt,
                     Attempt& attempt) {
  RONDO_TRY_ASSIGN(Fd fd, socket_for(address));
  attempt.contact = Contact::Sought;
  RONDO_TRY(connect_to(fd, address, connect_by, interrupt));
  attempt.contact = Contact::Made;
  RONDO_TRY(prove(fd, credentials, purpose, deadline, interrupt, attempt.dropped).within(address.text()));
  return fd;
}

}  // namespace

Status check_answer(const Answer& answer) {
  if (answer.magic != kMagic) return Status(ErrorKind::MessageBroken, "what listens there is not Rondo");
  if (answer.verdict == Verdict::WrongVersion || answer.version != kVersion)
    return error(ErrorKind::VersionDiffers,
                 "it speaks version {} of Rondo's protocol and this process version {}", answer.version,
                 kVersion);
  if (answer.verdict != Verdict::Welcome)
    return Status(Code::RemoteError, "it does not know this session, or no longer does");
  return {};
}

Status check_receipt(const Receipt& receipt, const Secret& secret, const Transcript& said) {
  if (receipt.verdict == Verdict::Welcome && same_digest(receipt.proof, listener_proof(secret, said)))
    return {};
  if (receipt.verdict == Verdict::UnknownSession)
    return Status(Code::RemoteError, "that rank is no longer there");
  return error(ErrorKind::SecretDiffers, "it has a different {}", secret_name(said.purpose.kind));
}

int weight_of(const Status& failure) {
  switch (failure.code()) {
    case Code::InvalidUsage: return 3;
    case Code::Timeout: return 2;
    case Code::RemoteError: return 1;
    default: return 0;
  }
}

Result<Fd> dial(const Address& address, const Credentials& credentials, const ConnectRequest& purpose,
                const Deadline& deadline, const Interrupt& interrupt) {
  Attempt attempt;
  return dial_once(address, credentials, purpose, deadline, deadline, interrupt, attempt);
}

Result<Fd> dial_any(std::span<const Address> addresses, const Credentials& credentials,
                    const ConnectRequest& purpose, const Deadline& deadline, const Interrupt& interrupt,
                    Contact* contact) {
  constexpr int kMaxPause_ms = 64;
  constexpr int kConnect_ms = 5000;
  const int whole_ms = deadline.left_ms();
  const Deadline contact_by = Deadline::in_ms(whole_ms - whole_ms / 10);
  Contact furthest = Contact::None;
  for (int pause_ms = 1;; pause_ms = std::min(2 * pause_ms, kMaxPause_ms)) {
    Status worst;
    bool again = false;
    for (size_t i = 0; i < addresses.size(); ++i) {
      const int share_ms = contact_by.left_ms() / static_cast<int>(addresses.size() - i);
      Attempt attempt;
      auto fd = dial_once(addresses[i], credentials, purpose,
                          Deadline::in_ms(std::min(share_ms, kConnect_ms)), deadline, interrupt, attempt);
      furthest = std::max(furthest, attempt.contact);
      if (contact != nullptr) *contact = std::max(*contact, attempt.contact);
      if (fd.ok()) return fd;
      if (interrupt) RONDO_TRY(interrupt());
      const Status failure = attempt.dropped ? fd.status().as(Code::Timeout) : fd.status();
      again = again || failure.code() == Code::Timeout;
      if (worst.ok() || weight_of(failure) >= weight_of(worst)) worst = failure;
    }
    const bool is_late = furthest == Contact::Made ? deadline.passed() : contact_by.passed();
    if (!again || is_late) return worst;
    ::poll(nullptr, 0, pause_ms);
  }
}

}  // namespace rondo
