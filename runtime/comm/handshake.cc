#include "comm/handshake.h"

#include <poll.h>

#include <algorithm>

#include "handshake_format.h"

namespace rondo {
namespace {

Status check_answer(const Answer& answer) {
  if (answer.magic != kMagic) return Status(Code::RemoteError, "what listens there is not Rondo");
  if (answer.verdict == Verdict::WrongVersion || answer.version != kVersion)
    return error(Code::InvalidUsage, "it speaks version {} of Rondo's protocol and this process version {}",
                 answer.version, kVersion);
  if (answer.verdict != Verdict::Welcome)
    return Status(Code::RemoteError, "it does not know this session (any more)");
  return {};
}

Status check_receipt(const Receipt& receipt, const Secret& secret, const Transcript& said) {
  if (receipt.verdict == Verdict::Welcome && same_digest(receipt.proof, listener_proof(secret, said)))
    return {};
  return error(Code::InvalidUsage, "it has another {}", secret_name(said.purpose.kind));
}

/// `dropped`: the other end hung up without a word.
Status prove(const Fd& fd, const Credentials& credentials, const Purpose& purpose, const Deadline& deadline,
             const Interrupt& interrupt, bool& dropped) {
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

Result<Fd> dial_once(const Address& address, const Credentials& credentials, const Purpose& purpose,
                     const Deadline& deadline, const Interrupt& interrupt, bool& dropped) {
  RONDO_TRY_ASSIGN(Fd fd, connect_to(address, deadline, interrupt));
  RONDO_TRY(prove(fd, credentials, purpose, deadline, interrupt, dropped).within(address.text()));
  return fd;
}

}  // namespace

Result<Fd> dial(const Address& address, const Credentials& credentials, const Purpose& purpose,
                const Deadline& deadline, const Interrupt& interrupt) {
  bool dropped = false;
  return dial_once(address, credentials, purpose, deadline, interrupt, dropped);
}

Result<Fd> dial_any(std::span<const Address> addresses, const Credentials& credentials,
                    const Purpose& purpose, const Deadline& deadline, const Interrupt& interrupt) {
  constexpr int kMostPause_ms = 64;
  for (int pause_ms = 1;; pause_ms = std::min(2 * pause_ms, kMostPause_ms)) {
    Status last;
    bool any_dropped = false;
    for (const Address& address : addresses) {
      bool dropped = false;
      auto fd = dial_once(address, credentials, purpose, deadline, interrupt, dropped);
      if (fd.ok() || fd.status().code() == Code::Timeout) return fd;
      last = fd.status();
      any_dropped = any_dropped || dropped;
    }
    if (!any_dropped || deadline.passed()) return last;
    if (interrupt) RONDO_TRY(interrupt());
    ::poll(nullptr, 0, pause_ms);
  }
}

}  // namespace rondo
