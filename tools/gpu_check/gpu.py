# SPDX-License-Identifier: Apache-2.0
"""Queries the driver about the GPU, through libcuda.so.1 alone. As a program, prints the answer as JSON, or prints why
there is no GPU and exits with 77. ask() runs it as a program, to survive a driver that hangs or crashes."""
import ctypes
import json
import re
import subprocess
import sys

NO_GPU = 77
SECONDS = 30


class NoGpu(Exception):
    pass


def call(library, name, *arguments):
    """Calls a function of the driver; None if the driver does not have it."""
    function = getattr(library, name, None)
    if function is None:
        return None
    return function(*arguments)


def error_words(library, code):
    words = ctypes.c_char_p()
    if call(library, "cuGetErrorName", code, ctypes.byref(words)) == 0 and words.value:
        return f"{words.value.decode()} ({code})"
    return f"error {code}"


def attribute(library, number, device):
    value = ctypes.c_int()
    return value.value if call(library, "cuDeviceGetAttribute", ctypes.byref(value), number, device) == 0 else None


def driver_version():
    """Returns a version such as '580.65.06', or None if it is not available."""
    try:
        library = ctypes.CDLL("libnvidia-ml.so.1")
        text = ctypes.create_string_buffer(96)
        if library.nvmlInit_v2() == 0 and library.nvmlSystemGetDriverVersion(text, 96) == 0:
            return text.value.decode()
    except (OSError, AttributeError):
        pass
    try:
        with open("/proc/driver/nvidia/version", encoding="utf-8") as file:
            found = re.search(r"\b(\d+\.\d+[.\d]*)\b", file.readline())
            return found[1] if found else None
    except OSError:
        return None


def describe():
    try:
        library = ctypes.CDLL("libcuda.so.1")
    except OSError as error:
        raise NoGpu(f"the driver's library does not load: {error}") from error
    code = call(library, "cuInit", 0)
    if code != 0:
        raise NoGpu(f"cuInit says {error_words(library, code)}")
    count = ctypes.c_int()
    code = call(library, "cuDeviceGetCount", ctypes.byref(count))
    if code != 0:
        raise NoGpu(f"cuDeviceGetCount says {error_words(library, code)}")
    if count.value == 0:
        raise NoGpu("the driver has no device")
    device = ctypes.c_int()
    code = call(library, "cuDeviceGet", ctypes.byref(device), 0)
    if code not in (0, None):
        raise NoGpu(f"cuDeviceGet says {error_words(library, code)}")
    name = ctypes.create_string_buffer(256)
    code = call(library, "cuDeviceGetName", name, 256, device)
    if code != 0:
        raise NoGpu(f"cuDeviceGetName says {error_words(library, code)}")
    version, memory = ctypes.c_int(), ctypes.c_size_t()
    call(library, "cuDriverGetVersion", ctypes.byref(version))
    call(library, "cuDeviceTotalMem_v2", ctypes.byref(memory), device)
    capability = [attribute(library, number, device) for number in (75, 76)]
    return {
        "gpu": name.value.decode(),
        "gpus": count.value,
        "compute_capability": None if None in capability else "{}.{}".format(*capability),
        "multiprocessors": attribute(library, 16, device),
        "memory_bytes": memory.value or None,
        "driver": driver_version(),
        "cuda": f"{version.value // 1000}.{version.value % 1000 // 10}" if version.value else None,
    }


def ask():
    """Runs describe() in a separate process."""
    try:
        asked = subprocess.run([sys.executable, __file__], capture_output=True, text=True, timeout=SECONDS,
                               stdin=subprocess.DEVNULL)
    except subprocess.TimeoutExpired:
        raise NoGpu(f"the driver did not answer within {SECONDS} s") from None
    if asked.returncode == 0:
        return json.loads(asked.stdout)
    if asked.returncode == NO_GPU:
        raise NoGpu(asked.stdout.strip())
    raise NoGpu(f"asking the driver ended with {asked.returncode}: {asked.stderr.strip()[-300:]}")


if __name__ == "__main__":
    try:
        print(json.dumps(describe()))
    except NoGpu as reason:
        print(reason)
        sys.exit(NO_GPU)
