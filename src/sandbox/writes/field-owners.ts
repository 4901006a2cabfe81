/** The owners of fields after a write that is not an apply. */

import { apiVersionOf } from "../../kube/offline.ts"
import { asJson, type JsonObject } from "../patch/json/json-value.ts"
import { trackUpdate } from "../patch/managed-fields/track-update.ts"
import type { MutableObject, Subresource } from "../rules/kind-rules.ts"
import { timestamp } from "../store/stamps.ts"
import type { WritableKind, WriteSurroundings } from "./surroundings.ts"

const status = [["status"]]
/** A request for a certificate never changes, and the server writes part of it: its fields have no owner. */
const signing = [["spec"], ["status"]]
const nothing: JsonObject = {}

/** The fields that the endpoint of the object itself leaves to `/status`. */
export const resetFieldsOf = ({ resource }: WritableKind): ReadonlyArray<ReadonlyArray<string>> | undefined =>
  resource.subresources?.includes("approval") === true
    ? signing
    : resource.subresources?.includes("status") === true
      ? status
      : undefined

/** Call it before the kind's rules fill in what the client omitted. */
export const trackCreation = (
  around: WriteSurroundings,
  kind: WritableKind,
  object: MutableObject,
  manager: string,
): unknown =>
  trackUpdate({
    type: kind.type,
    before: kind.resource.custom === true ? nothing : undefined,
    after: asJson(object),
    manager,
    apiVersion: apiVersionOf(kind.resource.gvk),
    operation: "Update",
    time: timestamp(around.clock),
    resetFields: resetFieldsOf(kind),
  })

/** Call it after the kind's rules have copied what the endpoint does not change. */
export const trackReplacement = (
  around: WriteSurroundings,
  kind: WritableKind,
  before: MutableObject,
  after: MutableObject,
  manager: string,
  subresource: Subresource | "finalize",
): unknown =>
  trackUpdate({
    type: kind.type,
    before: asJson(before),
    after: asJson(after),
    manager,
    apiVersion: apiVersionOf(kind.resource.gvk),
    operation: "Update",
    time: timestamp(around.clock),
    subresource,
  })
