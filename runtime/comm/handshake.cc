#include "comm/handshake.h"

#include <cerrno>
#include <cstring>

#include "base/log.h"

namespace rondo {
namespace {

constexpr uint32_t kMagic = 0x4f444e52;  // "RNDO"
constexpr uint32_t kVersion = 7;         // of everything that goes between processes
constexpr int64_t kPatience_ms = 5000;   // how long a stranger may keep a socket

using Nonce = std::array<std::byte, 16>;

enum class Verdict : uint32_t { Welcome, WrongVersion, UnknownSession };

struct Hello {
  uint32_t magic = kMagic;
  uint32_t version = kVersion;
  uint64_t session = 0;
  Nonce nonce{};
};

struct Answer {
  uint32_t magic = kMagic;
  uint32_t version = kVersion;
  Verdict verdict = Verdict::Welcome;
  uint32_t reserved = 0;
  Nonce nonce{};
  Digest proof{};
};

struct Claim {
  Purpose purpose;
  Digest proof{};
};

template <typename T>
std::span<const std::byte> raw(const T& value) {
  return std::as_bytes(std::span(&value, 1));
}

Nonce random_nonce() {
  Nonce nonce;
  const uint64_t words[2] = {random_u64(), random_u64()};
  std::memcpy(nonce.data(), words, sizeof words);
  return nonce;
}

Digest listener_proof(const Secret& secret, const Nonce& dialler, const Nonce& listener) {
  static constexpr char role[] = "listener";
  return keyed_hash(secret, {raw(role), raw(dialler), raw(listener)});
}

Digest dialler_proof(const Secret& secret, const Nonce& dialler, const Nonce& listener,
                     const Purpose& purpose) {
  static constexpr char role[] = "dialler";
  return keyed_hash(secret, {raw(role), raw(dialler), raw(listener), raw(purpose)});
}

Status check_answer(const Answer& answer, const Credentials& credentials, const Nonce& own) {
  if (answer.magic != kMagic) return Status(Code::RemoteError, "what listens there is not Rondo");
  if (answer.verdict == Verdict::WrongVersion || answer.version != kVersion)
    return error(Code::InvalidUsage, "it speaks version {} of Rondo's protocol and this process version {}",
                 answer.version, kVersion);
  if (answer.verdict != Verdict::Welcome)
    return Status(Code::RemoteError, "it does not know this session (any more)");
  if (!same_digest(answer.proof, listener_proof(credentials.secret, own, answer.nonce)))
    return Status(Code::InvalidUsage, "it does not know the session's secret");
  return {};
}

Status prove(const Fd& fd, const Credentials& credentials, const Purpose& purpose, const Deadline& deadline,
             const Interrupt& interrupt) {
  Hello hello;
  hello.session = credentials.session;
  hello.nonce = random_nonce();
  RONDO_TRY(send_all(fd, raw(hello), deadline, interrupt));
  Answer answer;
  RONDO_TRY(receive_all(fd, std::as_writable_bytes(std::span(&answer, 1)), deadline, interrupt));
  RONDO_TRY(check_answer(answer, credentials, hello.nonce));
  const Claim claim{purpose, dialler_proof(credentials.secret, hello.nonce, answer.nonce, purpose)};
  return send_all(fd, raw(claim), deadline, interrupt);
}

}  // namespace

Result<Fd> dial(const Address& address, const Credentials& credentials, const Purpose& purpose,
                const Deadline& deadline, const Interrupt& interrupt) {
  RONDO_TRY_ASSIGN(Fd fd, connect_to(address, deadline, interrupt));
  RONDO_TRY(prove(fd, credentials, purpose, deadline, interrupt).within(address.text()));
  return fd;
}

Greeting::Greeting(Poller& poller, Fd fd, FindSecret find, Admit admit, Over over)
    : poller_(poller),
      fd_(std::move(fd)),
      find_(std::move(find)),
      admit_(std::move(admit)),
      over_(std::move(over)),
      timer_(poller.after_ms(kPatience_ms, [this] { turn_away("it said nothing for too long"); })) {
  poller_.watch(fd_.get(), EPOLLIN, [this](uint32_t events) { on_ready(events); });
}

Greeting::~Greeting() {
  poller_.cancel(timer_);
  if (fd_.valid()) poller_.unwatch(fd_.get());
}

void Greeting::on_ready(uint32_t) {
  if (!claimed_) return on_hello();
  on_claim();
}

bool Greeting::read_into(void* out, size_t bytes) {
  while (bytes_.size() < bytes) {
    std::byte chunk[128];
    const ssize_t got = ::recv(fd_.get(), chunk, std::min(sizeof chunk, bytes - bytes_.size()), 0);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) return false;
    if (got <= 0) {
      turn_away("it hung up");
      return false;
    }
    bytes_.insert(bytes_.end(), chunk, chunk + got);
  }
  std::memcpy(out, bytes_.data(), bytes);
  bytes_.clear();
  return true;
}

void Greeting::on_hello() {
  // A scanner's bytes are judged as soon as the magic is there.
  Hello hello;
  if (!read_into(&hello, sizeof hello)) return;
  if (hello.magic != kMagic) return turn_away("its first bytes are not Rondo's");
  Answer answer;
  const Secret* secret = find_(hello.session);
  if (hello.version != kVersion)
    answer.verdict = Verdict::WrongVersion;
  else if (secret == nullptr)
    answer.verdict = Verdict::UnknownSession;
  else {
    session_ = hello.session;
    secret_ = *secret;
    dialler_nonce_ = hello.nonce;
    own_nonce_ = answer.nonce = random_nonce();
    answer.proof = listener_proof(secret_, dialler_nonce_, own_nonce_);
  }
  // A fresh socket's buffer holds the few bytes of an answer.
  const ssize_t sent = ::send(fd_.get(), &answer, sizeof answer, MSG_NOSIGNAL);
  if (answer.verdict == Verdict::WrongVersion) return turn_away("it speaks another version of the protocol");
  if (answer.verdict == Verdict::UnknownSession) return turn_away("its session is not known here");
  if (sent != static_cast<ssize_t>(sizeof answer)) return end();  // it knows the session, and has given up
  claimed_ = true;
}

void Greeting::on_claim() {
  Claim claim;
  if (!read_into(&claim, sizeof claim)) return;
  if (!same_digest(claim.proof, dialler_proof(secret_, dialler_nonce_, own_nonce_, claim.purpose)))
    return turn_away("it does not know the session's secret");
  poller_.unwatch(fd_.get());
  admit_(session_, claim.purpose, std::move(fd_));
  end();
}

void Greeting::turn_away(const char* why) {
  sockaddr_storage peer{};
  socklen_t length = sizeof peer;
  ::getpeername(fd_.get(), reinterpret_cast<sockaddr*>(&peer), &length);
  Address from;
  from.storage = peer;
  from.length = length;
  log().warn("turned a connection away: {} ({})", why,
             peer.ss_family == AF_UNIX ? std::string("from this host") : "from " + from.text());
  end();
}

void Greeting::end() { over_(this); }

}  // namespace rondo
