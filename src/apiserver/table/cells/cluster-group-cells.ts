/** The rows of certificates, admission policies, flow control, runtimes, devices and addresses. */

import { list, member, number, text } from "../../kinds/json-member.ts"
import { ageOf, humanDuration } from "./age.ts"
import type { Cells } from "./printer.ts"

const nameOf = (object: unknown): string => text(object, "metadata", "name")

export const certificateCells: Cells = (object, now) => {
  const seconds = member(object, "spec", "expirationSeconds")
  return [
    nameOf(object),
    ageOf(object, now),
    text(object, "spec", "signerName") || "<none>",
    text(object, "spec", "username"),
    typeof seconds === "number" ? humanDuration(seconds * 1000) : "<none>",
    certificateState(object),
  ]
}

const certificateState = (object: unknown): string => {
  const types = new Set(list(object, "status", "conditions").map((condition) => text(condition, "type")))
  const states = [
    types.has("Denied") ? "Denied" : types.has("Approved") ? "Approved" : "Pending",
    ...(types.has("Failed") ? ["Failed"] : []),
    ...(text(object, "status", "certificate") === "" ? [] : ["Issued"]),
  ]
  return states.join(",")
}

export const admissionPolicyCells: Cells = (object, now) => {
  const kind = member(object, "spec", "paramKind")
  const parameters = kind == null ? "<unset>" : `${text(kind, "apiVersion")}/${text(kind, "kind")}`
  return [nameOf(object), list(object, "spec", "validations").length, parameters, ageOf(object, now)]
}

export const admissionPolicyBindingCells: Cells = (object, now) => {
  const reference = member(object, "spec", "paramRef")
  const [namespace, name] = [text(reference, "namespace"), text(reference, "name")]
  const parameters = reference == null ? "<unset>" : namespace === "" ? `*/${name}` : `${namespace}/${name}`
  return [nameOf(object), text(object, "spec", "policyName"), parameters, ageOf(object, now)]
}

export const flowSchemaCells: Cells = (object, now) => {
  const dangling = list(object, "status", "conditions").find((condition) => text(condition, "type") === "Dangling")
  return [
    nameOf(object),
    text(object, "spec", "priorityLevelConfiguration", "name"),
    number(object, "spec", "matchingPrecedence"),
    text(object, "spec", "distinguisherMethod", "type") || "<none>",
    ageOf(object, now),
    text(dangling, "status") || "?",
  ]
}

export const priorityLevelCells: Cells = (object, now) => {
  const amount = (...path: ReadonlyArray<string>): number | string => {
    const value = member(object, "spec", "limited", ...path)
    return typeof value === "number" ? value : "<none>"
  }
  const queuing = (name: string): number | string => amount("limitResponse", "queuing", name)
  return [
    nameOf(object),
    text(object, "spec", "type"),
    amount("nominalConcurrencyShares"),
    queuing("queues"),
    queuing("handSize"),
    queuing("queueLengthLimit"),
    ageOf(object, now),
  ]
}

export const runtimeClassCells: Cells = (object, now) => [nameOf(object), text(object, "handler"), ageOf(object, now)]

export const nameAndAgeCells: Cells = (object, now) => [nameOf(object), ageOf(object, now)]

export const resourceClaimCells: Cells = (object, now) => {
  const isAllocated = member(object, "status", "allocation") != null
  const isDeleted = member(object, "metadata", "deletionTimestamp") != null
  const isReserved = list(object, "status", "reservedFor").length > 0
  const states = [
    ...(isDeleted ? ["deleted"] : []),
    ...(isAllocated ? ["allocated"] : isDeleted ? [] : ["pending"]),
    ...(isAllocated && isReserved ? ["reserved"] : []),
  ]
  return [nameOf(object), states.join(","), ageOf(object, now)]
}

export const resourceSliceCells: Cells = (object, now) => [
  nameOf(object),
  text(object, "spec", "nodeName"),
  text(object, "spec", "driver"),
  text(object, "spec", "pool", "name"),
  ageOf(object, now),
]

/** One cell more than there are columns, as the real server sends it. */
export const ipAddressCells: Cells = (object, now) => [
  nameOf(object),
  parentText(member(object, "spec", "parentRef")),
  ageOf(object, now),
]

const parentText = (parent: unknown): string => {
  if (parent == null) return "<none>"
  const group = text(parent, "group")
  const resource = `${text(parent, "resource")}${group === "" ? "" : `.${group}`}`
  return [resource, text(parent, "namespace"), text(parent, "name")].filter((part) => part !== "").join("/")
}

export const serviceCidrCells: Cells = (object, now) => [
  nameOf(object),
  list(object, "spec", "cidrs").join(","),
  ageOf(object, now),
]
