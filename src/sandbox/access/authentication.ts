/**
 * Finds out who sends a request: by the certificate of its connection, or by its bearer token, which is the sandbox's own, a
 * user's or a ServiceAccount's. Who shows nothing is anonymous, who shows a wrong token is refused.
 */

import type { IncomingMessage } from "node:http"
import { TLSSocket } from "node:tls"
import type { RequestUser } from "../../apiserver/index.ts"
import { type AccountTokens, issuer, type TokenOwner } from "./account-tokens.ts"
import { anonymous, asAuthenticated, everybody } from "./users.ts"

/** A user whom the sandbox knows by a token, as from the real server's token file. */
export interface SandboxUser {
  readonly token: string
  readonly username: string
  readonly uid?: string
  /** `system:authenticated` is added. Default: no others. */
  readonly groups?: ReadonlyArray<string>
  /** Default: none. */
  readonly extra?: Readonly<Record<string, ReadonlyArray<string>>>
}

export class Authenticator {
  /** Of a user who may do everything; `undefined`: there is none. */
  ownToken: string | undefined
  readonly #accounts: AccountTokens
  readonly #users: ReadonlyMap<string, RequestUser>

  constructor(accounts: AccountTokens, ownToken: string | undefined, users: ReadonlyArray<SandboxUser> = []) {
    this.ownToken = ownToken
    this.#accounts = accounts
    this.#users = new Map(users.map(({ token, groups = [], ...user }) => [token, asAuthenticated({ ...user, groups })]))
  }

  /** `undefined`: 401. */
  userOf({ socket, headers }: IncomingMessage): RequestUser | undefined {
    const certified = socket instanceof TLSSocket ? certifiedUser(socket) : undefined
    if (certified !== undefined) return certified
    const [, token] = /^bearer (\S+)/i.exec(headers.authorization?.trim() ?? "") ?? []
    if (token === undefined) return anonymous
    const owner = this.ownerOf(token, [issuer])
    return owner.type === "valid" ? owner.user : undefined
  }

  /** `wanted`: audiences, at least one of which the token must be for. */
  ownerOf(token: string, wanted: ReadonlyArray<string>): TokenOwner {
    const known = token === this.ownToken ? everybody : this.#users.get(token)
    if (known === undefined) return this.#accounts.ownerOf(token, wanted)
    if (!wanted.includes(issuer)) return { type: "invalid", problem: "" }
    return { type: "valid", user: known, audiences: [issuer] }
  }
}

/** The common name is the user, each organization a group. */
const certifiedUser = (socket: TLSSocket): RequestUser | undefined => {
  if (!socket.authorized) return undefined
  const { CN: name, O: organizations = [] } = socket.getPeerCertificate().subject ?? {}
  if (typeof name !== "string") return undefined
  return asAuthenticated({ username: name, groups: [organizations].flat() })
}
