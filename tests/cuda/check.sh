#!/usr/bin/env bash
# Runs the tests marked `cuda`, and the benchmark, on a machine that has a CUDA device and torch.
#
#     tests/cuda/check.sh [TWINS [OPTION...]]
#
# Nothing is installed, and jit-transpile is not needed: the runtime runs from this tree, and the
# twins of the tests are those of tests/golden. Without TWINS only the tests run. TWINS is a folder
# that tests/benchmarks/inference_speed.py --twins has filled, on a machine that has jit-transpile,
# from the versions of torchvision and timm that this machine has. Options are the benchmark's; by
# default it measures so few models that all is done in eight minutes.
#
# PYTHON chooses the interpreter. Its pytest runs the tests; where it has none, its unittest.
# Exit status: 0 all is well, 1 something failed, 2 no torch or no TWINS, 3 no CUDA device.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
python=${PYTHON:-python3}
twins=${1:+$(realpath "$1")}
shift $(($# > 0))
if [ -n "$twins" ] && [ ! -d "$twins" ]; then
    echo "check.sh: there is no folder $twins: TWINS is what inference_speed.py --twins has filled"
    exit 2
fi
[ $# -gt 0 ] || set -- --seconds 1 --models resnet50 mobilenet_v3_small convnext_tiny vit_b_16
cd "$root"

modules=$(mktemp -d)
trap 'rm -rf "$modules"' EXIT
ln -s "$root/runtime" "$modules/jit_runtime"
export PYTHONPATH="$modules${PYTHONPATH:+:$PYTHONPATH}" PYTHONDONTWRITEBYTECODE=1

"$python" - <<'MACHINE'
import platform
import sys

try:
    import torch
except ImportError as error:
    print(f"check.sh: {sys.executable} has no torch ({error}): choose another with PYTHON")
    sys.exit(2)
if not torch.cuda.is_available():
    print(f"check.sh: torch {torch.__version__} sees no CUDA device: nothing was checked")
    sys.exit(3)
device = torch.cuda.get_device_properties(0)
print(
    f"{device.name}, {device.total_memory / 2**30:.0f} GiB, CUDA {torch.version.cuda}, "
    f"torch {torch.__version__}, Python {platform.python_version()}, "
    f"{torch.get_num_threads()} threads"
)
MACHINE

status=0
if "$python" -c "import pytest" 2>/dev/null; then
    "$python" -m pytest -q -p no:cacheprovider -m cuda --durations=5 tests/cuda || status=1
else
    "$python" -m unittest discover -v -s tests/cuda || status=1
fi
if [ -n "$twins" ]; then
    "$python" tests/benchmarks/inference_speed.py --device cuda --twins "$twins" "$@" || status=1
fi
exit $status
