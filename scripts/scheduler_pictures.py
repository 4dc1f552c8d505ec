#!/usr/bin/env python3
"""Draws the moving pictures of docs/scheduler.md from what `squall simulate` prints: every length in them is a simulated figure.

    scripts/scheduler_pictures.py --squall target/release/squall
"""

import argparse
import csv
import pathlib
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
WORKLOADS = ROOT / "docs/workloads"
IMAGES = ROOT / "docs/images"
CORES = 16
CLIENTS = (1, 2, 4, 8, 16, 32, 64)
STYLE = """text{font:13px sans-serif;fill:#222}.soft{fill:#666}.grid{stroke:#ddd}.stride{fill:#0072b2}.fixed{fill:#b86e00}
.one{fill:#007a5a}.report{fill:#bbb}@media(prefers-color-scheme:dark){text{fill:#ddd}.soft{fill:#aaa}.grid{stroke:#444}
.stride{fill:#56b4e9}.fixed{fill:#f0b428}.one{fill:#3ecfa0}.report{fill:#666}}
@media(prefers-reduced-motion:reduce){*{animation:none!important}}"""


def simulate(squall, workload, **options):
    """Rows of the simulation's CSV."""
    with tempfile.TemporaryDirectory() as folder:
        words = [word for name, value in options.items() for word in (f"--{name}", str(value))]
        subprocess.run([squall, "simulate", "run", workload, "--output", folder, *words], check=True, stdout=subprocess.DEVNULL)
        with (pathlib.Path(folder) / "simulation.csv").open() as file:
            return list(csv.DictReader(file))


def svg(width, height, title, body, style=""):
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img">'
        f"<title>{title}</title><style>{STYLE}{style}</style>{body}</svg>\n"
    )


def race(rows):
    """One short query beside eight reports, under two policies: bars that grow as long as the query takes, 50 times slowed down."""
    short = {row["policy"]: row for row in rows if row["class"] == "short"}
    slowdown, pixels_ms, left, top = 50, 5, 150, 50
    longest = max(float(row["p50_ms"]) for row in short.values())
    # One round of the picture: the longest query, then a pause to read.
    round_s = longest * slowdown / 1000 + 3
    body, style = f'<text x="10" y="24">A query of 50 ms of work beside eight reports, {CORES} cores (simulated)</text>', ""
    for number, (policy, kind, title) in enumerate([("stride", "stride", "stride"), ("fixed_at_start", "fixed", "fixed_at_start")]):
        p50, p99 = float(short[policy]["p50_ms"]), float(short[policy]["p99_ms"])
        y, share = top + 55 * number, p50 * slowdown / 1000 / round_s * 100
        body += f'<text x="10" y="{y + 20}">{title}</text>'
        body += f'<rect class="{kind} run{number}" x="{left}" y="{y}" width="{p50 * pixels_ms:.1f}" height="30" rx="3"/>'
        body += f'<text class="done{number}" x="{left + p50 * pixels_ms + 8:.1f}" y="{y + 14}">{p50:.1f} ms</text>'
        body += f'<text class="soft done{number}" x="{left + p50 * pixels_ms + 8:.1f}" y="{y + 29}">p99 {p99:.1f} ms</text>'
        style += (
            f".run{number}{{transform-origin:{left}px 0;animation:run{number} {round_s:.2f}s linear infinite}}"
            f"@keyframes run{number}{{0%{{transform:scaleX(0)}}{share:.2f}%,100%{{transform:scaleX(1)}}}}"
            f".done{number}{{animation:done{number} {round_s:.2f}s linear infinite}}"
            f"@keyframes done{number}{{0%,{share:.2f}%{{opacity:0}}{share + 0.5:.2f}%,100%{{opacity:1}}}}"
        )
    ratio = float(short["fixed_at_start"]["p50_ms"]) / float(short["stride"]["p50_ms"])
    body += f'<text class="soft" x="10" y="{top + 130}">Median of the short query, shown {slowdown} times slower. Under stride it is {ratio:.0f} times as fast.</text>'
    return svg(880, top + 145, "A short query beside reports, under two policies", body, style)


def crowd(series):
    """Queries a second as clients come: one step of the picture for each number of clients."""
    left, top, height, step_s = 60, 60, 200, 1.6
    most = max(max(values) for _, _, values in series)
    scale, round_s = height / most, step_s * len(CLIENTS)
    body = f'<text x="10" y="24">Queries per second as clients come, {CORES} cores (simulated)</text>'
    for value in range(0, int(most) + 1, 50):
        y = top + height - value * scale
        body += f'<line class="grid" x1="{left}" x2="700" y1="{y:.1f}" y2="{y:.1f}"/><text class="soft" x="{left - 8}" y="{y + 4:.1f}" text-anchor="end">{value}</text>'
    style = ""
    for index, clients in enumerate(CLIENTS):
        begin, end = index / len(CLIENTS) * 100, (index + 1) / len(CLIENTS) * 100
        steps = f"0%,{max(begin - 0.01, 0):.2f}%{{opacity:0}}" if index else ""
        style += f".at{index}{{opacity:{int(index == len(CLIENTS) - 1)};animation:at{index} {round_s:.1f}s step-end infinite}}"
        after = f"{end:.2f}%,100%{{opacity:0}}" if end < 100 else ""
        style += f"@keyframes at{index}{{{steps}{begin:.2f}%{{opacity:1}}{after}}}"
        group = f'<text x="{left + 330}" y="{top + height + 52}" text-anchor="middle">{clients} client{"s" if clients > 1 else ""}</text>'
        for number, (kind, _, values) in enumerate(series):
            x, bar = left + 60 + 210 * number, values[index] * scale
            group += f'<rect class="{kind}" x="{x}" y="{top + height - bar:.1f}" width="120" height="{bar:.1f}" rx="3"/>'
            group += f'<text x="{x + 60}" y="{top + height - bar - 6:.1f}" text-anchor="middle">{values[index]:.0f}</text>'
        body += f'<g class="at{index}">{group}</g>'
    for number, (_, title, _) in enumerate(series):
        body += f'<text class="soft" x="{left + 120 + 210 * number}" y="{top + height + 20}" text-anchor="middle">{title}</text>'
    return svg(720, top + height + 70, "Throughput as clients come, under three policies", body, style)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--squall", default="target/release/squall")
    squall = parser.parse_args().squall
    rows = simulate(squall, WORKLOADS / "short_beside_long.toml", policies="stride,fixed_at_start", cores=CORES)
    (IMAGES / "short_beside_long.svg").write_text(race(rows))

    clients, aggregation = ",".join(map(str, CLIENTS)), WORKLOADS / "aggregation.toml"

    def rates(workload, policy):
        found = simulate(squall, workload, policies=policy, cores=CORES, clients=clients)
        return [float(row["queries_per_second"]) for row in found]

    with tempfile.NamedTemporaryFile("w", suffix=".toml") as one:
        one.write(aggregation.read_text() + "max_threads = 1\n")
        one.flush()
        series = [
            ("stride", "stride", rates(aggregation, "stride")),
            ("fixed", f"{CORES} threads a query", rates(aggregation, "fixed_at_start")),
            ("one", "1 thread a query", rates(one.name, "fixed_at_start")),
        ]
    (IMAGES / "clients_come.svg").write_text(crowd(series))
    for _, title, values in series:
        print(title, dict(zip(CLIENTS, values, strict=True)))


if __name__ == "__main__":
    main()
