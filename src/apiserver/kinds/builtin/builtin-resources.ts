/**
 * The kinds that every sandbox serves from its start. `builtin-kinds.json` describes them as Kubernetes 1.34.4 does in
 * discovery (short names, categories, subresources) and in bookmarks (zero values), without `componentstatuses` and
 * without the subresources that need a kubelet.
 *
 * The groups are in the real server's order; a kind that is a view of another one comes after it.
 */

import { formatGvk } from "../../../kube/offline.ts"
import type { Resource, StoredAs } from "../resources.ts"
import { storedAsNewAutoscaler } from "./autoscaler.ts"
import described from "./builtin-kinds.json" with { type: "json" }
import { storedAsCoreEvent } from "./events.ts"

/** The kinds that are a view of another one. */
const views: Readonly<Record<string, StoredAs>> = {
  "events.k8s.io/v1.Event": storedAsCoreEvent,
  "autoscaling/v1.HorizontalPodAutoscaler": storedAsNewAutoscaler,
}

export const builtinResources: ReadonlyArray<Resource> = (described as ReadonlyArray<Resource>).map((resource) => {
  const storedAs = views[formatGvk(resource.gvk)]
  return storedAs === undefined ? resource : { ...resource, storedAs }
})
