/** Acting as another user with the credentials of one who may impersonate them. */

import { impersonationHeaders } from "../credentials/impersonation.ts"
import type { Impersonation } from "../credentials/settings.ts"
import type { ApiEndpoint, EndpointSource } from "../endpoint.ts"

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
