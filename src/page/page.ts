/** The frame of a page: one file that loads nothing, with a policy that forbids it, and style and script of its own. */
import { hash } from "node:crypto"
import { type Html, html } from "./html.ts"

/** The look that all pages have in common, in light and dark. Contrast of text is at least 4.5 to 1 in both. */
const commonStyle = `
:root { color-scheme: light dark;
  --ground: #f7f8fa; --card: #ffffff; --line: #e2e5ea; --text: #1b1f27; --quiet: #5b6472; --link: #1558c0;
  --good: #1a7f4b; --bad: #c0362c; --warn: #9a6700; }
@media (prefers-color-scheme: dark) { :root {
  --ground: #0f1217; --card: #171b22; --line: #2a303a; --text: #e6e9ee; --quiet: #9aa4b2; --link: #6aabff;
  --good: #4cc38a; --bad: #ff7b72; --warn: #e3b341; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--ground); color: var(--text); font: 14px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "DejaVu Sans", sans-serif; }
main { max-width: 1200px; margin: 0 auto; padding: 28px 24px 64px; }
h1, h2, h3, p, a { overflow-wrap: anywhere; }
h1 { font-size: 24px; line-height: 1.25; margin: 0 0 4px; font-weight: 650; }
h2 { font-size: 17px; margin: 40px 0 12px; font-weight: 650; }
h3 { font-size: 14px; margin: 20px 0 8px; }
p { margin: 0 0 10px; max-width: 120ch; }
.quiet, .note { color: var(--quiet); }
.note { font-size: 13px; }
.good { color: var(--good); } .bad { color: var(--bad); } .warn { color: var(--warn); }
.table { overflow-x: auto; background: var(--card); border: 1px solid var(--line); border-radius: 8px; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
caption { text-align: left; font-weight: 600; padding: 10px 14px 4px; }
th, td { text-align: left; padding: 6px 14px; border-top: 1px solid var(--line); vertical-align: top; }
thead th { border-top: 0; color: var(--quiet); font-weight: 600; font-size: 13px; white-space: nowrap; }
tbody th { font-weight: 500; }
td.number, th.number { text-align: right; white-space: nowrap; }
code, .code { font: 12.5px/1.5 ui-monospace, SFMono-Regular, Menlo, "DejaVu Sans Mono", monospace; overflow-wrap: anywhere; }
details > summary { cursor: pointer; }
:focus-visible { outline: 2px solid var(--link); outline-offset: 2px; border-radius: 4px; }
a { color: var(--link); }
del, ins { text-decoration: none; } del { color: var(--bad); } ins { color: var(--good); }
.stacked td { overflow-wrap: anywhere; } td ul { margin: 2px 0; padding-left: 18px; }
nav { margin: 8px 0 16px; display: flex; flex-wrap: wrap; gap: 4px 16px; }
@media (max-width: 640px) { main { padding: 16px 12px 48px; } th, td { padding: 6px 8px; }
  .stacked thead { display: none; } .stacked tr { display: block; padding: 6px 8px; border-top: 1px solid var(--line); }
  .stacked td { display: block; border: 0; padding: 0; }
  .stacked td[data-label]:not(:empty)::before { content: attr(data-label) ": "; color: var(--quiet); } }
.table + details, details > .table { margin-top: 10px; }
`

/** What a page is made of beside its body. */
interface PageFrame {
  readonly title: string
  /** Rules beside the common ones. */
  readonly style?: string
  /** Default: the page runs nothing. */
  readonly script?: string
}

/** `body` must not have inline styles or handlers: the policy ignores them. */
export const page = ({ title, style = "", script }: PageFrame, body: Html): string => {
  const rules = commonStyle + style
  const scripts = script === undefined ? "" : ` script-src ${source(script)};`
  const policy = `default-src 'none'; style-src ${source(rules)};${scripts} base-uri 'none'; form-action 'none'`
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
${html`<title>${title}</title>`}
<style>${rules}</style>
</head>
<body>
${body}
${script === undefined ? "" : `<script>${script}</script>\n`}</body>
</html>
`
}

const source = (text: string): string => `'sha256-${hash("sha256", text, "base64")}'`
