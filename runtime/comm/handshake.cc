#include "comm/handshake.h"

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

Status prove(const Fd& fd, const Credentials& credentials, const Purpose& purpose, const Deadline& deadline,
             const Interrupt& interrupt) {
  Transcript said{.purpose = purpose, .speaker = Speaker::self()};
  said.hello.session = credentials.session;
  said.hello.nonce = random_nonce();
  RONDO_TRY(send_all(fd, raw(said.hello), deadline, interrupt));
  RONDO_TRY(receive_all(fd, std::as_writable_bytes(std::span(&said.answer, 1)), deadline, interrupt));
  RONDO_TRY(check_answer(said.answer));
  const Claim claim{purpose, said.speaker, dialler_proof(credentials.secret, said)};
  Receipt receipt;
  RONDO_TRY(send_all(fd, raw(claim), deadline, interrupt));
  RONDO_TRY(receive_all(fd, std::as_writable_bytes(std::span(&receipt, 1)), deadline, interrupt));
  return check_receipt(receipt, credentials.secret, said);
}

}  // namespace

Result<Fd> dial(const Address& address, const Credentials& credentials, const Purpose& purpose,
                const Deadline& deadline, const Interrupt& interrupt) {
  RONDO_TRY_ASSIGN(Fd fd, connect_to(address, deadline, interrupt));
  RONDO_TRY(prove(fd, credentials, purpose, deadline, interrupt).within(address.text()));
  return fd;
}

}  // namespace rondo
