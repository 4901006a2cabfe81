/** The report that the page's own file contains. */

import type { PageDocument } from "../../page/document.ts"

/** `undefined`: the page is of something else. */
export const inlinedDocument = (document: Document): PageDocument | undefined => {
  const text = document.getElementById("source")?.textContent
  const source: unknown = text == null ? undefined : JSON.parse(text)
  if (typeof source !== "object" || source === null || !("document" in source)) return undefined
  const { document: found } = source
  return isDocument(found) ? found : undefined
}

/** The file was written by the same version of this program as its script. */
const isDocument = (value: unknown): value is PageDocument =>
  typeof value === "object" && value !== null && "blocks" in value && Array.isArray(value.blocks)
