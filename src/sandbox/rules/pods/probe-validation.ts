/** Probes and lifecycle hooks. */

import {
  type Errors,
  forbidden,
  invalid,
  invalidEach,
  notSupported,
  required,
} from "../../../apiserver/answers/field-error.ts"
import { portComplaints, portNameComplaints } from "../../../kube/names.ts"
import { child, list, number, text } from "../fields.ts"
import type { Fields } from "../kind-rules.ts"
import { checkNotNegative } from "../values/number-validation.ts"

const checkPort = (value: unknown, field: string, errors: Errors): void => {
  if (typeof value === "string") errors.push(...invalidEach(field, value, portNameComplaints(value)))
  else {
    const port = typeof value === "number" ? value : 0
    errors.push(...invalidEach(field, port, portComplaints(port)))
  }
}

const handlers: ReadonlyArray<readonly [string, (handler: Fields, field: string, errors: Errors) => void]> = [
  [
    "exec",
    (handler, field, errors) => {
      if (list(handler, "command").length === 0) errors.push(required(`${field}.command`))
    },
  ],
  [
    "httpGet",
    (handler, field, errors) => {
      if (text(handler, "path") === "") errors.push(required(`${field}.path`))
      checkPort(handler.port, `${field}.port`, errors)
      const scheme = text(handler, "scheme")
      if (scheme !== "HTTP" && scheme !== "HTTPS")
        errors.push(notSupported(`${field}.scheme`, scheme, ["HTTP", "HTTPS"]))
    },
  ],
  ["tcpSocket", (handler, field, errors) => checkPort(handler.port, `${field}.port`, errors)],
  ["grpc", (handler, field, errors) => checkPort(handler.port, `${field}.port`, errors)],
  ["sleep", () => undefined],
]

const checkHandler = (holder: Fields, field: string, errors: Errors): void => {
  let found = 0
  for (const [key, check] of handlers) {
    const handler = child(holder, key)
    if (handler === undefined) continue
    if (found++ > 0) errors.push(forbidden(`${field}.${key}`, "may not specify more than 1 handler type"))
    else check(handler, `${field}.${key}`, errors)
  }
  if (found === 0) errors.push(required(field, "must specify a handler type"))
}

const probeNumbers = ["initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold", "failureThreshold"]

const checkProbe = (container: Fields, key: string, place: string, errors: Errors): void => {
  const probe = child(container, key)
  if (probe === undefined) return
  const field = `${place}.${key}`
  checkHandler(probe, field, errors)
  checkNotNegative(probe, probeNumbers, field, errors)
  const grace = number(probe, "terminationGracePeriodSeconds")
  if (grace !== undefined && grace <= 0)
    errors.push(invalid(`${field}.terminationGracePeriodSeconds`, grace, "must be greater than 0"))
  if (key === "readinessProbe") {
    if (grace !== undefined)
      errors.push(invalid(`${field}.terminationGracePeriodSeconds`, grace, "must not be set for readinessProbes"))
  } else if (number(probe, "successThreshold") !== 1)
    errors.push(invalid(`${field}.successThreshold`, probe.successThreshold, "must be 1"))
}

export const probes = ["livenessProbe", "readinessProbe", "startupProbe"]

/** Probes and hooks of a container that keeps running. */
export const checkProbes = (container: Fields, field: string, errors: Errors): void => {
  const lifecycle = child(container, "lifecycle")
  for (const key of ["postStart", "preStop"]) {
    const hook = child(lifecycle, key)
    if (hook !== undefined) checkHandler(hook, `${field}.lifecycle.${key}`, errors)
  }
  for (const key of probes) checkProbe(container, key, field, errors)
}
