#!/usr/bin/env python3
"""Compares states of aggregate functions with ClickHouse 26.9 (PyPI chdb): the bytes of hex(…State(…)), and what either side makes of a
state that the other wrote.

aggregate_states.py URL
Prints a line for each function whose bytes differ, or whose state is not understood. States that are hash tables may have another order
on each side: for those only the results count."""

import sys
import urllib.error
import urllib.request

import chdb

ROWS = "numbers(20)"
# A call without State, as `function|arguments`.
CALLS = """
sum|number
sum|toFloat32(number)
count|
avg|number
min|toString(number)
max|number
any|number
anyLast|toString(number)
anyHeavy|number
singleValueOrNull|1
argMin|number, toString(number)
argAndMax|number, number
sumKahan|number / 3
sumCount|number
sumWithOverflow|toUInt8(number)
varPop|number
varSampStable|number
covarPopStable|number, number * 2
corrStable|number, number * number
corrMatrix|number, number * number
simpleLinearRegression|number, number
regr_slope|number, number * number
studentTTest|number, number % 2
welchTTest|number, number % 2
meanZTest(1., 1., 0.9)|number, number % 2
mannWhitneyUTest|number, number % 2
kolmogorovSmirnovTest|number, number % 2
rankCorr|number, number % 5
analysisOfVariance|number, number % 3
cramersV|number % 2, number % 3
theilsU|number % 2, number % 3
categoricalInformationValue|number % 2, number % 3 = 0
entropy|number % 5
gini|number
deltaSum|number
deltaSumTimestamp|number, number
boundingRatio|number, number
exponentialMovingAverage(2)|number, number
intervalLengthSum|number, number + 1
maxIntersections|number, number + 3
retention|number = 1, number = 2
windowFunnel(10)|number, number = 1, number = 2
sequenceMatch('(?1)(?2)')|toDateTime(number), number = 1, number = 2
sequenceCount('(?1)(?2)')|toDateTime(number), number = 1, number = 2
histogram(3)|number
sparkbar(5)|number, number
largestTriangleThreeBuckets(5)|number, number
groupArray|number
groupArray(3)|toString(number)
groupArrayInsertAt|number, number
groupArrayLast(3)|number
groupArrayMovingSum(2)|number
groupArrayMovingAvg(2)|number
groupArraySample(3, 1)|number
groupArraySorted(3)|number
groupArrayIntersect|[1, number]
groupUniqArray|number % 3
groupConcat(',')|toString(number)
groupBitAnd|number
groupBitmap|number
groupBitmap|toUInt32(number)
uniq|number
uniq|toString(number)
uniq|number, toString(number)
uniqExact|number
uniqExact|toString(number)
uniqExact|[number]
uniqCombined|number
uniqCombined64|toString(number)
uniqHLL12|number
uniqUpTo(3)|number
quantile|number
quantiles(0.1, 0.9)|number
quantileExact|number
quantileExactWeighted|number, number
quantileInterpolatedWeighted|number, number
quantileDeterministic|number, number
quantileTDigest|number
quantileTDigestWeighted|number, number
quantileTiming|number
quantileBFloat16|number
quantileGK(100)|number
quantileDD(0.01)|number
topK(3)|number % 4
topKWeighted(3)|number % 4, number
approx_top_k(3)|number % 4
sumMap|[number % 3], [number]
sumMap|map(number % 3, number)
sumForEach|[number, 1]
sumArgMin|number, number % 3
sumResample(0, 10, 3)|number, number
sumTuple|(number, 1)
sumIf|number, number % 2
sumOrNull|number
sum|toNullable(number)
uniq|toNullable(number)
avgWeighted|number, number
skewPop|number
kurtSamp|number
""".strip().splitlines()


def oracle(query):
    return chdb.query(query, "TSV").bytes().decode("utf8", "replace").strip()


def asked(url, query):
    request = urllib.request.Request(f"{url}/?default_format=TSV", data=query.encode())
    try:
        return urllib.request.urlopen(request, timeout=30).read().decode("utf8", "replace").strip()
    except urllib.error.HTTPError as error:
        return "error: " + error.read().decode(errors="replace").strip()[:160]


def main():
    url = sys.argv[1]
    alike = understood = 0
    for call in CALLS:
        function, arguments = call.split("|")
        name, bracket, parameters = function.partition("(")
        state = f"{name}State{bracket}{parameters}({arguments})"
        query = f"SELECT hex({state}) FROM {ROWS}"
        want, got = oracle(query), asked(url, query)
        alike += want == got
        if want != got:
            print(f"bytes   {call}: {got[:100]} instead of {want[:100]}")
        kind = oracle(f"SELECT toTypeName({state}) FROM {ROWS}").replace("\\'", "'").replace("\\n", " ")
        finish = "SELECT finalizeAggregation(CAST(unhex('%s') AS " + kind + "))"
        result = oracle(f"SELECT {function}({arguments}) FROM {ROWS}")
        there = asked(url, finish % want)
        back = oracle(finish % got) if not got.startswith("error") else "error"
        if there == result == back:
            understood += 1
        else:
            print(f"result  {call}: {there[:100]} here, {back[:60]} there, instead of {result[:80]}")
    print(f"{alike} of {len(CALLS)} states are alike, {understood} understood by both sides")


if __name__ == "__main__":
    main()
