/** A Scale in the form that the client wants: as a table, with only its metadata, or as it is. */

import type { Failure } from "../answers/failure.ts"
import { compact } from "../answers/json-spacing.ts"
import type { Reply } from "../answers/reply.ts"
import type { Exchange } from "../http/exchange.ts"
import type { KubernetesObject } from "../kinds/kubernetes-object.ts"
import type { Resource } from "../kinds/resources.ts"
import { makeChange } from "../watch/change.ts"
import { negotiateForm } from "./negotiate.ts"

/** The kind of the document. It has no path of its own. */
const scaleResource: Resource = {
  gvk: { group: "autoscaling", version: "v1", kind: "Scale" },
  plural: "scales",
  namespaced: true,
}

/** `now`: ms since the Unix epoch. */
export const scaleReply = ({ request, query }: Exchange, reply: Reply, now: () => number): Reply | Failure => {
  const form = negotiateForm({ resource: scaleResource, accept: request.headers.accept, query, answer: "object", now })
  if (form === undefined || "type" in form) return form ?? reply
  const text = reply.json.toString()
  const { name, namespace = "", uid, resourceVersion } = (JSON.parse(text) as KubernetesObject).metadata
  const identity = { type: "ADDED", uid: String(uid), namespace, name, labels: undefined } as const
  const change = makeChange({ ...identity, revision: BigInt(String(resourceVersion)) }, text, compact)
  return { ...reply, json: form.object(change) }
}
