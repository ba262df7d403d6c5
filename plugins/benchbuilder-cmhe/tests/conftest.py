from __future__ import annotations

import os

# before numpy and torch are imported: the threads of two workers would wait for each other
os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
