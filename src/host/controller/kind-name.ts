/** Kinds as controllers name them: `v1.Pod`, `slinky.dev/v1.SimplePod`. */

import { type GroupVersionKind, parseGvk } from "../../kube/gvk.ts"

/** Throws RangeError for text that names no kind: a mistake in the program. */
export const asGvk = (name: string): GroupVersionKind => {
  const gvk = parseGvk(name)
  if (gvk === undefined)
    throw new RangeError(`${JSON.stringify(name)} is not a kind such as v1.Pod or apps/v1.Deployment`)
  return gvk
}
