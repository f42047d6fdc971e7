// SPDX-License-Identifier: Apache-2.0
// Specific to the shm transport: memory that a peer may have corrupted, and peers that end without notice.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <span>

#include "bytes.h"
#include "ends.h"
#include "process.h"
#include "transports/zero_copy.h"
#include "watched.h"

namespace rondo::test {
namespace {

bool says(const Status& status, const char* words) {
  UNSCOPED_INFO(status.message());
  return status.code() == Code::RemoteError && status.message().find(words) != std::string::npos;
}

TEST_CASE("shm: a header with more bytes than a slot has is an error, not a read") {
  Watched watched = connect_watched(small_params(1000, 3));
  REQUIRE(send_one(*watched.ends.dialler, 10, 1, 0));
  watched.segment.fifo(0, agreed(small_params(1000, 3))).headers[0].bytes = 1001;
  REQUIRE(watched.ends.acceptor->peek() == nullptr);
  REQUIRE(says(watched.ends.acceptor->status(), "message 1 says 1001 bytes; a slot has 1000"));
  REQUIRE(watched.ends.acceptor->peek() == nullptr);
}

TEST_CASE("shm: a message's length and signature cannot change after they were checked") {
  Watched watched = connect_watched(small_params(1000, 3));
  REQUIRE(send_one(*watched.ends.dialler, 10, 1, 0));
  REQUIRE(watched.ends.acceptor->peek() != nullptr);
  SlotHeader& header = watched.segment.fifo(0, agreed(small_params(1000, 3))).headers[0];
  header.bytes = uint32_t{1} << 31;
  header.signature = signature_of(2, 2);
  REQUIRE(fault(*watched.ends.acceptor->peek(), 10, 1, 0) == "");
}

TEST_CASE("shm: a slot number out of sequence is an error") {
  Watched watched = connect_watched(small_params(1000, 3));
  watched.segment.fifo(0, agreed(small_params(1000, 3))).headers[0].ready = 77;
  REQUIRE(watched.ends.acceptor->peek() == nullptr);
  REQUIRE(says(watched.ends.acceptor->status(), "a slot header has number 77 instead of 0 or 1"));
}

TEST_CASE("shm: credits for messages that were never sent give no slot") {
  Watched watched = connect_watched(small_params(1000, 3));
  uint64_t sent = 0;
  for (; sent < 10'000 && watched.ends.dialler->acquire(10) != nullptr; ++sent)
    watched.ends.dialler->commit(0, {});
  REQUIRE(sent < 10'000);
  watched.segment.fifo(0, agreed(small_params(1000, 3))).released->value = 100'000;
  REQUIRE(watched.ends.dialler->acquire(10) == nullptr);
  REQUIRE(watched.ends.dialler->acquire() == nullptr);
  const std::string words = "released 100000 slots, but " + std::to_string(sent) + " were sent";
  REQUIRE(says(watched.ends.dialler->status(), words.c_str()));
}

TEST_CASE("shm: credits that a receiver owes leave the sender as many as there are slots") {
  const Ends ends = connect_ends(shm_transport(), small_params(1000, 64));
  ends.acceptor->peek();
  uint64_t sent = 0;
  for (; sent < 20; ++sent) REQUIRE(send_one(*ends.dialler, 10, 1, 2 * sent));  // even numbers: in the ring
  for (int i = 0; i < 20; ++i) {
    REQUIRE(ends.acceptor->peek() != nullptr);
    ends.acceptor->release();
  }
  for (int i = 0; i < 64; ++i, ++sent) REQUIRE(send_one(*ends.dialler, 10, 1, 2 * sent));
}

TEST_CASE("shm: random words in the headers never lead outside the slots") {
  const uint64_t seed = GENERATE(range(uint64_t{0}, uint64_t{300}));
  CAPTURE(seed);
  const ConnectionParams params = small_params(100, 3);
  Watched watched = connect_watched(params);
  const FifoLayout fifo = watched.segment.fifo(0, agreed(params));
  for (uint64_t i = 0; i < 30; ++i) {
    send_one(*watched.ends.dialler, mix(seed, i) % 101, 1, i);
    const uint64_t bits = mix(seed, 1000 + i);
    SlotHeader& header = fifo.headers[bits % 3];
    const std::span<uint32_t> words[] = {{reinterpret_cast<uint32_t*>(&header.ready), 2},
                                         {&header.bytes, 1},
                                         {reinterpret_cast<uint32_t*>(&header.note), 2},
                                         {reinterpret_cast<uint32_t*>(&fifo.released->value), 2}};
    const uint64_t in_ring = shm::Note::in_ring(bits >> 46);
    const uint64_t drawn[] = {bits >> 40, mix(seed, bits), in_ring};
    const uint64_t word = drawn[(bits >> 16) % 3];
    const auto& changed = words[(bits >> 8) % 4];
    if (i > 3) std::memcpy(changed.data(), &word, changed.size_bytes());
    const auto arrival = watched.ends.acceptor->peek();
    if (!arrival) continue;
    REQUIRE(arrival->bytes <= 100);
    std::vector<std::byte> copy(arrival->data, arrival->data + arrival->bytes);
    watched.ends.acceptor->release();
  }
}

TEST_CASE("shm: memory of the wrong size, unsealed or missing is refused") {
  const ConnectionParams params = small_params(1000, 3);
  const AgreedParams numbers = agreed(params);
  Ends ends;
  auto [near, far] = connected_sockets(Route::Unix);
  ends.wire->put(0, std::move(far));
  ends.acceptor = require_connection(ends.connect(shm_transport(), params, false));
  shm::Description description{.slot_bytes = numbers.slot_bytes, .slots = numbers.slots};
  const auto refused = [&](const char* words) {
    REQUIRE(ends.acceptor->peek() == nullptr);
    REQUIRE(ends.acceptor->acquire() == nullptr);
    REQUIRE(says(ends.acceptor->status(), words));
  };
  const Fd memfd(::memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  SECTION("too small") {
    REQUIRE(::ftruncate(memfd.get(), 4096) == 0);
    REQUIRE(shm::send_segment(near, description, memfd).ok());
    refused("has 4096 bytes instead of");
  }
  SECTION("not sealed") {
    auto made = shm::Segment::make(numbers);
    struct stat found {};
    REQUIRE(::fstat(made.value().memfd.get(), &found) == 0);
    REQUIRE(::ftruncate(memfd.get(), found.st_size) == 0);
    REQUIRE(shm::send_segment(near, description, memfd).ok());
    refused("not sealed against shrinking");
  }
  SECTION("another version") {
    description.version = 9;
    REQUIRE(shm::send_segment(near, description, memfd).ok());
    refused("has version 9; this end knows 7");
  }
  SECTION("something else") {
    description.magic = 1;
    REQUIRE(shm::send_segment(near, description, memfd).ok());
    refused("do not describe shared memory");
  }
  SECTION("a short description") {
    REQUIRE(::write(near.get(), "hello", 5) == 5);
    refused("5 bytes that do not describe");
  }
  SECTION("no descriptor") {
    REQUIRE(::write(near.get(), &description, sizeof description) == sizeof description);
    refused("passed none");
  }
  SECTION("nothing at all") {
    near.close();
    refused("left before it passed");
  }
}

TEST_CASE("shm: the memory cannot shrink and is not allocated before it is used") {
  const ConnectionParams params = small_params(1 << 20, 16);
  const Watched watched = connect_watched(params);
  struct stat found {};
  REQUIRE(::fstat(watched.memfd.get(), &found) == 0);
  REQUIRE(found.st_size >= 2 * 16 * (1 << 20));
  REQUIRE(found.st_blocks * 512 <= 64 * 1024);
  REQUIRE(::ftruncate(watched.memfd.get(), 4096) != 0);
}

size_t open_descriptors() {
  const std::filesystem::directory_iterator all("/proc/self/fd");
  return static_cast<size_t>(std::distance(begin(all), end(all)));
}

TEST_CASE("shm: an established connection needs one descriptor at each end, or none if they are scarce") {
  const size_t before = open_descriptors();
  rlimit usual{};
  REQUIRE(::getrlimit(RLIMIT_NOFILE, &usual) == 0);
  const bool are_few = GENERATE(false, true);
  const auto next = static_cast<rlim_t>(Fd(::dup(0)).get());  // the next free number
  const rlimit limit{are_few ? 2 * next : usual.rlim_cur, usual.rlim_max};
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &limit) == 0);
  {
    Ends ends = connect_ends(shm_transport(), small_params());
    REQUIRE(send_one(*ends.dialler, 10, 1, 0));
    REQUIRE(ends.acceptor->peek() != nullptr);
    REQUIRE(open_descriptors() == before + (are_few ? 0 : 2));
  }
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &usual) == 0);
}

/// The library's memfd mappings in this process.
size_t mapped_memfds() {
  std::ifstream maps("/proc/self/maps");
  size_t found = 0;
  for (std::string line; std::getline(maps, line);)
    if (line.find("/memfd:rondo") != std::string::npos) ++found;
  return found;
}

void post_and_release(Ends& ends, const ExportedMemory& mine) {
  ends.dialler->zero_copy()->export_memory(mine.exportable());
  ends.acceptor->peek();  // learns of the export
  REQUIRE(ends.dialler->zero_copy()->can_post(mine.data(), mine.size()));
  REQUIRE(ends.dialler->zero_copy()->post(mine.data(), mine.size(), signature_of(1, 1)));
  REQUIRE(ends.acceptor->peek() != nullptr);
  ends.acceptor->release();
  REQUIRE(ends.dialler->flushed());
}

TEST_CASE("shm: a peer unmaps freed memory when it learns of other memory") {
  Ends ends = connect_ends(shm_transport(), small_params());
  ends.acceptor->peek();
  const size_t before = mapped_memfds();
  for (int i = 0; i < 100; ++i) {
    const ExportedMemory mine(1000);
    post_and_release(ends, mine);
    REQUIRE(mapped_memfds() <= before + 2);
  }
  REQUIRE(mapped_memfds() == before + 1);
}

TEST_CASE("shm: freed memory takes no space while a peer has it mapped") {
  Ends ends = connect_ends(shm_transport(), small_params());
  ends.acceptor->peek();
  std::shared_ptr<const Fd> memfd;
  {
    const ExportedMemory mine(1000);
    post_and_release(ends, mine);
    memfd = mine.exportable().memfd;
  }
  struct stat found {};
  REQUIRE(::fstat(memfd->get(), &found) == 0);
  REQUIRE(found.st_blocks == 0);
}

TEST_CASE("shm: only exported memory can be posted, and only within its bounds") {
  Ends ends = connect_ends(shm_transport(), small_params());
  ends.acceptor->peek();
  const ExportedMemory mine(100);
  REQUIRE_FALSE(ends.dialler->zero_copy()->can_post(mine.data(), 100));
  REQUIRE_FALSE(ends.dialler->zero_copy()->post(mine.data(), 100, {}));
  ends.dialler->zero_copy()->export_memory(mine.exportable());
  REQUIRE_FALSE(ends.dialler->zero_copy()->can_post(mine.data(), 100));  // the peer has not mapped it yet
  ends.acceptor->peek();
  REQUIRE(ends.dialler->zero_copy()->can_post(mine.data() + 99, 1));
  REQUIRE_FALSE(ends.dialler->zero_copy()->can_post(mine.data() + 1, 100));
  REQUIRE_FALSE(ends.dialler->zero_copy()->can_post(mine.data() - 1, 1));
  const std::vector<std::byte> other(100);
  REQUIRE_FALSE(ends.dialler->zero_copy()->can_post(other.data(), 100));
}

TEST_CASE("shm: bytes are copied if a peer has no descriptor left to map memory") {
  Ends ends = connect_ends(shm_transport(), small_params());
  ends.acceptor->peek();
  const ExportedMemory before(100);
  post_and_release(ends, before);
  const ExportedMemory mine(100);
  ends.dialler->zero_copy()->export_memory(mine.exportable());
  rlimit usual{};
  REQUIRE(::getrlimit(RLIMIT_NOFILE, &usual) == 0);
  const rlimit none{static_cast<rlim_t>(Fd(::dup(0)).get()), usual.rlim_max};
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &none) == 0);
  ends.acceptor->peek();
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &usual) == 0);
  REQUIRE(ends.acceptor->status().ok());
  REQUIRE_FALSE(ends.dialler->zero_copy()->can_post(mine.data(), 100));
  REQUIRE(ends.dialler->zero_copy()->can_post(before.data(), 100));  // it keeps what it has mapped
  REQUIRE(send_one(*ends.dialler, 10, 1, 0));
  REQUIRE(fault(*ends.acceptor->peek(), 10, 1, 0) == "");
}

TEST_CASE("shm: freed memory is no longer exported, whatever is allocated there next") {
  Ends ends = connect_ends(shm_transport(), small_params());
  auto mine = std::make_unique<ExportedMemory>(1000);
  std::byte* const place = mine->data();
  post_and_release(ends, *mine);
  mine.reset();
  REQUIRE_FALSE(ends.dialler->zero_copy()->can_post(place, 1000));
}

TEST_CASE("shm: what librondo-heap.so lends no more, since a fork, is copied if it was to be posted") {
  Ends ends = connect_ends(shm_transport(), small_params());
  ends.acceptor->peek();
  const ExportedMemory mine(100);
  uint64_t lent_now = 5;
  ExportableMemory piece = mine.exportable();
  piece.number = uint64_t{1} << 63 | 5;
  piece.lent_now = &lent_now;
  ends.dialler->zero_copy()->export_memory(piece);
  ends.acceptor->peek();
  std::memset(mine.data(), 1, 100);
  REQUIRE(ends.dialler->zero_copy()->can_post(mine.data(), 100));
  lent_now = 0;
  REQUIRE_FALSE(ends.dialler->zero_copy()->can_post(mine.data(), 100));
  REQUIRE(ends.dialler->zero_copy()->post(mine.data(), 100, signature_of(1, 1)));
  std::memset(mine.data(), 2, 100);
  const auto arrival = ends.acceptor->peek();
  REQUIRE(arrival != nullptr);
  REQUIRE(arrival->bytes == 100);
  REQUIRE(all_bytes_are(std::byte{1}, arrival->data, 100));
}

TEST_CASE("shm: a note that leads outside exported memory is an error, not a read") {
  Watched watched = connect_watched(small_params(1000, 3));
  Ends& ends = watched.ends;
  const ExportedMemory mine(1000);
  ends.dialler->zero_copy()->export_memory(mine.exportable());
  watched.pass_on();
  ends.acceptor->peek();  // learns of the export
  REQUIRE(ends.dialler->zero_copy()->post(mine.data(), 1000, signature_of(1, 1)));
  uint64_t& note = watched.segment.fifo(0, agreed(small_params(1000, 3))).headers[0].note;
  SECTION("an offset") {
    note += 1;
    REQUIRE(ends.acceptor->peek() == nullptr);
    REQUIRE(says(ends.acceptor->status(), "says 1000 bytes at 1 of exported memory that has 1000"));
  }
  SECTION("memory that was never exported") {
    note = uint64_t{77} << 40;
    REQUIRE(ends.acceptor->peek() == nullptr);
    REQUIRE(says(ends.acceptor->status(), "in exported memory that this end has not mapped"));
  }
}

TEST_CASE("shm: a peer that is killed leaves a connection that can be used and closed") {
  Ends ends;
  ends.dialler = require_connection(ends.connect(shm_transport(), small_params(), true));
  Process child([&] {
    const auto end = ends.connect(shm_transport(), small_params(), false);
    require(end.ok(), end.status().message());
    for (;;) {
      send_one(*end.value(), 100, 1, 0);
      if (end.value()->peek()) end.value()->release();
    }
  });
  REQUIRE(eventually([&] { return ends.dialler->peek() != nullptr; }));
  ends.dialler->release();
  REQUIRE(child.wait(0).hung);
  for (int i = 0; i < 100; ++i) {
    if (ends.dialler->peek()) ends.dialler->release();
    send_one(*ends.dialler, 100, 1, 0);
  }
  REQUIRE(ends.dialler->acquire() == nullptr);
  REQUIRE(ends.dialler->status().ok());
}

}  // namespace
}  // namespace rondo::test
