/**
 * What an entry of an audit log says of who wrote what.
 *
 * A response names the version that the object has after the request, and a request that changes nothing returns the version that another one
 * wrote. So a write is certain only if it made the object, or named a version before it that is not the one after it. Requests that change nothing for
 * certain are left out.
 */
import { type AuthoredWrite, type JsonObject, memberIn, objectIn, objectsIn, textIn } from "../../trace/index.ts"
import { factsOf, isFinished, outlivesDeletion, wouldOutliveDeletion } from "../lives/object-facts.ts"
import { type AuditedWrite, isWholeObject } from "../shapes/audited-write.ts"

/** What a write did to which objects; none if its entry does not say to which, or it changed nothing. */
export const authoredWrites = (write: AuditedWrite): ReadonlyArray<AuthoredWrite> => {
  const { author, group, resource, verb, subresource, received, time: completed } = write
  if (author === undefined) return []
  const action = subresource === "" ? verb : `${verb} ${subresource}`
  const common = { group, resource, action, received: Math.min(received, completed), completed, author }
  return effectsOf(write).map((effect) => ({ ...common, ...effect }))
}

type Effect = Pick<AuthoredWrite, "uid" | "effect" | "version" | "isCertain">

const removed = (uid: string, isCertain = true): ReadonlyArray<Effect> =>
  uid === "" ? [] : [{ uid, effect: "removed", version: "", isCertain }]

const effectsOf = (write: AuditedWrite): ReadonlyArray<Effect> => {
  const { verb, subresource, request, response } = write
  if (verb === "deletecollection") return collectionRemoved(request, response)
  if (subresource === "binding") {
    const uid = textIn(objectIn(request, "metadata"), "uid")
    return uid === "" ? [] : [{ uid, effect: "bound", version: "", isCertain: true }]
  }
  // An eviction names its pod by name alone.
  if (response === undefined || subresource === "eviction") return []
  if (verb === "delete") return deletion(response)
  const isScale = subresource === "scale"
  if (!isScale && !isWholeObject(subresource)) return []
  const { uid, resourceVersion: version } = factsOf(response)
  if (uid === "") return []
  // The object that a last finalizer was removed from is returned as it was sent, with the version before.
  if (!isScale && isFinished(response)) return removed(uid)
  const before = textIn(objectIn(request, "metadata"), "resourceVersion")
  if (version === "" || version === before) return []
  return [{ uid, effect: "wrote", version, isCertain: write.isCreation || before !== "" }]
}

/** The response is a Status with the UID of what is gone, or the object: marked, or gone. */
const deletion = (response: JsonObject): ReadonlyArray<Effect> => {
  if (memberIn(response, "kind") === "Status") return removed(textIn(objectIn(response, "details"), "uid"))
  const { uid, resourceVersion: version } = factsOf(response)
  if (!outlivesDeletion(response)) return removed(uid)
  return uid === "" || version === "" ? [] : [{ uid, effect: "wrote", version, isCertain: false }]
}

/** The response lists the objects as they were before, of which others may have been faster to remove some. */
const collectionRemoved = (request: JsonObject | undefined, response: JsonObject | undefined): ReadonlyArray<Effect> =>
  objectsIn(response, "items")
    .filter((item) => !wouldOutliveDeletion(item, request, true))
    .flatMap((item) => removed(factsOf(item).uid, false))
