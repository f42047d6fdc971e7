// SPDX-License-Identifier: Apache-2.0
// Catch2's main program for version 2; version 3 provides it as a library.
#if !__has_include(<catch2/catch_all.hpp>)
#define CATCH_CONFIG_MAIN
#include <catch2/catch.hpp>
#endif
