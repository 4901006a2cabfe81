/** The bodies of responses to writes. */

import { type Change, objectBytes, type Resource } from "../../../apiserver/index.ts"
import type { MutableObject } from "../../rules/kind-rules.ts"
import { encodeObject, stateOf, withVersion } from "../../store/object-encoding.ts"
import type { Written } from "../request/write-request.ts"

/** A state as the requested kind shows it: its stored bytes, unless the kind is a view of another. */
export const answerOf = (
  {
    resource,
    fromStored,
  }: { readonly resource: Resource; readonly fromStored: (stored: MutableObject) => MutableObject },
  change: Change,
  status: number,
  warnings: ReadonlyArray<string>,
): Written => {
  const json =
    resource.storedAs === undefined
      ? objectBytes(change)
      : withVersion(encodeObject(resource, fromStored(stateOf(change))), change.revision)
  return { type: "written", status, json, change, warnings }
}

/** The response to a deletion once the object is gone. */
export const deletedStatus = (resource: Resource, name: string, uid: string): string =>
  JSON.stringify({
    kind: "Status",
    apiVersion: "v1",
    metadata: {},
    status: "Success",
    details: {
      name,
      group: resource.gvk.group === "" ? undefined : resource.gvk.group,
      kind: resource.plural,
      uid,
    },
  })

/** The response of subresources that are actions (binding, eviction). */
export const doneStatus: Written = {
  type: "written",
  status: 201,
  json: '{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Success","code":201}',
  warnings: [],
}
