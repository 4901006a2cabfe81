/** Steps for kinds of the whole cluster. */

import type { JsonObject } from "../../exact-json.ts"
import { get, inCluster, mergePatch, post, remove, type Step } from "../script.ts"

const table = { headers: { accept: "application/json;as=Table;g=meta.k8s.io;v=v1" } }

export const named = (apiVersion: string, kind: string, name: string, more: JsonObject): JsonObject => ({
  apiVersion,
  kind,
  metadata: { name },
  ...more,
})

/** An object `<ns>-x`: created, changed, shown, removed again. */
export const once = (
  groupVersion: string,
  plural: string,
  kind: string,
  more: JsonObject,
  change: JsonObject,
): readonly Step[] => {
  const path = inCluster(groupVersion, plural, "<ns>-x")
  return [
    post(`${plural}: create`, inCluster(groupVersion, plural), named(groupVersion, kind, "<ns>-x", more)),
    mergePatch(`${plural}: change`, path, change),
    get(`${plural}: table`, path, table),
    remove(`${plural}: delete`, path),
    get(`${plural}: is gone`, path),
  ]
}
