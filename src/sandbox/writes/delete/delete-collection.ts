/** DELETE of a collection: every object that matches the selectors, one after the other. */

import { objectFrame } from "../../../apiserver/forms/object-form.ts"
import { parseListRequest } from "../../../apiserver/list/list-options.ts"
import { pageOf } from "../../../apiserver/list/snapshot.ts"
import { type Change, keyOf, listItem } from "../../../apiserver/watch/change.ts"
import { refuse } from "../refusal.ts"
import type { WriteSurroundings } from "../surroundings.ts"
import { admitDeletion } from "../webhooks/admission-points.ts"
import type { WriteRequest, Written } from "../write-request.ts"
import { deleteObject, deletionWarnings } from "./delete.ts"
import { parseDeleteOptions } from "./delete-options.ts"

/** What the attempts of a deletion that webhooks are asked about share: each object is deleted as soon as they allow it. */
interface Progress {
  readonly revision: bigint
  readonly changes: ReadonlyArray<Change>
  deleted: number
}

/** Responds with the list of matching objects as they were before. Throws Refusal. */
export const deleteCollection = (around: WriteSurroundings, request: WriteRequest, warnings: string[]): Written => {
  const { resource, namespace, query } = request
  const kind = around.kindOf(resource)
  const options = parseDeleteOptions(request, around.registry)
  warnings.push(...deletionWarnings(resource, options))
  const wanted = parseListRequest(query, resource.namespaced && namespace !== "" ? namespace : undefined, resource)
  if ("type" in wanted) return refuse(wanted)
  const begin = (): Progress => {
    const { revision } = around.store
    return {
      revision,
      changes: pageOf(kind.collection.snapshotAt(revision), wanted.selection, 0, "").changes,
      deleted: 0,
    }
  }
  const progress = around.webhooks.areAny ? around.webhooks.once(begin) : begin()
  const { revision, changes } = progress
  const { before, after } = objectFrame(resource, { resourceVersion: revision })
  const items = changes.map((change) => Buffer.concat(listItem(change, resource)).toString("utf8"))
  for (const { namespace: at, name } of changes.slice(progress.deleted)) {
    const existing = kind.collection.live.get(keyOf(at, name))
    if (existing !== undefined)
      deleteObject(around, kind, existing, options, (stored) =>
        admitDeletion(around, kind, stored, "", options, warnings),
      )
    progress.deleted++
  }
  return { type: "written", status: 200, json: `${before}${items.join(",")}${after}`, warnings }
}
