/** The frame of a page: one file that loads nothing, with a policy that forbids it, and style and script of its own. */
import { hash } from "node:crypto"
import { type Html, html } from "./html.ts"
import { pageScript } from "./page-script.ts"
import { pageStyle } from "./page-style.ts"

/** `body` must not have inline styles or handlers: the policy ignores them. */
export const page = (title: string, body: Html): string => {
  const policy = `default-src 'none'; style-src ${source(pageStyle)}; script-src ${source(pageScript)}; base-uri 'none'; form-action 'none'`
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
${html`<title>${title}</title>`}
<style>${pageStyle}</style>
</head>
<body>
${body}
<script>${pageScript}</script>
</body>
</html>
`
}

const source = (text: string): string => `'sha256-${hash("sha256", text, "base64")}'`
