// Ending: the wait of a rank that ends its last communicator for that communicator's other ranks. On the
// thread that ends it.
#pragma once

#include "comm/communicator.h"

namespace rondo {

/// Waits until each of them has come to its end as well, has left the job, or is busy with another
/// communicator, which may need this rank's end of this one. Timeout names the first that is none of these,
/// and says what it does.
Status await_ends(Communicator& communicator);

}  // namespace rondo
