// SPDX-License-Identifier: Apache-2.0
// RONDO_IB_* and NCCL's variables in their place: defaults, values, and what is said of values that are not
// allowed.
#include "verbs/settings.h"

#include <fmt/core.h>

#include <functional>
#include <map>

#include "catch.h"
#include "ports.h"

namespace rondo::test {
namespace {

using verbs::read_settings;
using verbs::VerbsSettings;
using Variables = std::map<std::string, std::string, std::less<>>;

Result<VerbsSettings> read(const Variables& variables) {
  return read_settings([&](std::string_view name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    if (found == variables.end()) return std::nullopt;
    return found->second;
  });
}

VerbsSettings settings(const Variables& variables) {
  const auto result = read(variables);
  INFO(result.status().message());
  REQUIRE(result.ok());
  return result.value();
}

std::string refusal(const Variables& variables) {
  const auto result = read(variables);
  REQUIRE_FALSE(result.ok());
  CHECK(result.status().code() == Code::InvalidArgument);
  return result.status().message();
}

bool admits(const VerbsSettings& given, const std::string& device) {
  return given.ports.admits(roce_port(device, {}));
}

/// A setting that is a number.
struct Number {
  std::string variable;
  std::string nccl;
  int min;
  int max;
  int otherwise;
  std::function<int(const VerbsSettings&)> value;
};

const Number kNumbers[] = {
    {"RONDO_IB_SL", "NCCL_IB_SL", 0, 15, 0, [](const auto& s) { return s.service_level; }},
    {"RONDO_IB_TRAFFIC_CLASS", "NCCL_IB_TC", 0, 255, -1,
     [](const auto& s) { return s.traffic_class ? *s.traffic_class : -1; }},
    {"RONDO_IB_TIMEOUT", "NCCL_IB_TIMEOUT", 1, 31, 16, [](const auto& s) { return s.timeout; }},
    {"RONDO_IB_RETRY", "NCCL_IB_RETRY_CNT", 0, 7, 6, [](const auto& s) { return s.retries; }},
    {"RONDO_IB_QPS", "NCCL_IB_QPS_PER_CONNECTION", 1, 16, 0, [](const auto& s) { return s.queue_pairs; }},
    {"RONDO_IB_GID", "NCCL_IB_GID_INDEX", 0, 255, -1,
     [](const auto& s) { return s.gid.index ? *s.gid.index : -1; }},
};

}  // namespace

TEST_CASE("a bound on pinned memory is a number of bytes") {
  CHECK(settings({}).max_pinned == verbs::kUnlimited);
  CHECK(settings({{"RONDO_IB_BYTES", "512M"}}).max_pinned == uint64_t{512} << 20);
  CHECK_FALSE(settings({}).on_demand);
  CHECK(settings({{"RONDO_IB_ODP", "1"}}).on_demand);
  CHECK(refusal({{"RONDO_IB_ODP", "2"}}) == "RONDO_IB_ODP is '2': it must be 0 or 1");
  CHECK_FALSE(settings({}).gpu_direct);
  CHECK(settings({{"RONDO_IB_GPU_DIRECT", "0"}}).gpu_direct == false);
  CHECK(settings({{"RONDO_IB_GPU_DIRECT", "1"}}).gpu_direct == true);
  CHECK(refusal({{"RONDO_IB_GPU_DIRECT", "near"}}) == "RONDO_IB_GPU_DIRECT is 'near': it must be 0 or 1");
  CHECK(refusal({{"RONDO_IB_BYTES", "much"}}) ==
        "RONDO_IB_BYTES is 'much': it must be a number of bytes, such as 512M");
}

TEST_CASE("nothing has to be set") {
  const VerbsSettings given = settings({});
  CHECK_FALSE(given.disabled);
  CHECK(admits(given, "mlx5_0"));
  CHECK_FALSE(given.gid.v1);
  CHECK_FALSE(given.partition.value);
  CHECK_FALSE(given.partition.index);
  CHECK(given.ignored.empty());
  for (const Number& number : kNumbers) CHECK(number.value(given) == number.otherwise);
}

TEST_CASE("a number is taken from Rondo's variable, or from NCCL's if that is not set") {
  for (const Number& number : kNumbers)
    for (const int value : {number.min, number.min + 1, number.max}) {
      const std::string text = std::to_string(value);
      const std::string other = std::to_string(number.max - 1);
      CAPTURE(number.variable, value);
      CHECK(number.value(settings({{number.variable, text}})) == value);
      CHECK(number.value(settings({{number.variable, fmt::format("0x{:x}", value)}})) == value);
      CHECK(number.value(settings({{number.nccl, text}})) == value);
      CHECK(number.value(settings({{number.nccl, other}, {number.variable, text}})) == value);
    }
}

TEST_CASE("a number out of range is an error that names the range") {
  for (const Number& number : kNumbers)
    for (const std::string& text :
         {std::to_string(number.min - 1), std::to_string(number.max + 1), std::string("many"),
          std::string("1.5"), std::string(" 1"), std::string("99999999999999999999")}) {
      const std::string message = refusal({{number.variable, text}});
      CAPTURE(message);
      CHECK(message.starts_with(fmt::format("{} is '{}': it must be ", number.variable, text)));
      CHECK(message.find(fmt::format("from {} to {}", number.min, number.max)) != std::string::npos);
    }
}

TEST_CASE("a number of NCCL's that is out of range is ignored, with a sentence") {
  for (const Number& number : kNumbers) {
    const std::string text = std::to_string(number.max + 1);
    const VerbsSettings given = settings({{number.nccl, text}});
    CHECK(number.value(given) == number.otherwise);
    REQUIRE(given.ignored.size() == 1);
    CHECK(given.ignored[0] ==
          fmt::format("{} is '{}', which is ignored: it must be a whole number from {} to {}", number.nccl,
                      text, number.min, number.max));
    CHECK(settings({{number.nccl, text}, {number.variable, std::to_string(number.min)}}).ignored.empty());
  }
}

TEST_CASE("-1 is NCCL's default where it documents that") {
  const VerbsSettings given =
      settings({{"NCCL_IB_SL", "-1"}, {"NCCL_IB_TC", "-1"}, {"NCCL_IB_GID_INDEX", "-1"}});
  CHECK(given.ignored.empty());
  CHECK(given.service_level == 0);
  CHECK_FALSE(given.traffic_class);
  CHECK_FALSE(given.gid.index);
  CHECK(settings({{"NCCL_IB_TIMEOUT", "-1"}}).ignored.size() == 1);
}

TEST_CASE("RONDO_IB_GID is an index, or names RoCE v1") {
  CHECK(settings({{"RONDO_IB_GID", "v1"}}).gid.v1);
  CHECK(settings({{"RONDO_IB_GID", "V1"}}).gid.v1);
  const VerbsSettings v2 = settings({{"RONDO_IB_GID", "v2"}, {"NCCL_IB_GID_INDEX", "3"}});
  CHECK_FALSE(v2.gid.v1);
  CHECK_FALSE(v2.gid.index);
  CHECK(settings({{"RONDO_IB_GID", "3"}}).gid.variable == "RONDO_IB_GID");
  CHECK(settings({{"NCCL_IB_GID_INDEX", "3"}}).gid.variable == "NCCL_IB_GID_INDEX");
  CHECK(refusal({{"RONDO_IB_GID", "v3"}}) ==
        "RONDO_IB_GID is 'v3': it must be the index of a GID, from 0 to 255, or v1 or v2");
}

TEST_CASE("RONDO_IB_PKEY is a key, NCCL_IB_PKEY an index") {
  CHECK(settings({{"RONDO_IB_PKEY", "0x8001"}}).partition.value == 0x8001);
  CHECK(settings({{"RONDO_IB_PKEY", "32769"}}).partition.value == 0x8001);
  const VerbsSettings nccl = settings({{"NCCL_IB_PKEY", "2"}});
  CHECK(nccl.partition.index == 2);
  CHECK(nccl.partition.variable == "NCCL_IB_PKEY");
  CHECK_FALSE(settings({{"RONDO_IB_PKEY", "1"}, {"NCCL_IB_PKEY", "2"}}).partition.index);
  for (const char* wrong : {"0", "0x8000", "0x10000", "-1", "8001h", "ffff"})
    CHECK(refusal({{"RONDO_IB_PKEY", wrong}}) ==
          fmt::format(
              "RONDO_IB_PKEY is '{}': it must be a partition key, such as 0x8001, from 0x0001 to 0x7fff or "
              "from 0x8001 to 0xffff",
              wrong));
}

TEST_CASE("RONDO_IB_PORTS takes the place of NCCL_IB_HCA and NCCL_IB_DISABLE") {
  const VerbsSettings nccl = settings({{"NCCL_IB_HCA", "mlx5"}, {"NCCL_IB_DISABLE", "1"}});
  CHECK(nccl.disabled);
  CHECK(admits(nccl, "mlx5_1"));
  CHECK_FALSE(admits(nccl, "bnxt_re0"));
  const VerbsSettings both =
      settings({{"NCCL_IB_HCA", "mlx5"}, {"NCCL_IB_DISABLE", "1"}, {"RONDO_IB_PORTS", "^mlx5_1"}});
  CHECK_FALSE(both.disabled);
  CHECK_FALSE(admits(both, "mlx5_1"));
  CHECK(admits(both, "bnxt_re0"));
}

TEST_CASE("RONDO_IB_PORTS=none disables the transport and selects no ports") {
  for (const char* none : {"none", "NONE"}) {
    const VerbsSettings given = settings({{"RONDO_IB_PORTS", none}, {"NCCL_IB_DISABLE", "0"}});
    CHECK(given.disabled);
    CHECK(admits(given, "mlx5_1"));
  }
}

TEST_CASE("NCCL_IB_DISABLE is a number or a switch") {
  for (const char* on : {"1", "2", "true"}) CHECK(settings({{"NCCL_IB_DISABLE", on}}).disabled);
  for (const char* off : {"0", "no"}) CHECK_FALSE(settings({{"NCCL_IB_DISABLE", off}}).disabled);
  const VerbsSettings given = settings({{"NCCL_IB_DISABLE", "perhaps"}});
  CHECK_FALSE(given.disabled);
  CHECK(given.ignored ==
        std::vector<std::string>{"NCCL_IB_DISABLE is 'perhaps', which is ignored: it must be 0 or 1"});
}

TEST_CASE("a filter that cannot be read is an error, whichever variable holds it") {
  CHECK(refusal({{"RONDO_IB_PORTS", "mlx5_0:"}}).starts_with("RONDO_IB_PORTS is 'mlx5_0:': "));
  CHECK(refusal({{"NCCL_IB_HCA", "mlx5:x"}}).starts_with("NCCL_IB_HCA is 'mlx5:x': "));
}

TEST_CASE("a connection fails after retries + 1 tries") {
  CHECK(settings({}).give_up_us() == 7 * 268'435);
  CHECK(settings({{"RONDO_IB_TIMEOUT", "1"}, {"RONDO_IB_RETRY", "0"}}).give_up_us() == 8);
  CHECK(settings({{"RONDO_IB_TIMEOUT", "31"}, {"RONDO_IB_RETRY", "7"}}).give_up_us() == 8 * 8'796'093'022);
}

}  // namespace rondo::test
