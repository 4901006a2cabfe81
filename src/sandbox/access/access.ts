/** Authentication and authorization of a sandbox, put together over its store. */

import type { RequestUser } from "../../apiserver/access-control.ts"
import type { Resource } from "../../apiserver/kinds/resources.ts"
import type { Authorizer } from "../rbac/access-attributes.ts"
import type { RuleBook } from "../rbac/rule-book.ts"
import type { MutableObject } from "../rules/kind-rules.ts"
import type { ObjectStore } from "../store/object-store.ts"
import { refuse } from "../writes/refusal.ts"
import type { AccountTokens } from "./account-tokens.ts"
import { Authenticator, type SandboxUser } from "./authentication.ts"
import { confirmGrant, isGrant } from "./escalation.ts"
import { forbiddenAccess } from "./forbidden.ts"
import { MastersFirst, RequestGate } from "./request-gate.ts"
import { StoredRules } from "./stored-rules.ts"

/** How a write came, for the checks that need its content. */
export interface Caller {
  readonly user: RequestUser
  /** The verb that the user may use. */
  readonly verb: string
  /** The name in the path; empty for a collection. */
  readonly pathName: string
}

export class Access {
  readonly authenticator: Authenticator
  readonly authorizer: Authorizer
  readonly book: RuleBook
  readonly gate: RequestGate
  readonly #rules: StoredRules

  constructor(
    store: ObjectStore,
    tokens: AccountTokens,
    ownToken: string | undefined,
    users?: ReadonlyArray<SandboxUser>,
  ) {
    this.#rules = new StoredRules(store)
    this.book = this.#rules.book
    this.authorizer = new MastersFirst(this.book)
    this.authenticator = new Authenticator(tokens, ownToken, users)
    this.gate = new RequestGate(this.authenticator, this.authorizer)
  }

  /** Call it after the store's history has been replaced. */
  rebuild(): void {
    this.#rules.rebuild()
  }

  /** An update or an apply that creates needs the right to create as well. Throws Refusal. */
  confirmCreation({ user, verb, pathName }: Caller, { gvk, plural }: Resource, namespace: string): void {
    if (verb === "create") return
    const about = { type: "resource", group: gvk.group, resource: plural, subresource: "", namespace } as const
    const attributes = { ...about, verb: "create", name: pathName }
    const { isAllowed, reason } = this.authorizer.authorize(user, attributes)
    if (!isAllowed) refuse(forbiddenAccess(user, attributes, reason))
  }

  /** Nobody grants what they do not have. `before`: what is replaced. Throws Refusal. */
  confirmGrant(
    { user, pathName }: Caller,
    resource: Resource,
    namespace: string,
    object: MutableObject,
    before?: MutableObject,
  ): void {
    if (isGrant(resource))
      confirmGrant(this.authorizer, this.book, { user, resource, pathName, namespace, object, before })
  }
}
