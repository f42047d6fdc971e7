# SPDX-License-Identifier: Apache-2.0
"""Times a Gloo collective through torch.distributed; torch_timing.py has the arguments."""
import sys

import torch_timing

if __name__ == "__main__":
    sys.exit(torch_timing.run(sys.argv[1:]))
