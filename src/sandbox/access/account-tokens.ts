/**
 * Tokens of ServiceAccounts: JSON web tokens signed with a key of the sandbox's own (ES256), made when the first one is needed. A
 * token is valid while its ServiceAccount exists, and the object that it is bound to, if any, both with the UID that they had.
 */

import { createHash, generateKeyPairSync, type KeyObject, sign, verify } from "node:crypto"
import type { RequestUser } from "../../apiserver/index.ts"
import type { Clock } from "../../clock.ts"
import { quotedList } from "../rbac/rule-coverage.ts"
import { child, fieldsOf, number, text, texts } from "../rules/fields.ts"
import type { Fields } from "../rules/kind-rules.ts"
import type { ObjectStore } from "../store/object-store.ts"
import { liveObject } from "./stored-rules.ts"
import { accountGroups, accountUsername, authenticated } from "./users.ts"

/** Who makes the tokens, and the audience of the server itself. */
export const issuer = "https://kubernetes.default.svc"

/** The owner of a token; or why it has none, which is empty for text that is not a token of this server at all. */
export type TokenOwner =
  | { readonly type: "valid"; readonly user: RequestUser; readonly audiences: ReadonlyArray<string> }
  | { readonly type: "invalid"; readonly problem: string }

/** Seconds by which clocks may differ: the real server's. */
const leeway = 60

interface SigningKey {
  readonly id: string
  readonly privateKey: KeyObject
  readonly publicKey: KeyObject
}

export class AccountTokens {
  readonly #store: ObjectStore
  readonly #clock: Clock
  #key: SigningKey | undefined

  constructor(store: ObjectStore, clock: Clock) {
    this.#store = store
    this.#clock = clock
  }

  sign(claims: Fields): string {
    this.#key ??= newKey()
    const head = `${encoded({ alg: "ES256", kid: this.#key.id })}.${encoded(claims)}`
    const signature = sign("sha256", Buffer.from(head), { key: this.#key.privateKey, dsaEncoding })
    return `${head}.${signature.toString("base64url")}`
  }

  /** `wanted`: at least one of them must be an audience of the token. */
  ownerOf(token: string, wanted: ReadonlyArray<string>): TokenOwner {
    const [head = "", payload = "", signature, ...rest] = token.split(".")
    const claims = decoded(payload)
    if (signature === undefined || rest.length > 0 || text(claims, "iss") !== issuer) return invalid("")
    const key = text(decoded(head), "kid") === this.#key?.id ? this.#key : undefined
    if (key === undefined) return invalid("invalid signature, no keys found")
    const isSigned = verify(
      "sha256",
      Buffer.from(`${head}.${payload}`),
      { key: key.publicKey, dsaEncoding },
      Buffer.from(signature, "base64url"),
    )
    if (!isSigned) return invalid("go-jose/go-jose: error in cryptographic primitive")
    const own = texts(claims, "aud")
    const audiences = own.filter((audience) => wanted.includes(audience))
    if (audiences.length === 0) {
      return invalid(`token audiences ${quotedList(own)} is invalid for the target audiences ${quotedList(wanted)}`)
    }
    const problem = this.#staleness(claims)
    return problem === undefined ? { type: "valid", user: userOf(claims), audiences } : invalid(problem)
  }

  #staleness(claims: Fields | undefined): string | undefined {
    const now = this.#clock.wallMicros() / 1_000_000
    if (now > (number(claims, "exp") ?? 0) + leeway) return "service account token has expired"
    if (now < (number(claims, "nbf") ?? 0) - leeway) return "service account token is not valid yet"
    const own = child(claims, "kubernetes.io")
    const namespace = text(own, "namespace")
    const account = child(own, "serviceaccount")
    const [name, uid] = [text(account, "name"), text(account, "uid")]
    const live = liveObject(this.#store, "v1.ServiceAccount", namespace, name)
    if (live === undefined) return `serviceaccounts ${JSON.stringify(name)} not found`
    if (live.uid !== uid) return `service account UID (${live.uid}) does not match claim (${uid})`
    // The node of a Pod's token is only for information.
    const bound = (["secret", "pod", "node"] as const).find((kind) => child(own, kind) !== undefined)
    return bound === undefined ? undefined : this.#bindingProblem(bound, namespace, child(own, bound))
  }

  #bindingProblem(kind: "secret" | "pod" | "node", namespace: string, claim: Fields | undefined): string | undefined {
    const name = boundKinds[kind]
    const live = liveObject(this.#store, `v1.${name}`, kind === "node" ? "" : namespace, text(claim, "name"))
    if (live === undefined) return "service account token has been invalidated"
    const uid = text(claim, "uid")
    if (live.uid === uid) return undefined
    return `${kind === "pod" ? kind : name} UID (${live.uid}) does not match service account ${kind} ref claim (${uid})`
  }
}

const boundKinds = { secret: "Secret", pod: "Pod", node: "Node" } as const

const dsaEncoding = "ieee-p1363"

const newKey = (): SigningKey => {
  const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" })
  const id = createHash("sha256")
    .update(publicKey.export({ type: "spki", format: "der" }))
    .digest("base64url")
  return { id, privateKey, publicKey }
}

const invalid = (problem: string): TokenOwner => ({ type: "invalid", problem })

const userOf = (claims: Fields | undefined): RequestUser => {
  const own = child(claims, "kubernetes.io")
  const namespace = text(own, "namespace")
  const account = child(own, "serviceaccount")
  const [pod, node] = [child(own, "pod"), child(own, "node")]
  return {
    username: accountUsername(namespace, text(account, "name")),
    uid: text(account, "uid"),
    groups: [...accountGroups(namespace), authenticated],
    extra: {
      "authentication.kubernetes.io/credential-id": [`JTI=${text(claims, "jti")}`],
      ...(node !== undefined && { "authentication.kubernetes.io/node-name": [text(node, "name")] }),
      ...(text(node, "uid") !== "" && { "authentication.kubernetes.io/node-uid": [text(node, "uid")] }),
      ...(pod !== undefined && {
        "authentication.kubernetes.io/pod-name": [text(pod, "name")],
        "authentication.kubernetes.io/pod-uid": [text(pod, "uid")],
      }),
    },
  }
}

const encoded = (part: object): string => Buffer.from(JSON.stringify(part)).toString("base64url")

/** `undefined` for anything but an object. */
const decoded = (part: string): Fields | undefined => {
  try {
    return fieldsOf(JSON.parse(Buffer.from(part, "base64url").toString("utf8")))
  } catch {
    // A token with dots in it, which need not be a JSON web token.
    return undefined
  }
}
