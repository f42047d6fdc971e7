// SPDX-License-Identifier: Apache-2.0
// How a user's secret becomes a key: random ones are used directly, short ones are stretched.
#include "net/handshake.h"

#include <fmt/core.h>
#include <unistd.h>

#include <atomic>
#include <string>
#include <thread>

#include "base/clock.h"
#include "catch.h"
#include "process.h"
#include "sanitized.h"

namespace rondo::test {
namespace {

std::string hex(const Secret& secret) {
  std::string text;
  for (const std::byte byte : secret.bytes) text += fmt::format("{:02x}", static_cast<unsigned>(byte));
  return text;
}

Secret secret_of(const std::string& text, const std::string& salt = "rondo port-29500") {
  const auto secret = secret_from_text(text, salt);
  INFO(secret.status().message());
  REQUIRE(secret.ok());
  return secret.value();
}

}  // namespace

TEST_CASE("a guessable secret is stretched by scrypt, salted with the job") {
  CHECK(hex(secret_of("correct horse")) ==
        "3e4b3f08f8b71a1b1f13e4f5c18d0f0184616118425bceb639b49a33d129b498");
  CHECK(hex(secret_of("correct horse", "rondo port-29501")) != hex(secret_of("correct horse")));
  const int64_t begin_ns = now_ns();
  for (int i = 0; i < 1000; ++i) secret_of("correct horse");
  CHECK(now_ns() - begin_ns < 1'000'000'000);  // only the first time is expensive
}

TEST_CASE("a child that is forked while another thread stretches a secret can do so") {
  if (kSanitized) return;  // a fork may leave the sanitizer's allocator locked
  secret_of("correct horse");
  std::atomic<bool> begins{false};
  const auto stretch = [] { require(secret_from_text("battery staple", "").ok(), "no secret"); };
  std::thread other([&] {
    begins = true;
    stretch();
  });
  while (!begins) continue;
  ::usleep(10'000);
  CHECK(Process(stretch).wait(20).failure() == "");
  other.join();
}

TEST_CASE("32 random bytes are used directly, and nothing else is") {
  const std::string digits = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
  const std::string base64 = "q83vEjRWeJq83wASNFZ4kKvN7xI0VniavN8AEjRWeJA";
  CHECK(hex(secret_of(digits)) == "a8ae6e6ee929abea3afcfc5258c8ccd6f85273e0d4626d26c7279f3250f77c8e");
  const auto is_stretched = [](const std::string& text) {  // a secret used directly ignores the salt
    return hex(secret_of(text, "one")) != hex(secret_of(text, "two"));
  };
  CHECK_FALSE(is_stretched(base64));
  CHECK_FALSE(is_stretched(base64 + "="));
  CHECK(is_stretched(digits.substr(1)));
  CHECK(is_stretched("all words of one dictionary are easily guessed in turn"));
  CHECK(is_stretched("allwordsofonedictionaryareeasilyguessedinturn"));
}

}  // namespace rondo::test
