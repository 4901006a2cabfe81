/** What the page of a trace has beside the common style: rows of a time line, in one column on a phone. */
export const tracePageStyle = `
main { max-width: none; }
.notice { border-left: 4px solid var(--warn); padding: 2px 12px; }
.row { display: grid; grid-template-columns: minmax(0, 22rem) minmax(0, 1fr); gap: 12px; align-items: center; padding: 1px 0; }
.label { overflow-wrap: anywhere; line-height: 1.3; padding-left: 16px; }
.below { padding-left: 32px; } .inner { padding-left: 48px; color: var(--quiet); }
.lane { display: block; width: 100%; height: 18px; overflow: visible; forced-color-adjust: none; border-radius: 2px; }
.axis { position: sticky; top: 0; background: var(--ground); z-index: 1; padding: 4px 0; box-shadow: 0 0 0 2px var(--ground); border-bottom: 1px solid var(--line); }
summary.row { list-style: none; } summary::-webkit-details-marker { display: none; }
summary.row > .label { position: relative; }
summary.row > .label::before { content: "▸"; position: absolute; left: 0; color: var(--quiet); }
details[open] > summary.row > .label::before { content: "▾"; }
summary.row:hover, .row:hover { background: color-mix(in srgb, var(--quiet) 10%, transparent); }
details, .row { scroll-margin-top: 36px; }
td.time { width: 1%; white-space: nowrap; } td.object { width: 30%; }
b.bad, td .bad { font-weight: 650; }
@media (min-width: 641px) { .axis text { font-size: 11px; } }
@media (max-width: 640px) {
  .row { grid-template-columns: minmax(0, 1fr); gap: 0; padding: 3px 0; }
  td.time, td.object { width: auto; }
}
@media print { .row, tr { break-inside: avoid; } .lane { print-color-adjust: exact; } .axis { position: static; } }
`
