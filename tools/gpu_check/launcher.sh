#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs every test and benchmark of this folder that needs a GPU. Exit status: 0 all passed, 1 something failed,
# 2 invalid options, 77 there is no GPU.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
command -v python3 > /dev/null || { echo "gpu-check: there is no python3 here (3.8 or later)" >&2; exit 1; }
chmod +x "$here"/bin/* 2> /dev/null || true  # some ways of copying lose the mode
export PYTHONDONTWRITEBYTECODE=1
exec python3 "$here/check/run.py" --manifest "$here/check/manifest.json" "$@"
