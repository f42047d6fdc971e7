#include "comm/boards.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <tuple>

namespace rondo {
namespace {

using Key = std::tuple<uint64_t, uint64_t, int>;  // session, communicator, rank

struct Entry {
  std::shared_ptr<const Board> board;
  std::shared_ptr<const Health> health;
};

struct Boards {
  std::mutex mutex;
  std::map<Key, Entry> entries;
};

Boards& boards() {
  static auto& all = *new Boards;  // never freed: used while the process ends
  return all;
}

}  // namespace

void remember_board(uint64_t session, uint64_t communicator, int rank, std::shared_ptr<const Board> board,
                    std::shared_ptr<const Health> health) {
  const std::lock_guard lock(boards().mutex);
  boards().entries[{session, communicator, rank}] = {std::move(board), std::move(health)};
}

void forget_board(uint64_t session, uint64_t communicator, int rank) {
  const std::lock_guard lock(boards().mutex);
  boards().entries.erase({session, communicator, rank});
}

bool is_inside_another(uint64_t session, uint64_t communicator) {
  const std::lock_guard lock(boards().mutex);
  return std::any_of(boards().entries.begin(), boards().entries.end(), [&](const auto& one) {
    const auto& [key, entry] = one;
    const bool is_another = std::get<0>(key) != session || std::get<1>(key) != communicator;
    // The board of one that has failed keeps the call that did.
    return is_another && entry.board->inside() && !entry.health->failed();
  });
}

}  // namespace rondo
