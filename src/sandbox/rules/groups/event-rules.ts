/** Events of the core group, and of `events.k8s.io`, which is stricter. */

import { type Errors, invalid, invalidEach, required } from "../../../apiserver/answers/field-error.ts"
import { qualifiedNameComplaints } from "../../../kube/names.ts"
import type { DefaultTable } from "../default-table.ts"
import { child, isAbsent, text } from "../fields.ts"
import type { Kind } from "../kind.ts"
import type { MutableObject } from "../kind-rules.ts"

const eventDefaults: DefaultTable = {
  make: { involvedObject: {}, source: {} },
  set: { reportingComponent: "", reportingInstance: "" },
  derive: (event) => {
    for (const key of ["firstTimestamp", "lastTimestamp", "eventTime"]) event[key] ??= null
  },
}

const checkEventNamespace = (event: MutableObject, errors: Errors, target: string): void => {
  const involved = text(child(event, target), "namespace")
  const own = text(event.metadata, "namespace")
  const dated = !isAbsent(event.eventTime)
  const homes = dated ? ["default", "kube-system"] : ["", "default"]
  const fits = involved === "" ? homes.includes(own) : dated || involved === own
  if (!fits) errors.push(invalid("involvedObject.namespace", involved, "does not match event.namespace"))
}

const checkDatedEvent = (
  event: MutableObject,
  errors: Errors,
  controller: string,
  limits: ReadonlyMap<string, number>,
): void => {
  if (isAbsent(event.eventTime)) return
  const name = text(event, controller)
  if (name === "") errors.push(required(controller))
  errors.push(...invalidEach(controller, name, qualifiedNameComplaints(name)))
  for (const [key, limit] of limits) {
    const value = text(event, key)
    if (value === "" && key !== "message" && key !== "note") errors.push(required(key))
    if (value.length > limit) errors.push(invalid(key, "", `can have at most ${limit} characters`))
  }
}

const textLimits = [
  ["reportingInstance", 128],
  ["action", 128],
  ["reason", 128],
] as const

export const eventKind: Kind = {
  defaults: eventDefaults,
  checkNew: (event, errors) => {
    checkEventNamespace(event, errors, "involvedObject")
    checkDatedEvent(event, errors, "reportingComponent", new Map([...textLimits, ["message", 1024]]))
  },
}

export const newEventKind: Kind = {
  defaults: {
    make: { regarding: {}, deprecatedSource: {} },
    derive: (event) => {
      for (const key of ["deprecatedFirstTimestamp", "deprecatedLastTimestamp", "eventTime"]) event[key] ??= null
    },
  },
  checkNew: (event, errors) => {
    checkEventNamespace(event, errors, "regarding")
    checkDatedEvent(event, errors, "reportingController", new Map([...textLimits, ["note", 1024]]))
    if (isAbsent(event.eventTime)) errors.push(required("eventTime"))
    const type = text(event, "type")
    if (type !== "Normal" && type !== "Warning") errors.push(invalid("type", "", `has invalid value: ${type}`))
  },
}
