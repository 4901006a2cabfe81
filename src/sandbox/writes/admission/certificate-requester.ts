/** Who asks for a certificate is written into the request by the server, whatever the client says. */

import type { Resource } from "../../../apiserver/kinds/resources.ts"
import { ensured } from "../../rules/fields.ts"
import type { MutableObject } from "../../rules/kind-rules.ts"
import { callerOf } from "../subresources/access-review.ts"
import type { WriteSurroundings } from "../surroundings.ts"

/** Sets the requester in a new CertificateSigningRequest; other objects stay as they are. */
export const nameRequester = (around: WriteSurroundings, { gvk }: Resource, object: MutableObject): void => {
  if (gvk.kind !== "CertificateSigningRequest" || gvk.group !== "certificates.k8s.io") return
  const { username, uid, groups, extra } = callerOf(around)
  const spec = ensured(object, "spec")
  Object.assign(spec, { username, uid, groups, extra: extra ?? {} })
  if (!spec.uid) delete spec.uid
  if (Object.keys(spec.extra as object).length === 0) delete spec.extra
}
