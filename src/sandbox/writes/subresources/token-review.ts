/** Identifies the owner of a token. Without authorization, any token that is not a ServiceAccount's is that of the only user. */

import { issuer, type TokenOwner } from "../../access/account-tokens.ts"
import { everybody } from "../../access/users.ts"
import type { Fields } from "../../rules/kind-rules.ts"
import type { WriteSurroundings } from "../surroundings.ts"

/** The status of a TokenReview; `asked` are the requested audiences, none for the server itself. */
export const reviewToken = (around: WriteSurroundings, token: string, asked: ReadonlyArray<string>): Fields => {
  const wanted = asked.length === 0 ? [issuer] : asked
  const owner = ownerOf(around, token, wanted)
  if (owner.type === "valid") return { authenticated: true, user: owner.user, audiences: owner.audiences }
  const { problem } = owner
  return { user: {}, error: problem === "" ? "invalid bearer token" : `[invalid bearer token, ${problem}]` }
}

const ownerOf = ({ access, tokens }: WriteSurroundings, token: string, wanted: ReadonlyArray<string>): TokenOwner => {
  if (access !== undefined) return access.authenticator.ownerOf(token, wanted)
  const owner = tokens.ownerOf(token, wanted)
  const isOfOnlyUser = owner.type === "invalid" && owner.problem === "" && wanted.includes(issuer)
  return isOfOnlyUser ? { type: "valid", user: everybody, audiences: [issuer] } : owner
}
