/** Devices and the claims to them. Which device a claim gets is decided by a scheduler; here claims are stored. */

import { type Errors, immutable, required } from "../../../apiserver/answers/field-error.ts"
import type { DefaultTable } from "../default-table.ts"
import { child, isSame, items, text } from "../fields.ts"
import type { Kind } from "../kind.ts"
import type { Fields } from "../kind-rules.ts"

const request: DefaultTable = {
  set: { allocationMode: "ExactCount" },
  each: { tolerations: { set: { operator: "Equal" } } },
  derive: (exact) => {
    if (exact.allocationMode === "ExactCount" && (exact.count === undefined || exact.count === 0)) exact.count = 1
  },
}

const claimSpec: DefaultTable = {
  make: {
    devices: {
      each: { requests: { within: { exactly: request }, each: { firstAvailable: request } } },
      // A list without `omitempty`.
      derive: (devices) => {
        devices.requests ??= null
      },
    },
  },
}

const checkClaim = (spec: Fields | undefined, field: string, errors: Errors): void => {
  for (const [index, one] of items(child(spec, "devices"), "requests").entries()) {
    const place = `${field}.devices.requests[${index}]`
    if (text(one, "name") === "") errors.push(required(`${place}.name`))
    const exactly = child(one, "exactly")
    if (exactly === undefined && items(one, "firstAvailable").length === 0)
      errors.push(required(place, "exactly one of `exactly` or `firstAvailable` is required"))
    if (exactly !== undefined && text(exactly, "deviceClassName") === "")
      errors.push(required(`${place}.exactly.deviceClassName`))
  }
}

export const deviceClassKind: Kind = {
  defaults: { make: { spec: {} } },
  generation: ["spec"],
}

export const resourceClaimKind: Kind = {
  defaults: { make: { spec: claimSpec, status: {} } },
  newStatus: () => ({}),
  check: (object, errors) => checkClaim(child(object, "spec"), "spec", errors),
  checkChange: (object, old, errors) => {
    if (!isSame(object.spec, old.spec)) errors.push(immutable("spec", object.spec))
  },
}

export const resourceClaimTemplateKind: Kind = {
  defaults: { make: { spec: { make: { metadata: {}, spec: claimSpec } } } },
  check: (object, errors) => checkClaim(child(child(object, "spec"), "spec"), "spec.spec", errors),
  checkChange: (object, old, errors) => {
    if (!isSame(object.spec, old.spec)) errors.push(immutable("spec", object.spec))
  },
}

/** A number without `omitempty`. */
const withGeneration = (pool: Fields): void => {
  pool.generation ??= 0
  pool.resourceSliceCount ??= 0
}

export const resourceSliceKind: Kind = {
  defaults: {
    make: {
      spec: {
        make: { pool: { derive: withGeneration } },
        derive: (spec) => {
          spec.devices ??= null
        },
      },
    },
  },
  generation: ["spec"],
  check: (object, errors) => {
    const spec = child(object, "spec")
    if (text(spec, "driver") === "") errors.push(required("spec.driver"))
    if (text(child(spec, "pool"), "name") === "") errors.push(required("spec.pool.name"))
  },
}
