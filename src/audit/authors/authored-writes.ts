/**
 * What an entry of an audit log says of who wrote what.
 *
 * A response names the version that the object has after the request, and a request that changes nothing returns the version that another one
 * wrote. So a write is certain only if it made the object, or named a version before it that is not the one after it. Requests that change nothing for
 * certain are left out. An entry without a response names its object at most, and so does an eviction.
 */
import {
  type AuthoredWrite,
  type JsonObject,
  memberIn,
  objectIn,
  objectsIn,
  requestedObject,
  textIn,
} from "../../trace/index.ts"
import { factsOf, isFinished, outlivesDeletion, wouldOutliveDeletion } from "../lives/object-facts.ts"
import { type AuditedWrite, isWholeObject } from "../shapes/audited-write.ts"
import { cut } from "../shapes/author.ts"

/** What a write did to which objects; none if its entry does not say to which, or it changed nothing. */
export const authoredWrites = (write: AuditedWrite): ReadonlyArray<AuthoredWrite> => {
  const { author: client, group, resource, verb, subresource, fieldManager, received, time: completed } = write
  if (client === undefined) return []
  const author = {
    ...{ ...client, verb, ...(subresource !== "" && { subresource }) },
    ...(fieldManager !== undefined && { fieldManager }),
  }
  const times = { received: Math.min(received, completed), completed }
  const common = { group, resource, auditID: cut(write.id), ...times, author }
  return effectsOf(write).map((effect) => ({ ...common, ...effect }))
}

type Effect = Pick<AuthoredWrite, "object" | "effect" | "version" | "isCertain">

const removed = (uid: string, isCertain = true): ReadonlyArray<Effect> =>
  uid === "" ? [] : [{ object: uid, effect: "removed", version: "", isCertain }]

const requested = ({ namespace, name }: AuditedWrite, isCertain: boolean): Effect => ({
  ...{ object: requestedObject(namespace, name), effect: "requested", version: "", isCertain },
})

const effectsOf = (write: AuditedWrite): ReadonlyArray<Effect> => {
  const { verb, subresource, request, response, name } = write
  // The objects of its response are as they were before, so that their marks are not there.
  if (verb === "deletecollection")
    return [requested({ ...write, name: "" }, !write.isSelection), ...collectionRemoved(request, response)]
  if (subresource === "binding") {
    const uid = textIn(objectIn(request, "metadata"), "uid") || write.uid
    return uid === "" ? [] : [{ object: uid, effect: "bound", version: "", isCertain: true }]
  }
  const isScale = subresource === "scale"
  if (subresource === "eviction") return name === "" ? [] : [requested(write, false)]
  if (!isScale && !isWholeObject(subresource)) return []
  // The server made the name, which the reference does not have.
  if (response === undefined) return name === "" ? [] : [requested(write, write.isCreation)]
  if (verb === "delete") return deletion(response)
  const { uid, resourceVersion: version } = factsOf(response)
  if (uid === "") return []
  // The object that a last finalizer was removed from is returned as it was sent, with the version before.
  if (!isScale && isFinished(response)) return removed(uid)
  const before = textIn(objectIn(request, "metadata"), "resourceVersion")
  if (version === "" || version === before) return []
  return [{ object: uid, effect: "wrote", version, isCertain: write.isCreation || before !== "" }]
}

/** The response is a Status with the UID of what is gone, or the object: marked, or gone. */
const deletion = (response: JsonObject): ReadonlyArray<Effect> => {
  if (memberIn(response, "kind") === "Status") return removed(textIn(objectIn(response, "details"), "uid"))
  const { uid, resourceVersion: version } = factsOf(response)
  if (!outlivesDeletion(response)) return removed(uid)
  return uid === "" || version === "" ? [] : [{ object: uid, effect: "wrote", version, isCertain: false }]
}

/** The response lists the objects as they were before, of which others may have been faster to remove some. */
const collectionRemoved = (request: JsonObject | undefined, response: JsonObject | undefined): ReadonlyArray<Effect> =>
  objectsIn(response, "items")
    .filter((item) => !wouldOutliveDeletion(item, request, true))
    .flatMap((item) => removed(factsOf(item).uid, false))
