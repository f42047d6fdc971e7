// Ends the process when a row takes longer than -T allows, whatever the library is doing. One a process.
#pragma once

namespace rondo::perf {

/// (Re)starts the clock: the process ends with status 3 and a sentence in `seconds`. 0 stops it.
void watch_row(double seconds);

}  // namespace rondo::perf
