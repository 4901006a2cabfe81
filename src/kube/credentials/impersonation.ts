/** Headers for impersonating another user (`as` in a kubeconfig). */
import type { ApiEndpoint, EndpointSource } from "../endpoint.ts"
import type { Impersonation } from "./select-context.ts"

/**
 * One header line per group and value: client-node sends none of the groups, and `fetch` would join them into one group
 * with a comma in its name (kubernetes-client/javascript#2474).
 */
export const impersonationHeaders = ({ user, uid, groups, extra }: Impersonation): ApiEndpoint["headers"] => [
  ...(user === undefined ? [] : [["Impersonate-User", user] as const]),
  ...(uid === undefined ? [] : [["Impersonate-Uid", uid] as const]),
  ...groups.map((group) => ["Impersonate-Group", group] as const),
  ...extra.map(([key, value]) => [`Impersonate-Extra-${headerName(key)}`, value] as const),
]

/** Keys may contain any character; those not allowed in header names are percent-encoded, as in client-go. */
const headerName = (key: string): string =>
  Buffer.from(key)
    .toString("latin1")
    .replace(
      /[^!#$&'*+\-.^_`|~0-9A-Za-z]/g,
      (byte) => `%${byte.charCodeAt(0).toString(16).toUpperCase().padStart(2, "0")}`,
    )

// Acting as another user with the credentials of one who may impersonate them.

/** The same server and credentials, acting as `user`; replaces any impersonation in the kubeconfig. */
export const impersonating = (source: EndpointSource, user: Impersonation): EndpointSource => {
  const added = impersonationHeaders(user)
  let last: { readonly given: ApiEndpoint; readonly made: ApiEndpoint } | undefined
  return {
    async endpoint() {
      const given = await source.endpoint()
      // Returns the same object while nothing changes, because connections are kept per endpoint object.
      if (last?.given !== given) {
        const own = given.headers.filter(([name]) => !/^impersonate-/i.test(name))
        last = { given, made: { ...given, headers: [...own, ...added] } }
      }
      return last.made
    },
    onUnauthorized: () => source.onUnauthorized(),
    get problem() {
      return source.problem
    },
  }
}
