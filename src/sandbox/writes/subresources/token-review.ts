/**
 * Identifies the owner of a token: a ServiceAccount's token is that account's, according to its own claims and audiences;
 * any other is that of the only user. Nothing is verified, and nothing expires.
 */

import { child, isFields, text, texts } from "../../rules/fields.ts"
import type { Fields } from "../../rules/kind-rules.ts"

/** The user of every client, with all the rights that it has in effect. */
export const everybody = { username: "sandbox", uid: "sandbox", groups: ["system:masters", "system:authenticated"] }

/** The audience of the server itself. */
const issuer = "https://kubernetes.default.svc"

/** The status of a TokenReview; `asked` are the requested audiences, none for the server itself. */
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
    // A token with a dot in it, which need not be a JSON web token.
    return undefined
  }
}
