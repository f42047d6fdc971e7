// Boards: those of all communicators that ranks of this process have, whatever their sessions. Any thread.
#pragma once

#include <memory>

#include "comm/board.h"
#include "comm/health.h"

namespace rondo {

void remember_board(uint64_t session, uint64_t communicator, int rank, std::shared_ptr<const Board> board,
                    std::shared_ptr<const Health> health);
void forget_board(uint64_t session, uint64_t communicator, int rank);

/// Whether a rank of this process is in a call of another communicator, or waits at the end of one.
bool is_inside_another(uint64_t session, uint64_t communicator);

}  // namespace rondo
