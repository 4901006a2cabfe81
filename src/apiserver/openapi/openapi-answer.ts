/** `/openapi/v3`: the index, or one document, which clients keep under its hash. */

import { type Failure, pageNotFound } from "../answers/failure.ts"
import type { Exchange } from "../http/exchange.ts"
import type { OpenApiDocuments } from "./openapi-document.ts"

/** `path` is what follows `/openapi/v3/`; empty for the index. Without documents, every path gets a 404. */
export const answerOpenApi = (
  exchange: Exchange,
  path: string,
  documents: OpenApiDocuments | undefined,
): Failure | undefined => {
  if (documents === undefined) return pageNotFound
  if (path === "") {
    // The body is JSON, but Go's server sets no content type and guesses text.
    exchange.plain(documents.index())
    return undefined
  }
  const answer = documents.document(path, exchange.query.get("hash") ?? undefined)
  if (answer === undefined) return pageNotFound
  if (answer.type === "moved") exchange.redirect(answer.location)
  else exchange.document(answer.body, answer.hash, answer.isImmutable)
  return undefined
}
