// SPDX-License-Identifier: Apache-2.0
// The device's fold() of all types, compiled for the host; the include path selects the twin's device.h.
#include "copy.cu"
#include "fold.cu"
#include "fold_floats.cu"
#include "fold_list.cu"
#include "fold_long_integers.cu"
#include "fold_short_integers.cu"
#include "fold_small_floats.cu"
