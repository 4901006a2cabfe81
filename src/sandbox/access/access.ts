/** Authentication and authorization of a sandbox, put together over its store. */

import {
  type AccessControl,
  type Exchange,
  type Failure,
  flag,
  type RequestUser,
  type Resource,
  unauthorized,
} from "../../apiserver/index.ts"
import { pathSegmentComplaints, selectedName } from "../../kube/offline.ts"
import { type AccessAttributes, type Authorizer, onResource } from "../rbac/access-attributes.ts"
import type { RuleBook } from "../rbac/rule-book.ts"
import type { MutableObject } from "../rules/kind-rules.ts"
import type { ObjectStore } from "../store/object-store.ts"
import { refuse } from "../store/refusal.ts"
import type { AccountTokens } from "./account-tokens.ts"
import { Authenticator, type SandboxUser } from "./authentication.ts"
import { confirmGrant, isGrant } from "./escalation.ts"
import { forbiddenAccess } from "./forbidden.ts"
import { impersonated, isImpersonating } from "./impersonation.ts"
import { StoredRules } from "./stored-rules.ts"
import { masters } from "./users.ts"

// What a request is about, in the words of rules: the real server's reading of method, path and query.

/** Never fails: whether the path leads anywhere is not known yet, and a client without the right must not learn it. */
const attributesOf = ({ request: { method = "" }, path, route, query }: Exchange): AccessAttributes => {
  if (route.type !== "resource") return { type: "path", verb: method.toLowerCase(), path: decoded(path) }
  const { group, plural, name = "", subresource = "" } = route
  const verb = route.isWatch === true ? "watch" : (verbs[method] ?? "")
  // A Namespace counts as being in itself.
  const namespace = route.namespace ?? (plural === "namespaces" ? name : "")
  const about = { group, namespace, subresource: subresource.split("/", 1)[0] ?? "" }
  if (name !== "" || (verb !== "get" && verb !== "delete")) return onResource(verb, plural, { ...about, name })
  if (verb === "delete") return onResource("deletecollection", plural, about)
  const reading = flag(query, "watch") === true ? "watch" : "list"
  return onResource(reading, plural, { ...about, name: nameSelectedBy(query) })
}

const verbs: Readonly<Record<string, string>> = {
  GET: "get",
  HEAD: "get",
  POST: "create",
  PUT: "update",
  PATCH: "patch",
  DELETE: "delete",
}

/** `fieldSelector=metadata.name=x`: a rule for objects of that name is then enough. */
const nameSelectedBy = (query: URLSearchParams): string => {
  const name = selectedName(query.get("fieldSelector") ?? "")
  return pathSegmentComplaints(name).length === 0 ? name : ""
}

/** A broken escape never gets here: such a path is refused before. */
const decoded = (path: string): string => {
  try {
    return decodeURIComponent(path)
  } catch {
    // Escapes of bytes that are not UTF-8, which no rule can mean.
    return path
  }
}

/** How a write came, for the checks that need its content. */
export interface Caller {
  readonly user: RequestUser
  /** The verb that the user may use. */
  readonly verb: string
  /** The name in the path; empty for a collection. */
  readonly pathName: string
}

/** What every request over HTTP passes: authentication, impersonation and authorization, in this order. */
export class Access implements AccessControl {
  readonly authenticator: Authenticator
  /** Lets the members of `system:masters` do everything before anybody asks the rules, as the real server does. */
  readonly authorizer: Authorizer
  readonly book: RuleBook
  readonly #rules: StoredRules

  constructor(
    store: ObjectStore,
    tokens: AccountTokens,
    ownToken: string | undefined,
    users?: ReadonlyArray<SandboxUser>,
  ) {
    this.#rules = new StoredRules(store)
    this.book = this.#rules.book
    this.authorizer = {
      authorize: (user, attributes) =>
        user.groups.includes(masters) ? { isAllowed: true, reason: "" } : this.book.authorize(user, attributes),
    }
    this.authenticator = new Authenticator(tokens, ownToken, users)
  }

  admit(exchange: Exchange): Failure | undefined {
    const { request } = exchange
    const sender = this.authenticator.userOf(request)
    if (sender === undefined) return unauthorized
    const user = isImpersonating(request.rawHeaders)
      ? impersonated(this.authorizer, sender, request.headersDistinct, request.url ?? "")
      : sender
    if ("type" in user) return user
    const attributes = attributesOf(exchange)
    const { isAllowed, reason } = this.authorizer.authorize(user, attributes)
    if (!isAllowed) return forbiddenAccess(user, attributes, reason)
    exchange.user = user
    return undefined
  }

  /** Call it after the store's history has been replaced. */
  rebuild(): void {
    this.#rules.rebuild()
  }

  /** An update or an apply that creates needs the right to create as well. Throws Refusal. */
  confirmCreation({ user, verb, pathName }: Caller, { gvk, plural }: Resource, namespace: string): void {
    if (verb === "create") return
    const attributes = onResource("create", plural, { group: gvk.group, namespace, name: pathName })
    const { isAllowed, reason } = this.authorizer.authorize(user, attributes)
    if (!isAllowed) refuse(forbiddenAccess(user, attributes, reason))
  }

  /** Throws Refusal if users would grant rights that they do not have. `before`: what is replaced. */
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
