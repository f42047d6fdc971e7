// The device's fold(), compiled for the host: once for each twin, whose device.h the include path names.
#include "copy.cu"
#include "fold.cu"
#include "fold_floats.cu"
#include "fold_list.cu"
#include "fold_long_integers.cu"
#include "fold_short_integers.cu"
#include "fold_small_floats.cu"
