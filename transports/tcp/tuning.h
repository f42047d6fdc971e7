// What a socket of a tcp connection is told about its way. Called once for each.
#pragma once

namespace rondo::tcp {

/// Never fails: without it the socket works as well, only slower.
void tune(int fd);

}  // namespace rondo::tcp
