# SPDX-License-Identifier: Apache-2.0
"""Describes where and when a measurement was made, for the results."""
import os
import platform
import re
import shlex
import time


def processor():
    with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
        for line in file:
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.machine()


def cores():
    return len(os.sched_getaffinity(0))


def load():
    """How many processes wanted a CPU over the last minute."""
    return round(os.getloadavg()[0], 2)


def governor():
    """What decides on the clock rate of CPUs; None where the kernel does not, as in virtual machines."""
    try:
        with open("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", encoding="utf-8") as file:
            return file.read().strip()
    except OSError:
        return None


def host():
    return platform.node()


def kernel():
    return f"{platform.system()} {platform.release()}"


def date():
    return time.strftime("%Y-%m-%d", time.gmtime())


def command(words):
    return without_folders(shlex.join(words))


def without_folders(text):
    """Absolute paths mean nothing on another machine."""
    return re.sub(r"(?<![\w.])/(?:[^\s/:]+/)*", "", text)
