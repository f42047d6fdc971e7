// SPDX-License-Identifier: Apache-2.0
// IP addresses: what they are, and which share a subnet.
#include "base/ip_address.h"

#include <arpa/inet.h>

#include "base/byte_codec.h"
#include "catch.h"
#include "seed.h"
#include "xorshift.h"

namespace rondo::test {
namespace {

IpAddress address(const std::string& text) {
  IpAddress ip{};
  const bool ipv4 = text.find(':') == std::string::npos;
  REQUIRE(::inet_pton(AF_INET6, ((ipv4 ? "::ffff:" : "") + text).c_str(), ip.data()) == 1);
  return ip;
}

bool bit(const IpAddress& ip, int index) {
  return (ip[static_cast<size_t>(index / 8)] >> (7 - index % 8) & 1) != 0;
}

}  // namespace

TEST_CASE("an address is printed as people write it") {
  for (const std::string text : {"10.0.0.1", "169.254.1.2", "fe80::1", "2001:db8::a:b", "::1"})
    CHECK(ip_text(address(text)) == text);
}

TEST_CASE("link-local addresses are those of fe80::/10 and 169.254.0.0/16") {
  for (const std::string text : {"fe80::1", "febf::1", "169.254.0.1", "169.254.255.255"})
    CHECK(is_link_local(address(text)));
  for (const std::string text : {"fec0::1", "fe7f::1", "169.253.0.1", "169.255.0.1", "10.0.0.1", "a9fe::1"})
    CHECK_FALSE(is_link_local(address(text)));
}

TEST_CASE("two addresses share a subnet if the bits of its prefix are equal") {
  XorShift random(test_seed(19), 0);
  for (int trial = 0; trial < 2000; ++trial) {
    IpAddress a{};
    for (auto& byte : a) byte = static_cast<uint8_t>(random.next() >> 32);
    IpAddress b = a;
    const int flipped = static_cast<int>(random.next() % 128);
    b[static_cast<size_t>(flipped / 8)] ^= static_cast<uint8_t>(0x80 >> (flipped % 8));
    REQUIRE(bit(a, flipped) != bit(b, flipped));
    for (int prefix_bits = 0; prefix_bits <= 128; ++prefix_bits) {
      REQUIRE(same_subnet(a, a, prefix_bits));
      REQUIRE(same_subnet(a, b, prefix_bits) == (prefix_bits <= flipped));
    }
  }
}

TEST_CASE("a reader whose caller refuses a value reads nothing more") {
  ByteWriter writer;
  writer.put(uint8_t{1}).put(uint8_t{2});
  ByteReader reader(writer.bytes());
  CHECK(reader.get<uint8_t>() == 1);
  reader.fail();
  CHECK_FALSE(reader.ok());
  CHECK(reader.get<uint8_t>() == 0);
}

}  // namespace rondo::test
