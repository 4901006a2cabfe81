/** The look of the pages, in light and dark. Contrast of text is at least 4.5 to 1 in both. */
export const pageStyle = `
:root { color-scheme: light dark;
  --ground: #f7f8fa; --card: #ffffff; --line: #e2e5ea; --text: #1b1f27; --quiet: #5b6472;
  --recorded: #7a8494; --replayed: #1f6feb; --good: #1a7f4b; --bad: #c0362c; --warn: #9a6700;
  --c0: #1f6feb; --c1: #c2570c; --c2: #8250df; --c3: #0e7c86; --c4: #bf3989; --c5: #57606a; }
@media (prefers-color-scheme: dark) { :root {
  --ground: #0f1217; --card: #171b22; --line: #2a303a; --text: #e6e9ee; --quiet: #9aa4b2;
  --recorded: #8b96a6; --replayed: #5aa2ff; --good: #4cc38a; --bad: #ff7b72; --warn: #e3b341;
  --c0: #5aa2ff; --c1: #f0883e; --c2: #b392f0; --c3: #39c5cf; --c4: #f778ba; --c5: #8b949e; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--ground); color: var(--text); font: 14px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "DejaVu Sans", sans-serif; }
main { max-width: 1200px; margin: 0 auto; padding: 28px 24px 64px; }
h1 { font-size: 24px; line-height: 1.25; margin: 0 0 4px; font-weight: 650; }
h2 { font-size: 17px; margin: 40px 0 12px; font-weight: 650; }
h3 { font-size: 14px; margin: 20px 0 8px; }
p { margin: 0 0 10px; max-width: 120ch; }
.quiet, .note { color: var(--quiet); }
.note { font-size: 13px; }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(170px, 1fr)); gap: 12px; margin: 20px 0 8px; }
.tile { background: var(--card); border: 1px solid var(--line); border-radius: 8px; padding: 14px 16px; }
.tile b { display: block; font-size: 26px; line-height: 1.2; font-weight: 650; font-variant-numeric: tabular-nums; }
.tile span { color: var(--quiet); font-size: 13px; }
.tile .label { color: var(--text); font-weight: 600; }
.good { color: var(--good); } .bad { color: var(--bad); } .warn { color: var(--warn); }
.charts { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 460px), 1fr)); gap: 12px; }
.chart { margin: 0; background: var(--card); border: 1px solid var(--line); border-radius: 8px; padding: 12px 12px 4px; position: relative; min-width: 0; }
.wide { grid-column: 1 / -1; }
.chart figcaption { font-weight: 600; display: flex; justify-content: space-between; flex-wrap: wrap; gap: 4px 16px; padding: 0 4px 4px; }
.chart > svg { display: block; width: 100%; height: auto; }
.chart > svg:focus-visible { outline: 2px solid var(--replayed); outline-offset: 2px; border-radius: 4px; }
.legend { font-weight: 400; color: var(--quiet); display: flex; flex-wrap: wrap; gap: 0 12px; font-size: 13px; }
.key { display: inline-flex; align-items: center; gap: 5px; }
.tick { fill: var(--quiet); font-size: 11px; font-variant-numeric: tabular-nums; }
.grid { stroke: var(--line); stroke-width: 1; }
path { fill: none; stroke: var(--text); stroke-width: 1.75; stroke-linejoin: round; }
path.points { stroke-width: 4; stroke-linecap: round; opacity: .8; }
path.dashed { stroke-dasharray: 5 3; }
path.recorded { stroke: var(--recorded); } path.replayed { stroke: var(--replayed); }
path.run-0 { stroke: var(--c0); } path.run-1 { stroke: var(--c1); } path.run-2 { stroke: var(--c2); }
path.run-3 { stroke: var(--c3); } path.run-4 { stroke: var(--c4); } path.run-5 { stroke: var(--c5); }
.cursor { stroke: var(--quiet); stroke-width: 1; visibility: hidden; }
.active .cursor { visibility: visible; }
.readout { display: block; min-height: 20px; padding: 0 4px; font-size: 12px; color: var(--quiet); white-space: pre-wrap; visibility: hidden; font-variant-numeric: tabular-nums; }
.active .readout { visibility: visible; }
.table { overflow-x: auto; background: var(--card); border: 1px solid var(--line); border-radius: 8px; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
caption { text-align: left; font-weight: 600; padding: 10px 14px 4px; }
th, td { text-align: left; padding: 6px 14px; border-top: 1px solid var(--line); vertical-align: top; }
thead th { border-top: 0; color: var(--quiet); font-weight: 600; font-size: 13px; white-space: nowrap; }
tbody th { font-weight: 500; }
td.number, th.number { text-align: right; white-space: nowrap; }
tr.group th { color: var(--quiet); font-weight: 600; font-size: 13px; padding-top: 14px; }
td.best { font-weight: 650; }
code, .code { font: 12.5px/1.5 ui-monospace, SFMono-Regular, Menlo, "DejaVu Sans Mono", monospace; overflow-wrap: anywhere; }
details > summary { cursor: pointer; }
.table + details, details > .table { margin-top: 10px; }
details.object { background: var(--card); border: 1px solid var(--line); border-radius: 8px; margin: 0 0 6px; }
details.object > summary { padding: 8px 14px; display: flex; flex-wrap: wrap; gap: 2px 12px; align-items: baseline; }
details.object > summary::before { content: "▸"; color: var(--quiet); }
details.object[open] > summary::before { content: "▾"; }
details.object > .table { margin: 0; border-width: 1px 0 0; border-radius: 0 0 8px 8px; }
.badge { font-size: 12px; font-weight: 600; border: 1px solid currentColor; border-radius: 999px; padding: 0 8px; white-space: nowrap; }
#filter { width: min(100%, 420px); font: inherit; color: inherit; background: var(--card); border: 1px solid var(--line); border-radius: 6px; padding: 6px 10px; margin: 0 0 10px; }
ul.differences { margin: 0; padding: 0 0 0 16px; }
@media print { details.object { break-inside: avoid; } .chart { break-inside: avoid; } }
`
