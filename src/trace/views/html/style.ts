/** How a page looks: on a screen, light or dark, and on paper. It names no other resource. */
export const style = `
:root{color-scheme:light dark;--line:#8884;--good:#4c9a6a;--waiting:#c9a227;--bad:#cf4f45;--over:#7f8aa3;--life:#8882}
body{font:14px/1.45 system-ui,sans-serif;margin:1.5rem;max-width:90rem}
h1{font-size:1.4rem;margin:0 0 .3rem}h2{font-size:1.1rem;margin:1.6rem 0 .4rem}
p{margin:.2rem 0}code,.value{font-family:ui-monospace,monospace;font-size:.92em;overflow-wrap:anywhere}
.notice{border-left:4px solid var(--bad);padding:.2rem .7rem;margin:.6rem 0}
summary{cursor:pointer;font-weight:600;padding:.2rem 0}
.row{display:grid;grid-template-columns:minmax(10rem,22rem) 1fr;gap:.6rem;align-items:center}
.label{overflow:hidden;text-overflow:ellipsis;white-space:nowrap}.below{padding-left:1.2rem}.inner{padding-left:2.4rem;opacity:.85}
.lane{position:relative;height:1.1rem;border-left:1px solid var(--line);border-right:1px solid var(--line)}
.lane span{position:absolute;top:2px;bottom:2px;min-width:2px;border-radius:2px;overflow:hidden;white-space:nowrap;font-size:.72rem;line-height:.9rem;color:#fff;text-indent:3px}
.lane .life{top:5px;bottom:5px;background:var(--life)}.lane .life.bad{background:var(--bad)}.lane .waiting{color:#111}.lane .mark{top:0;bottom:0;width:2px;background:currentColor;color:inherit;opacity:.7}
.good{background:var(--good)}.waiting{background:var(--waiting)}.bad{background:var(--bad)}.over{background:var(--over)}
td.bad{background:none;color:var(--bad);font-weight:600}
.axis .lane{border-bottom:1px solid var(--line)}.axis .lane span{color:inherit}
table{border-collapse:collapse;width:100%}th,td{text-align:left;vertical-align:top;padding:.2rem .6rem .2rem 0;border-top:1px solid var(--line)}
td.time{white-space:nowrap;font-variant-numeric:tabular-nums}ul{margin:.1rem 0;padding-left:1.1rem}
del{text-decoration:none;color:var(--bad)}ins{text-decoration:none;color:var(--good)}
@media print{.lane span{print-color-adjust:exact}details{break-inside:avoid}}
`
