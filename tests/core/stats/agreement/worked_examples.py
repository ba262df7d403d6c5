"""Tables of published worked examples, used by several tests."""

import numpy as np

_ = None

# Krippendorff, "Computing Krippendorff's Alpha-Reliability" (2011), section D: four observers, twelve units.
KRIPPENDORFF = [
    [1, 2, 3, 3, 2, 1, 4, 1, 2, _, _, _],
    [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, _, 3],
    [_, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, _],
    [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, _],
]

# Fleiss (1971), "Measuring nominal scale agreement among many raters": 30 patients, six psychiatrists, five diagnoses.
_PATIENTS = (
    "00060 03003 01401 00006 03030 20400 00402 20310 20040 00006 10050 11040 03300 10050 02031 "
    "00501 30012 51000 02040 10203 00006 01050 02013 20040 10041 05010 40002 02040 10500 00006"
)
FLEISS = np.array([[float(count) for count in row] for row in _PATIENTS.split()])

# The worked example mostly shown for Fleiss' kappa (Wikipedia): ten subjects, fourteen raters, five categories.
FOURTEEN = np.array(
    [
        [0, 0, 0, 0, 14], [0, 2, 6, 4, 2], [0, 0, 3, 5, 6], [0, 3, 9, 2, 0], [2, 2, 8, 1, 1],
        [7, 7, 0, 0, 0], [3, 2, 6, 3, 0], [2, 5, 3, 2, 2], [6, 5, 2, 1, 0], [0, 2, 2, 3, 7],
    ],
    dtype=float,
)  # fmt: skip

# Shrout and Fleiss (1979), "Intraclass correlations", table 2: six targets, four judges.
SHROUT = np.array([[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7]], dtype=float)

# The anxiety ratings of the R package irr: three raters, twenty people, a scale of 1 to 6.
ANXIETY = [
    [3, 3, 3, 4, 5, 5, 2, 3, 5, 2, 2, 6, 1, 5, 2, 2, 1, 2, 4, 3],
    [3, 6, 4, 6, 2, 4, 2, 4, 3, 3, 2, 3, 3, 3, 2, 2, 1, 3, 3, 4],
    [2, 1, 4, 4, 3, 2, 1, 6, 1, 1, 1, 2, 3, 3, 1, 1, 3, 3, 2, 2],
]


def units(columns):
    """The units of one row per rater, each a cluster of its own."""
    return [[{f"r{rater}": value for rater, value in enumerate(unit)}] for unit in zip(*columns, strict=True)]


def dealt(counts):
    """Units of which each category was given by as many raters as `counts` (unit by category) say."""
    each = [np.repeat(np.arange(len(row)), row.astype(int)).tolist() for row in counts]
    return [[{f"r{rater}": value for rater, value in enumerate(values)}] for values in each]
