// SPDX-License-Identifier: Apache-2.0
// Sizes, switches and names as people write them.
#include "base/words.h"

#include <array>
#include <cstdint>

#include "catch.h"

namespace rondo {

TEST_CASE("sizes are read as people write them") {
  CHECK(parse_size("8") == 8u);
  CHECK(parse_size("64M") == size_t{64} << 20);
  CHECK(parse_size("1.5K") == 1536u);
  CHECK(parse_size("2GiB") == size_t{2} << 30);
  CHECK(parse_size("4kb") == 4096u);
  CHECK(parse_size("1t") == size_t{1} << 40);
  CHECK(parse_size("0") == 0u);
  CHECK(parse_size("9223372036854775807") == size_t{INT64_MAX});
  for (const char* wrong : {"", "M", "-1", "8X", "1.5", ".5K", "1e6", "8 M", "99999999999G", "1.2.3", "8KK",
                            "B", "9223372036854775808", "0x10", "+1"}) {
    CAPTURE(wrong);
    CHECK_FALSE(parse_size(wrong));
  }
}

TEST_CASE("whole numbers are decimal or hexadecimal") {
  CHECK(parse_integer("0") == 0);
  CHECK(parse_integer("42") == 42);
  CHECK(parse_integer("-1") == -1);
  CHECK(parse_integer("0xffff") == 0xffff);
  CHECK(parse_integer("0X8001") == 0x8001);
  CHECK(parse_integer("-0x10") == -16);
  CHECK(parse_integer("9223372036854775807") == INT64_MAX);
  for (const char* wrong :
       {"", "-", "0x", "--1", "0x-1", "1.5", "8K", "ffff", "+1", " 1", "1 ", "9223372036854775808"}) {
    CAPTURE(wrong);
    CHECK_FALSE(parse_integer(wrong));
  }
}

TEST_CASE("switches are read in any case") {
  for (const char* on : {"1", "yes", "Yes", "TRUE", "on"}) CHECK(parse_switch(on) == true);
  for (const char* off : {"0", "no", "No", "FALSE", "off"}) CHECK(parse_switch(off) == false);
  for (const char* wrong : {"", "2", "y", "yess", "enable", "00"}) CHECK_FALSE(parse_switch(wrong));
}

TEST_CASE("a typo finds the intended name, and an unrelated word finds none") {
  constexpr std::array<std::string_view, 7> kNames{"all_reduce", "all_gather", "reduce", "broadcast",
                                                   "barrier",    "scan",       "exscan"};
  const auto meant = [&](const char* word) { return did_you_mean(word, kNames); };
  CHECK(meant("all_redcue") == "; did you mean all_reduce?");
  CHECK(meant("Allgater") == "; did you mean all_gather?");
  CHECK(meant("recude") == "; did you mean reduce?");
  CHECK(meant("broad") == "; did you mean broadcast?");
  CHECK(meant("exsca") == "; did you mean exscan?");
  CHECK(meant("scans") == "; did you mean scan?");
  for (const char* word : {"", "x", "quicksort", "ring"}) CHECK(meant(word).empty());
}

}  // namespace rondo
