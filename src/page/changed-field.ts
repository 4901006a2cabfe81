/** A field that differs, as an item of a list: its path, and its values as they are shown. */
import { type Html, html } from "./html.ts"
import { shortened, type ValuePair } from "./shown-text.ts"

/** An item of a list. `path`: the empty string for all of an object. */
export const changedField = (path: string, [before, after]: ValuePair): Html =>
  html`<li><code>${path === "" ? "(everything)" : shortened(path)}</code>: ${before === undefined ? "(absent)" : html`<del class="code">${before}</del>`} → ${after === undefined ? "(absent)" : html`<ins class="code">${after}</ins>`}</li>`
