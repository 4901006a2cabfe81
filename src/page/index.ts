/**
 * Pages of HTML: the frame with its content security policy, the common look, and escaping; and the one page that is made in the browser (src/ui), as a server
 * serves it.
 *
 * Guarantee: text of a trace cannot become markup or script.
 */

export type {
  Block,
  DocumentChart,
  DocumentColumn,
  DocumentRow,
  Mood,
  PageDocument,
  Phrase,
  Phrases,
} from "./document.ts"
export { documentPage } from "./document-page.ts"
export { html } from "./html.ts"
export {
  type BuiltPage,
  builtPage,
  dataBlock,
  inlinedPage,
  PageNotBuilt,
  scriptJson,
} from "./inlined-page.ts"
export { isPagePath, servePage } from "./served-page.ts"
export { excerpts, shortened } from "./shown-text.ts"
