# SPDX-License-Identifier: Apache-2.0
"""Installs packages of PyPI."""
import os
import subprocess


def install(python, packages, options=(), variables=None):
    """Whether that interpreter's pip could install them, without their dependencies."""
    command = [python, "-m", "pip", "install", "--quiet", "--no-deps", *options, *packages]
    return subprocess.run(command, env={**os.environ, **(variables or {})}, check=False).returncode == 0
