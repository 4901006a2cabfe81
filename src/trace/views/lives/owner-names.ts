/** The owner under which an object is drawn: its controller, else its first owner. */
import type { JsonObject } from "../../json/exact-json.ts"
import { groupKindOf, gvkOfReference } from "../../ownership/ownership.ts"
import { memberIn, objectsIn, textIn } from "./trace-object.ts"

/** An owner as an object names it. */
export interface OwnerName {
  /** `apps/v1.ReplicaSet`. */
  readonly gvk: string
  readonly name: string
  /** The empty string in traces without UIDs. */
  readonly uid: string
}

/** The owner of an object; `undefined` if it has none but itself. Unlike a replay, a drawing needs no UID. */
export const controllingOwner = (object: JsonObject, ownUid: string): OwnerName | undefined => {
  const references = objectsIn(memberIn(object, "metadata"), "ownerReferences")
  const owners = references.flatMap((reference) => {
    const [apiVersion, kind, name] = ["apiVersion", "kind", "name"].map((member) => textIn(reference, member))
    if (apiVersion === undefined || kind === undefined || name === undefined) return []
    const uid = textIn(reference, "uid") ?? ""
    if (uid !== "" && uid === ownUid) return []
    return [
      {
        owner: { gvk: gvkOfReference({ apiVersion, kind }), name, uid },
        isController: memberIn(reference, "controller") === true,
      },
    ]
  })
  return (owners.find(({ isController }) => isController) ?? owners[0])?.owner
}

/** What an owner without a UID is looked up by, in its owned object's namespace or in none. */
export const placeKey = (gvk: string, namespace: string, name: string): string =>
  `${groupKindOf(gvk)} ${namespace}/${name}`
