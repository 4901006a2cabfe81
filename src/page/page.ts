/** The frame of a page: one file that loads nothing, with a policy that forbids it, and style and script of its own. */
import { hash } from "node:crypto"
import { type Html, html } from "./html.ts"
import { commonStyle } from "./style.ts"

/** What a page is made of beside its body. */
export interface PageFrame {
  readonly title: string
  /** Rules beside the common ones. */
  readonly style?: string
  /** Default: the page runs nothing. */
  readonly script?: string
}

/** `body` must not have inline styles or handlers: the policy ignores them. */
export const page = (frame: PageFrame, body: Html): string => {
  const { before, after } = pageAround(frame)
  return `${before}${body}${after}`
}

/** What comes before and after the body, for a page that is written piece by piece. */
export const pageAround = ({
  title,
  style = "",
  script,
}: PageFrame): { readonly before: string; readonly after: string } => {
  const rules = commonStyle + style
  const scripts = script === undefined ? "" : ` script-src ${source(script)};`
  const policy = `default-src 'none'; style-src ${source(rules)};${scripts} base-uri 'none'; form-action 'none'`
  return {
    before: `<!doctype html>
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
`,
    after: `
${script === undefined ? "" : `<script>${script}</script>\n`}</body>
</html>
`,
  }
}

const source = (text: string): string => `'sha256-${hash("sha256", text, "base64")}'`
