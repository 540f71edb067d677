"""The figures of a calibration compared with scikit-learn, SciPy and numpy.

    cargo build -p knowledgepulse-calibrate --example calibrate
    node tools/model.mjs --reference target/debug/examples/calibrate

The rows are those of rows.jsonl, the calibration what the example `calibrate` prints of them.
"""

import json
import math
import os
import subprocess
import unittest
from pathlib import Path

import numpy as np
from scipy import stats
from sklearn import metrics

FOLDER = Path(__file__).resolve().parent
FIRST = 10
LEVEL = 0.95


def calibrate(**options):
    """What the example prints."""
    command = [os.environ["KP_CALIBRATE"], FOLDER / "rows.jsonl", json.dumps(options)]
    return json.loads(subprocess.run(command, check=True, capture_output=True).stdout)


def wilson(successes, n):
    """The interval as statsmodels has it, for any n."""
    z = stats.norm.ppf(0.5 + LEVEL / 2)
    share = successes / n
    centre = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n)) / (1 + z * z / n)
    return centre - half, centre + half


class Reference(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        lines = (FOLDER / "rows.jsonl").read_text(encoding="utf-8").splitlines()
        cls.all = [json.loads(line) for line in lines]
        cls.used = [row for row in cls.all[FIRST:] if row["similarity"] is not None]
        labelled = [row for row in cls.used if "label" in row]
        cls.labels = np.array([row["label"] for row in labelled])
        cls.scores = np.array([row["score"] for row in labelled])
        cls.groups = np.array([row["group"] or row["id"] for row in labelled])
        cls.found = calibrate(first=FIRST, target={"share": 0.2})
        cls.judged = cls.found["labels"]

    def close(self, found, expected):
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)

    def column(self, points, name):
        return [point[name] for point in points]

    def test_rows_have_what_makes_the_comparison_hard(self):
        self.assertLess(len(set(self.scores)), len(self.scores))
        self.assertLess(len(set(self.groups)), len(self.groups))
        self.assertEqual(len(self.used), self.found["rows"]["used"])
        self.assertEqual(len(self.labels), self.found["rows"]["labelled"])

    def test_auc_is_that_of_scikit_learn_and_of_mann_and_whitney(self):
        found = self.judged["auc"]["value"]
        self.close(found, metrics.roc_auc_score(self.labels, self.scores))
        positives, negatives = self.scores[self.labels], self.scores[~self.labels]
        statistic = stats.mannwhitneyu(positives, negatives).statistic
        self.close(found, statistic / (len(positives) * len(negatives)))

    def test_average_precision(self):
        expected = metrics.average_precision_score(self.labels, self.scores)
        self.close(self.judged["averagePrecision"]["value"], expected)

    def test_roc_curve(self):
        fpr, tpr, thresholds = metrics.roc_curve(self.labels, self.scores, drop_intermediate=False)
        found = self.judged["roc"]
        self.assertEqual(len(found), len(fpr))
        self.close(self.column(found, "falsePositiveRate"), fpr)
        self.close(self.column(found, "truePositiveRate"), tpr)
        # The first accepts nothing: infinity there, null here.
        self.assertEqual((thresholds[0], found[0]["threshold"]), (math.inf, None))
        self.close(self.column(found[1:], "threshold"), thresholds[1:])

    def test_precision_recall_curve(self):
        precision, recall, thresholds = metrics.precision_recall_curve(self.labels, self.scores)
        # From the loosest threshold there, from the strictest here.
        found = self.judged["precisionRecall"][::-1]
        self.assertEqual(len(found), len(precision))
        self.close(self.column(found, "precision"), precision)
        self.close(self.column(found, "recall"), recall)
        self.close(self.column(found[:-1], "threshold"), thresholds)

    def test_operating_points(self):
        fpr, tpr, _ = metrics.roc_curve(self.labels, self.scores, drop_intermediate=False)
        self.close(self.judged["youden"]["value"], (tpr - fpr).max())
        best = max(
            metrics.f1_score(self.labels, self.scores >= threshold) for threshold in self.scores
        )
        self.close(self.judged["bestF1"]["value"], best)
        for name in ("youden", "bestF1"):
            point = self.judged[name]
            accepted = self.scores >= point["threshold"] - 1e-12
            self.close(point["precision"], metrics.precision_score(self.labels, accepted))
            self.close(point["recall"], metrics.recall_score(self.labels, accepted))
            self.close(point["share"], accepted.mean())

    def test_quantiles_are_those_of_numpy(self):
        self.compare(self.found["overall"], self.used)
        for domain in self.found["domains"]:
            rows = [row for row in self.used if row["domain"] == domain["domain"]]
            self.assertTrue(rows)
            self.compare(domain["summary"], rows)

    def compare(self, summary, rows):
        self.assertEqual(summary["n"], len(rows))
        self.distribution(summary["score"], [row["score"] for row in rows])
        constant = []
        for entry in summary["dimensions"]:
            values = [row["dimensions"][entry["dimension"]] for row in rows]
            self.distribution(entry["distribution"], values)
            if np.ptp(values) <= 1e-12:
                constant.append(entry["dimension"])
        self.assertEqual(summary["constantDimensions"], constant)
        for accepted in summary["accepted"]:
            share = np.mean([row["score"] >= accepted["threshold"] for row in rows])
            self.close(accepted["share"], share)

    def distribution(self, found, values):
        for percentile in found["percentiles"]:
            expected = np.quantile(values, percentile["percent"] / 100, method="linear")
            self.close(percentile["value"], expected)
        self.close([found["min"], found["max"]], [min(values), max(values)])
        self.close(found["mean"], np.mean(values))

    def test_ecdf_is_that_of_scipy(self):
        expected = stats.ecdf([row["score"] for row in self.used]).cdf
        found = self.found["overall"]["ecdf"]
        self.close(self.column(found, "score"), expected.quantiles)
        self.close(self.column(found, "share"), expected.probabilities)

    def test_wilson_is_that_of_scipy(self):
        # SciPy has it for whole numbers; the formula, which has it for any, agrees with it.
        for successes, n in ((0, 7), (3, 7), (7, 7), (190, 1000)):
            expected = stats.binomtest(successes, n).proportion_ci(LEVEL, method="wilson")
            self.close(wilson(successes, n), [expected.low, expected.high])
        for decile in self.judged["deciles"]:
            n = decile["effective"]
            interval = decile["interval"]
            expected = wilson(decile["rate"] * n, n)
            self.close([interval["low"], interval["high"]], expected)

    def test_deciles_divide_at_the_quantiles(self):
        edges = np.quantile(self.scores, np.arange(1, 10) / 10)
        place = np.searchsorted(np.unique(edges), self.scores, side="left")
        for decile, of in zip(self.judged["deciles"], np.unique(place), strict=True):
            chosen = place == of
            self.assertEqual(decile["n"], chosen.sum())
            self.assertEqual(decile["positives"], self.labels[chosen].sum())

    def test_intraclass_correlation_is_that_of_an_analysis_of_variance(self):
        groups = [self.labels[self.groups == name] for name in np.unique(self.groups)]
        sizes = np.array([len(group) for group in groups])
        mean = self.labels.mean()
        between = sum(len(group) * (group.mean() - mean) ** 2 for group in groups)
        between /= len(groups) - 1
        within = sum(((group - group.mean()) ** 2).sum() for group in groups)
        within /= len(self.labels) - len(groups)
        size = (sizes.sum() - (sizes**2).sum() / sizes.sum()) / (len(groups) - 1)
        expected = (between - within) / (between + (size - 1) * within)
        self.assertGreater(expected, 0)
        self.close(self.judged["intraclassCorrelation"], expected)

    def test_share_is_the_nearest_to_the_target(self):
        scores = np.array([row["score"] for row in self.used])
        threshold = self.found["threshold"]
        shares = np.array([np.mean(scores >= score) for score in scores])
        self.close(abs(threshold["share"]["value"] - 0.2), abs(shares - 0.2).min())
        self.close(threshold["share"]["value"], np.mean(scores >= threshold["value"]))


if __name__ == "__main__":
    unittest.main()
