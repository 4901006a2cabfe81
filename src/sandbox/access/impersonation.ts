/**
 * Acting as another user: the headers `Impersonate-User`, `-Group`, `-Uid` and `-Extra-KEY`. The requesting user needs
 * the verb `impersonate` on each user, group, UID and extra value.
 */

import { type Failure, fail, type RequestUser } from "../../apiserver/index.ts"
import { type Authorizer, onResource, type ResourceAttributes } from "../rbac/access-attributes.ts"
import { forbiddenAccess } from "./forbidden.ts"
import { accountGroups, accountOf, anonymous, authenticated, unauthenticated } from "./users.ts"

/** Names in lower case; each with its lines. */
type HeaderLines = Readonly<Record<string, ReadonlyArray<string> | undefined>>

/** The headers as they were sent: name, value, name, value. */
export const isImpersonating = (rawHeaders: ReadonlyArray<string>): boolean =>
  rawHeaders.some((text, index) => index % 2 === 0 && /^impersonate-/i.test(text))

/** The user to act as, or the failure to send. `target`: of the request line, for the message. */
export const impersonated = (
  authorizer: Authorizer,
  requestor: RequestUser,
  headers: HeaderLines,
  target: string,
): RequestUser | Failure => {
  const wish = wishOf(headers)
  const wanted = permissionsOf(wish)
  if (wish.user === "") return wanted.length === 0 ? requestor : withoutUser(target, wish)
  for (const attributes of wanted) {
    const { isAllowed, reason } = authorizer.authorize(requestor, attributes)
    if (!isAllowed) return forbiddenAccess(requestor, attributes, reason)
  }
  return userOf(wish)
}

interface Wish {
  /** Empty for none. */
  readonly user: string
  readonly groups: ReadonlyArray<string>
  /** Empty for none. */
  readonly uid: string
  readonly extra: Readonly<Record<string, ReadonlyArray<string>>>
}

const extraPrefix = "impersonate-extra-"

const wishOf = (headers: HeaderLines): Wish => {
  const extra: Record<string, ReadonlyArray<string>> = {}
  for (const [name, values] of Object.entries(headers))
    if (name.startsWith(extraPrefix) && values !== undefined) extra[unescaped(name.slice(extraPrefix.length))] = values
  return {
    user: headers["impersonate-user"]?.[0] ?? "",
    groups: headers["impersonate-group"] ?? [],
    uid: headers["impersonate-uid"]?.[0] ?? "",
    extra,
  }
}

/** A key that is no valid escape counts as it is. */
const unescaped = (key: string): string => {
  try {
    return decodeURIComponent(key)
  } catch {
    return key
  }
}

const authentication = "authentication.k8s.io"

const permissionsOf = ({ user, groups, uid, extra }: Wish): ReadonlyArray<ResourceAttributes> => {
  const account = accountOf(user)
  const on = (resource: string, name: string, more: Partial<ResourceAttributes> = {}) =>
    onResource("impersonate", resource, { name, ...more })
  return [
    ...(account === undefined ? [] : [on("serviceaccounts", account.name, { namespace: account.namespace })]),
    ...(user === "" || account !== undefined ? [] : [on("users", user)]),
    ...groups.map((group) => on("groups", group)),
    ...Object.entries(extra).flatMap(([key, values]) =>
      values.map((value) => on("userextras", value, { group: authentication, subresource: key })),
    ),
    ...(uid === "" ? [] : [on("uids", uid, { group: authentication })]),
  ]
}

const userOf = ({ user, groups: given, uid, extra }: Wish): RequestUser => {
  const account = accountOf(user)
  const groups = given.length === 0 && account !== undefined ? accountGroups(account.namespace) : given
  const isAnonymous = user === anonymous.username
  const isComplete = groups.includes(unauthenticated) || (!isAnonymous && groups.includes(authenticated))
  return {
    username: user,
    ...(uid !== "" && { uid }),
    groups: isComplete ? groups : [...groups, isAnonymous ? unauthenticated : authenticated],
    ...(Object.keys(extra).length > 0 && { extra }),
  }
}

/** The real server prints the references that it made of the headers, as Go prints structs. */
const withoutUser = (target: string, { groups, uid, extra }: Wish): Failure => {
  const references = [
    ...groups.map((group) => `{Group  ${group}    }`),
    ...Object.entries(extra).flatMap(([key, values]) =>
      values.map((value) => `{UserExtra  ${value}  ${authentication}/v1  ${key}}`),
    ),
    ...(uid === "" ? [] : [`{UID  ${uid}  ${authentication}/v1  }`]),
  ]
  const problem = `requested [${references.join(" ")}] without impersonating a user`
  return fail(500, `Internal Server Error: ${JSON.stringify(target)}: ${problem}\n`, { plainText: true })
}
