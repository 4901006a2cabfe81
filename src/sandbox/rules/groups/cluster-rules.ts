/** Certificates, flow control, runtimes and addresses. */

import { isIP } from "node:net"
import {
  forbidden,
  immutable,
  invalid,
  invalidEach,
  notSupported,
  required,
} from "../../../apiserver/answers/field-error.ts"
import { labelComplaints } from "../../../kube/names.ts"
import { child, isAbsent, isSame, items, list, number, spellAmounts, text, texts } from "../fields.ts"
import type { Kind } from "../kind.ts"

const requestFrame = /^-----BEGIN CERTIFICATE REQUEST-----\r?\n[A-Za-z0-9+/=\s]+-----END CERTIFICATE REQUEST-----\s*$/m

export const certificateSigningRequestKind: Kind = {
  defaults: { make: { spec: {}, status: {} } },
  newStatus: () => ({}),
  // Only its status ever changes.
  prepareUpdate: (object, old) => {
    object.spec = old.spec
  },
  check: (object, errors) => {
    const spec = child(object, "spec")
    const request = Buffer.from(text(spec, "request"), "base64").toString("latin1")
    if (!requestFrame.test(request))
      errors.push(invalid("spec.request", spec?.request ?? null, "PEM block type must be CERTIFICATE REQUEST"))
    const signer = text(spec, "signerName")
    if (signer === "") errors.push(required("spec.signerName"))
    else if (!/^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*\/[^/]+$/.test(signer))
      errors.push(
        invalid(
          "spec.signerName",
          signer,
          "must be a fully qualified domain and path of the form 'example.com/signer-name'",
        ),
      )
    if (list(spec, "usages").length === 0) errors.push(required("spec.usages"))
    const seconds = number(spec, "expirationSeconds")
    if (seconds !== undefined && seconds < 600)
      errors.push(
        invalid("spec.expirationSeconds", seconds, "may not specify a duration less than 600 seconds (10 minutes)"),
      )
  },
}

export const runtimeClassKind: Kind = {
  defaults: { within: { overhead: { within: { podFixed: { derive: spellAmounts } } } } },
  check: (object, errors) => {
    errors.push(...invalidEach("handler", text(object, "handler"), labelComplaints(text(object, "handler"))))
  },
  checkChange: (object, old, errors) => {
    if (object.handler !== old.handler) errors.push(immutable("handler", object.handler))
  },
}

const highestPrecedence = 10_000

export const flowSchemaKind: Kind = {
  defaults: { make: { spec: { set: { matchingPrecedence: 1000 } }, status: {} } },
  newStatus: () => ({}),
  generation: ["spec"],
  check: (object, errors) => {
    const spec = child(object, "spec")
    const precedence = number(spec, "matchingPrecedence") ?? 0
    if (precedence < 1 || precedence > highestPrecedence)
      errors.push(invalid("spec.matchingPrecedence", precedence, `must be in the range of 1 to ${highestPrecedence}`))
    if (text(child(spec, "priorityLevelConfiguration"), "name") === "")
      errors.push(required("spec.priorityLevelConfiguration.name", "must reference a priority level"))
    for (const [index, rule] of items(spec, "rules").entries()) {
      const field = `spec.rules[${index}]`
      if (list(rule, "subjects").length === 0)
        errors.push(required(`${field}.subjects`, "subjects must contain at least one value"))
      if (list(rule, "resourceRules").length === 0 && list(rule, "nonResourceRules").length === 0)
        errors.push(required(field, "at least one of resourceRules and nonResourceRules has to be non-empty"))
    }
  },
}

export const priorityLevelKind: Kind = {
  defaults: {
    make: {
      spec: {
        within: {
          exempt: { set: { nominalConcurrencyShares: 0, lendablePercent: 0 } },
          limited: {
            set: { nominalConcurrencyShares: 30, lendablePercent: 0 },
            within: {
              limitResponse: { within: { queuing: { set: { queues: 64, handSize: 8, queueLengthLimit: 50 } } } },
            },
          },
        },
      },
      status: {},
    },
  },
  newStatus: () => ({}),
  generation: ["spec"],
  check: (object, errors) => {
    const spec = child(object, "spec")
    const [type, limited] = [text(spec, "type"), child(spec, "limited")]
    if (type !== "Exempt" && type !== "Limited") {
      errors.push(notSupported("spec.type", type, ["Exempt", "Limited"]))
      return
    }
    if (type === "Exempt") {
      if (limited !== undefined) errors.push(forbidden("spec.limited", "must be nil if the type is not Limited"))
      return
    }
    if (limited === undefined) {
      errors.push(required("spec.limited", "must not be empty when type is Limited"))
      return
    }
    const response = child(limited, "limitResponse")
    const kind = text(response, "type")
    if (kind !== "Queue" && kind !== "Reject")
      errors.push(notSupported("spec.limited.limitResponse.type", kind, ["Queue", "Reject"]))
    if (kind === "Reject" && !isAbsent(response?.queuing))
      errors.push(
        forbidden("spec.limited.limitResponse.queuing", "must be nil if limited.limitResponse.type is not Limited"),
      )
    if (kind === "Queue" && isAbsent(response?.queuing))
      errors.push(
        required("spec.limited.limitResponse.queuing", "must not be empty if limited.limitResponse.type is Limited"),
      )
  },
}

const parent = "spec.parentRef"

export const ipAddressKind: Kind = {
  check: (object, errors) => {
    const name = text(object.metadata, "name")
    if (isIP(name) === 0) errors.push(invalid("metadata.name", name, "must be a valid IP address in canonical form"))
    const reference = child(child(object, "spec"), "parentRef")
    if (reference === undefined) errors.push(required(parent))
    else
      for (const key of ["resource", "name"]) if (text(reference, key) === "") errors.push(required(`${parent}.${key}`))
  },
  checkChange: (object, old, errors) => {
    if (!isSame(object.spec, old.spec)) errors.push(immutable("spec", object.spec))
  },
}

export const serviceCidrKind: Kind = {
  defaults: { make: { spec: {}, status: {} } },
  newStatus: () => ({}),
  check: (object, errors) => {
    const cidrs = texts(child(object, "spec"), "cidrs")
    if (cidrs.length === 0) errors.push(required("spec.cidrs", "at least one CIDR required"))
    if (cidrs.length > 2) errors.push(invalid("spec", { cidrs }, "may only hold up to 2 values"))
    for (const [index, cidr] of cidrs.entries()) {
      const [address = "", length = ""] = cidr.split("/")
      const longest = isIP(address) === 6 ? 128 : 32
      if (isIP(address) === 0 || !/^\d{1,3}$/.test(length) || Number(length) > longest)
        errors.push(
          invalid(`spec.cidrs[${index}]`, cidr, "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"),
        )
    }
  },
  checkChange: (object, old, errors) => {
    const [now, before] = [child(object, "spec")?.cidrs, child(old, "spec")?.cidrs]
    if (!isSame(now, before)) errors.push(immutable("spec.cidrs", now))
  },
}
