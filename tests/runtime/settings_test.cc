// SPDX-License-Identifier: Apache-2.0
// Invalid settings and starts: refused, with what is allowed.
#include <climits>
#include <cstddef>
#include <cstdint>

#include "catch.h"
#include "worlds.h"

namespace rondo::test {
namespace {

constexpr auto kBad = RONDO_INVALID_ARGUMENT;

TEST_CASE("invalid ranks and sizes are named") {
  rondo_unique_id_t id;
  rondo_comm_t comm = reinterpret_cast<rondo_comm_t>(&id);
  check(rondo_get_unique_id(&id));
  check_fails(rondo_init_rank(nullptr, 2, &id, 0, nullptr), kBad, {"comm is NULL"});
  check_fails(rondo_init_rank(&comm, 2, nullptr, 0, nullptr), kBad, {"id is NULL"});
  CHECK(comm == nullptr);
  for (const int nranks : {0, -1, INT_MIN})
    check_fails(rondo_init_rank(&comm, nranks, &id, 0, nullptr), kBad,
                {"nranks is " + std::to_string(nranks)});
  for (const int rank : {-1, 2, INT_MAX})
    check_fails(rondo_init_rank(&comm, 2, &id, rank, nullptr), kBad,
                {"rank is " + std::to_string(rank), "0 to 1"});
  rondo_unique_id_t nonsense{};
  check_fails(rondo_init_rank(&comm, 2, &nonsense, 0, nullptr), kBad, {"id"});
  check_fails(rondo_init_all(nullptr, 2, nullptr), kBad, {"comms is NULL"});
  check_fails(rondo_init_all(&comm, 0, nullptr), kBad, {"nranks is 0"});
  check_fails(rondo_init(nullptr, nullptr, nullptr), kBad, {"comm is NULL"});
  for (const char* method : {"smoke://signals", "nothing", "tcp://", "file://"})
    check_fails(rondo_init(&comm, method, nullptr), kBad, {method});
  check_fails(rondo_init(&comm, "tcp://localhost:1?rank=x&size=2", nullptr), kBad, {"rank", "x"});
  check_fails(rondo_init(&comm, "tcp://localhost:1?rank=5&size=2", nullptr), kBad, {"rank", "5"});
}

TEST_CASE("invalid settings are named, with what is allowed") {
  rondo_comm_t comm = nullptr;
  const auto refused = [&](const rondo_config_t& config, const std::vector<std::string>& words) {
    check_fails(rondo_init_all(&comm, 1, &config), kBad, words);
    CHECK(comm == nullptr);
  };
  const rondo_config_t usual = RONDO_CONFIG_INITIALIZER;
  rondo_config_t config = usual;
  for (const size_t size : {size_t{0}, size_t{8}, size_t{5000}, SIZE_MAX}) {
    config.size = size;
    refused(config, {"config.size is " + std::to_string(size), "RONDO_CONFIG_INITIALIZER"});
  }
  config = usual;
  config.timeout_ms = -1;
  refused(config, {"timeout_ms is -1"});
  config = usual;
  config.traffic_class = 256;
  refused(config, {"config.traffic_class is 256: it must be from 0 to 255"});
  config = usual;
  config.transport = "pigeon";
  refused(config, {"pigeon", "local", "shm", "tcp", "sim"});
  config = usual;
  config.algorithm = "all_reduce=magic";
  refused(config, {"all_reduce", "magic", "ring", "two_shot"});
  for (const char* text : {"magic", "magic=ring", "all_reduce", "=ring", "all_reduce=ring;x"}) {
    config.algorithm = text;
    refused(config, {"COLLECTIVE=ALGORITHM"});
  }
}

TEST_CASE("an older program's shorter config is accepted") {
  rondo_config_t config = RONDO_CONFIG_INITIALIZER;
  config.size = offsetof(rondo_config_t, transport);
  config.transport = "pigeon";  // beyond the fields that program knew
  rondo_comm_t comm = nullptr;
  check(rondo_init_all(&comm, 1, &config));
  check(rondo_destroy(comm));
}

TEST_CASE("invalid environment variables are named") {
  rondo_comm_t comm = nullptr;
  const auto refused = [&](const char* name, const char* value) {
    const Environment environment(name, value);
    INFO(name << "=" << value);
    check_fails(rondo_init_all(&comm, 1, nullptr), kBad, {value});
    CHECK(std::string(rondo_last_error(nullptr)).find(name) != std::string::npos);
  };
  for (const char* value : {"abc", "-1", "0", "1x", "1e99", "nan"}) refused("RONDO_TIMEOUT", value);
  for (const char* value : {"abc", "63", "-64", "99999999999999999999", "1.5", "2G", "1Q", "64 K", "0x40"})
    refused("RONDO_SLOT_BYTES", value);
  refused("RONDO_EXCHANGE_BYTES", "257K");
  for (const char* name : {"RONDO_READ_PEER", "RONDO_REPRODUCIBLE", "RONDO_PIN"})
    for (const char* value : {"2", "-1", "maybe", "y"}) refused(name, value);
  for (const char* value : {"loud", "3", "info,warn"}) refused("RONDO_LOG", value);
  for (const char* value : {"0", "1025", "two"}) refused("RONDO_SLOTS", value);
  refused("RONDO_TCP_SOCKETS", "65");
  refused("RONDO_SIM_SEED", "-1");
  refused("RONDO_SIM_DELAY_US", "x");
  const Environment transport("RONDO_TRANSPORT", "pigeon");
  check_fails(rondo_init_all(&comm, 1, nullptr), kBad, {"pigeon", "shm"});
}

TEST_CASE("sizes accept units, switches accept words, and levels any case") {
  for (const auto& [name, value] :
       std::vector<std::pair<const char*, const char*>>{{"RONDO_SLOT_BYTES", "64K"},
                                                        {"RONDO_SLOT_BYTES", "1.5mib"},
                                                        {"RONDO_SLOT_BYTES", "1G"},
                                                        {"RONDO_EXCHANGE_BYTES", "16k"},
                                                        {"RONDO_STREAM_BYTES", "8MB"},
                                                        {"RONDO_READ_PEER", "No"},
                                                        {"RONDO_REPRODUCIBLE", "TRUE"},
                                                        {"RONDO_PIN", "off"},
                                                        {"RONDO_LOG", "WARN"},
                                                        {"NCCL_DEBUG", "version"}}) {
    INFO(name << "=" << value);
    const Environment environment(name, value);
    rondo_comm_t comm = nullptr;
    check(rondo_init_all(&comm, 1, nullptr));
    check(rondo_destroy(comm));
  }
}

TEST_CASE("an empty variable counts as not set") {
  const Environment timeout("RONDO_TIMEOUT", "");
  const Environment transport("RONDO_TRANSPORT", "");
  const Environment algorithm("RONDO_ALGORITHM", "");
  rondo_comm_t comm = nullptr;
  check(rondo_init_all(&comm, 1, nullptr));
  check(rondo_destroy(comm));
}

}  // namespace
}  // namespace rondo::test
