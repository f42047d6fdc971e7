// The device's fold(), compiled for the simulated machine.
#include "../fold.cu"
#include "../copy.cu"
#include "../fold_floats.cu"
#include "../fold_long_integers.cu"
#include "../fold_short_integers.cu"
#include "../fold_small_floats.cu"
