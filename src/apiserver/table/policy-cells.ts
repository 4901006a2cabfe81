/** Cells of the rows of access, certificates, policies, flow control and devices (kubernetes/pkg/printers/internalversion, 1.34.4). */
import { list, member, text as textIn } from "../kinds/json-member.ts"
import { type Column, humanDuration, texts } from "./columns.ts"

const subjects =
  (kind: string): Column =>
  (binding) =>
    list(binding, "subjects")
      .filter((subject) => textIn(subject, "kind") === kind)
      .map(
        (subject) => `${kind === "ServiceAccount" ? `${textIn(subject, "namespace")}/` : ""}${textIn(subject, "name")}`,
      )
      .join(", ")

export const boundRole: Column = (binding) =>
  `${textIn(binding, "roleRef", "kind")}/${textIn(binding, "roleRef", "name")}`
export const boundUsers = subjects("User")
export const boundGroups = subjects("Group")
export const boundAccounts = subjects("ServiceAccount")

export const certificateDuration: Column = (request) => {
  const seconds = member(request, "spec", "expirationSeconds")
  return typeof seconds === "number" ? humanDuration(seconds * 1000) : "<none>"
}

export const certificateState: Column = (request) => {
  const types = new Set(texts(list(request, "status", "conditions"), "type"))
  const states = [
    types.has("Denied") ? "Denied" : types.has("Approved") ? "Approved" : "Pending",
    ...(types.has("Failed") ? ["Failed"] : []),
    ...(textIn(request, "status", "certificate") === "" ? [] : ["Issued"]),
  ]
  return states.join(",")
}

export const policyParameters: Column = (policy) => {
  const kind = member(policy, "spec", "paramKind")
  return kind === undefined ? "<unset>" : `${textIn(kind, "apiVersion")}/${textIn(kind, "kind")}`
}

export const bindingParameters: Column = (binding) => {
  const reference = member(binding, "spec", "paramRef")
  return reference === undefined ? "<unset>" : `${textIn(reference, "namespace") || "*"}/${textIn(reference, "name")}`
}

export const isDangling: Column = (schema) => {
  const dangling = list(schema, "status", "conditions").find((condition) => textIn(condition, "type") === "Dangling")
  return textIn(dangling, "status") || "?"
}

export const claimState: Column = (claim) => {
  const isAllocated = member(claim, "status", "allocation") !== undefined
  const isDeleted = member(claim, "metadata", "deletionTimestamp") !== undefined
  const isReserved = list(claim, "status", "reservedFor").length > 0
  const states = [
    ...(isDeleted ? ["deleted"] : []),
    ...(isAllocated ? ["allocated"] : isDeleted ? [] : ["pending"]),
    ...(isAllocated && isReserved ? ["reserved"] : []),
  ]
  return states.join(",")
}
