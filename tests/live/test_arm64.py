#!/usr/bin/env python3
"""wick and the conformance suite on the real armv8_pmuv3 driver, in an emulated machine:
tools/arm64/run.sh prints TAP itself, and exits with 77 where the tools or the packages cannot be
had."""
import os
import subprocess
import sys

ROOT = os.environ.get("WICK_SOURCE_ROOT") or os.path.dirname(
    os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

sys.exit(subprocess.call([os.path.join(ROOT, "tools", "arm64", "run.sh")]))
