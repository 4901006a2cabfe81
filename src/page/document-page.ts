/** A report as one HTML file. */

import type { PageDocument } from "./document.ts"
import { builtPage, inlinedPage } from "./inlined-page.ts"

/**
 * The whole file; it loads nothing.
 *
 * @throws PageNotBuilt
 */
export const documentPage = (document: PageDocument): string => {
  const { head, tail } = inlinedPage(builtPage(), { title: document.title, source: { type: "document", document } })
  return head + tail
}
