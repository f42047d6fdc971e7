// SPDX-License-Identifier: Apache-2.0
// Which entry of a port's table of partition keys is used.
#include "verbs/partition_key.h"

#include "catch.h"
#include "ports.h"

namespace rondo::test {
namespace {

constexpr uint16_t kTable[] = {0x7fff, 0x0000, 0x8001, 0x0002, 0x8002, 0x0003, 0x8000};

const verbs::VerbsPort kPort = infiniband_port("mlx5_0", 1, 1);

verbs::PartitionKey key(uint16_t value) { return {.variable = "RONDO_IB_PKEY", .value = value}; }
verbs::PartitionKey at(uint16_t index) { return {.variable = "NCCL_IB_PKEY", .index = index}; }

int index_of(const verbs::PartitionKey& wanted) {
  const auto found = verbs::partition_index(kPort, kTable, wanted);
  return found.ok() ? found.value() : -1;
}

}  // namespace

TEST_CASE("a partition key is found by its value, with or without the bit of full members") {
  CHECK(index_of(key(0x8001)) == 2);
  CHECK(index_of(key(0x0001)) == 2);
  CHECK(index_of(key(0x0002)) == 4);
  CHECK(index_of(key(0x8003)) == 5);
  CHECK(index_of(key(0xffff)) == 0);
}

TEST_CASE("a partition key is found by its index if that is in use") {
  CHECK(index_of(at(3)) == 3);
  for (const int unused : {1, 6, 7, 65535}) CHECK(index_of(at(static_cast<uint16_t>(unused))) == -1);
}

TEST_CASE("without a setting the first full membership is used, or else the first key") {
  CHECK(index_of({}) == 2);
  const uint16_t limited[] = {0x0000, 0x7fff, 0x0002};
  CHECK(verbs::partition_index(kPort, limited, {}).value() == 1);
}

TEST_CASE("a key that the port lacks is an error that lists those it has") {
  const uint16_t table[] = {0xffff, 0x0000, 0x0002};
  const auto message = [&](std::span<const uint16_t> keys, const verbs::PartitionKey& wanted) {
    const auto found = verbs::partition_index(kPort, keys, wanted);
    REQUIRE_FALSE(found.ok());
    CHECK(found.status().code() == Code::InvalidArgument);
    return found.status().message();
  };
  const std::string has = ": the partition keys of port mlx5_0:1 are 0xffff (index 0), 0x0002 (index 2)";
  CHECK(message(table, key(0x8001)) == "RONDO_IB_PKEY is 0x8001" + has);
  CHECK(message(table, at(1)) == "NCCL_IB_PKEY is 1" + has);
  CHECK(message({}, {}) == "no partition is configured: the partition keys of port mlx5_0:1 are none");
}

}  // namespace rondo::test
