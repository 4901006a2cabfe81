/**
 * Whose token it is: one that was made for a ServiceAccount is that account's, by what it says of itself, for the audiences
 * it names; every other is that of the one user there is. Nothing is verified, and nothing expires.
 */

import { child, isFields, text, texts } from "../../rules/fields.ts"
import type { Fields } from "../../rules/kind-rules.ts"

/** Whom every client is taken for: as powerful as it turns out to be. */
export const everybody = { username: "sandbox", uid: "sandbox", groups: ["system:masters", "system:authenticated"] }

/** The audience of the server itself. */
const issuer = "https://kubernetes.default.svc"

/** The status of a TokenReview; `asked` are its audiences, none for the server itself. */
export const reviewToken = (token: string, asked: ReadonlyArray<string>): Fields => {
  const wanted = asked.length === 0 ? [issuer] : asked
  const claims = claimsOf(token)
  const account = child(child(claims, "kubernetes.io"), "serviceaccount")
  const own = account === undefined ? [issuer] : texts(claims, "aud")
  const audiences = wanted.filter((audience) => own.includes(audience))
  if (audiences.length > 0) {
    return { authenticated: true, user: account === undefined ? everybody : userOf(claims, account), audiences }
  }
  return { user: {}, error: `invalid bearer token${account === undefined ? "" : " for these audiences"}` }
}

const userOf = (claims: Fields | undefined, account: Fields): Fields => {
  const namespace = text(child(claims, "kubernetes.io"), "namespace")
  return {
    username: `system:serviceaccount:${namespace}:${text(account, "name")}`,
    uid: text(account, "uid"),
    groups: ["system:serviceaccounts", `system:serviceaccounts:${namespace}`, "system:authenticated"],
    extra: { "authentication.kubernetes.io/credential-id": [`JTI=${text(claims, "jti")}`] },
  }
}

/** The payload of a JSON web token; `undefined` for anything else. */
const claimsOf = (token: string): Fields | undefined => {
  const [, payload] = token.split(".")
  if (payload === undefined) return undefined
  try {
    const claims: unknown = JSON.parse(Buffer.from(payload, "base64url").toString("utf8"))
    return isFields(claims) ? claims : undefined
  } catch {
    // A token with a dot in it, which is any token.
    return undefined
  }
}
