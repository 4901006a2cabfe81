/** Headers that make the server act as another user (`as` in a kubeconfig). */
import type { ApiEndpoint } from "../endpoint.ts"
import type { Impersonation } from "./settings.ts"

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

/** Keys may hold any character; those that no header name may hold are percent-encoded, as client-go does. */
const headerName = (key: string): string =>
  Buffer.from(key)
    .toString("latin1")
    .replace(
      /[^!#$&'*+\-.^_`|~0-9A-Za-z]/g,
      (byte) => `%${byte.charCodeAt(0).toString(16).toUpperCase().padStart(2, "0")}`,
    )
