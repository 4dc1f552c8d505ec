-- Sums of floats of one group end in ClickHouse's digits.
SELECT varPop(0.1), stddevPop(0.1), varSamp(0.1) FROM numbers(100);
SELECT varPop(number / 10), varSamp(number / 10) FROM numbers(100);
SELECT skewPop(0.1 * number), skewSamp(0.1 * number), kurtPop(0.1 * number), kurtSamp(0.1 * number) FROM numbers(100);
SELECT corr(0.1 * number, number), covarPop(0.1 * number, number / 7), covarSamp(0.1 * number, number / 7) FROM numbers(100);
SELECT number % 2 AS k, varPop(0.1 * number) FROM numbers(100) GROUP BY k ORDER BY k;
