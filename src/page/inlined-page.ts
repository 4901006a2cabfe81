/**
 * The page (src/ui) as one file: its script and style are within the document, and so is what it shows. Nothing is loaded from anywhere.
 *
 * The policy of the document names the hashes of its one script and one style, so nothing that a trace contains can run. Blocks of data are script elements of
 * a type that no browser runs; a policy does not concern them.
 */

import { hash } from "node:crypto"
import { builtFile } from "./built-page.ts"
import { html } from "./html.ts"

/** The texts of the script and the style of a page in one file. */
export interface BuiltPage {
  readonly script: string
  readonly style: string
}

/** The page was not built, or only in part. */
export class PageNotBuilt extends Error {
  override readonly name = "PageNotBuilt"

  constructor() {
    super("the page is not built: run `npm run build`, which makes dist/ui/file.js and dist/ui/page.css")
  }
}

/** @throws PageNotBuilt */
export const builtPage = (): BuiltPage => {
  const [script, style] = [builtFile("file.js"), builtFile("page.css")]
  if (script === undefined || style === undefined) throw new PageNotBuilt()
  // A map is beside the script, where a file has nothing.
  return { script: script.toString().replace(/^\/\/# sourceMappingURL=.*\n?/m, ""), style: style.toString() }
}

/** What is written before and after the blocks of data. */
interface InlinedFrame {
  readonly head: string
  readonly tail: string
}

/**
 * The document in two parts, between which blocks of data may be written: those of {@link dataBlock}, or the same by pieces. The script is at the end and
 * finds them all.
 *
 * @param source read by the script: the JSON of the element `#source`
 */
export const inlinedPage = (
  { script, style }: BuiltPage,
  { title, source }: { readonly title: string; readonly source: object },
): InlinedFrame => {
  const code = unended(script)
  const rules = style.replaceAll(/<\/(?=style)/gi, "<\\/")
  const policy = `default-src 'none'; script-src ${hashOf(code)}; style-src ${hashOf(rules)}; img-src data:; base-uri 'none'; form-action 'none'`
  const head = `<!doctype html>
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
<div id="page"></div>
<noscript>This page needs JavaScript. It loads nothing and runs only what is in this file.</noscript>
<script type="application/json" id="source">${scriptJson(source)}</script>
`
  return { head, tail: `<script type="module">${code}</script>\n</body>\n</html>\n` }
}

/** A value as JSON that is also safe within a script element, and in JavaScript. */
export const scriptJson = (value: object): string =>
  JSON.stringify(value).replaceAll(
    /[<\u2028\u2029]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  )

/** What a block of data begins and ends with. `name` and `text` must not need escaping: the text is base64. */
export const dataBlock = (name: string, text: string): string =>
  `<script type="application/octet-stream" data-${name}>${text}</script>\n`

/** Code that does not end its element, and opens no comment in it: in strings, templates and patterns the escape means the same. */
const unended = (code: string): string => code.replaceAll(/<\/(?=script)/gi, "<\\/").replaceAll("<!--", "<\\!--")

const hashOf = (text: string): string => `'sha256-${hash("sha256", text, "base64")}'`
