import { duplicate, type Errors, invalid, invalidEach } from "../../../apiserver/answers/field-error.ts"
import { qualifiedNameComplaints } from "../../../kube/names.ts"
import { canonicalQuantity, quantityOf } from "../../../kube/quantity.ts"
import type { DefaultTable } from "../default-table.ts"
import { child, ensured, isEmptyMap, items, list, spellAmounts, text } from "../fields.ts"
import type { Kind } from "../kind.ts"
import type { Fields } from "../kind-rules.ts"

const sortedKeys = (map: Fields | undefined): ReadonlyArray<string> => Object.keys(map ?? {}).sort()

/** Checks that no quantity is negative. */
const checkAmounts = (amounts: Fields | undefined, field: string, errors: Errors): void => {
  for (const name of sortedKeys(amounts)) {
    const value = quantityOf(amounts?.[name])
    if (value !== undefined && value < 0)
      errors.push(
        invalid(`${field}[${name}]`, canonicalQuantity(amounts?.[name]), "must be greater than or equal to 0"),
      )
  }
}

const quotaResources = new Set(
  (
    "cpu memory ephemeral-storage requests.cpu requests.memory requests.storage requests.ephemeral-storage limits.cpu " +
    "limits.memory limits.ephemeral-storage pods resourcequotas services replicationcontrollers secrets " +
    "persistentvolumeclaims configmaps services.nodeports services.loadbalancers"
  ).split(" "),
)

export const resourceQuotaKind: Kind = {
  defaults: { make: { spec: { within: { hard: { derive: spellAmounts } } } }, set: { status: {} } },
  newStatus: () => ({}),
  check: (object, errors) => {
    const hard = child(child(object, "spec"), "hard")
    for (const name of sortedKeys(hard)) {
      const field = `spec.hard[${name}]`
      errors.push(...invalidEach(field, name, qualifiedNameComplaints(name)))
      if (!name.includes("/") && !quotaResources.has(name))
        for (const what of [
          "must be a standard resource type or fully qualified",
          "must be a standard resource for quota",
        ])
          errors.push(invalid(field, name, what))
      checkAmounts({ [name]: hard?.[name] }, "spec.hard", errors)
    }
  },
}

/** A limit replaces an absent default, a default an absent request. */
const fillLimits = (item: Fields): void => {
  if (item.type !== "Container") return
  const [standard, requests] = [ensured(item, "default"), ensured(item, "defaultRequest")]
  const fill = (into: Fields, from: Fields | undefined): void => {
    for (const key in from) if (!Object.hasOwn(into, key)) into[key] = from[key]
  }
  fill(standard, child(item, "max"))
  fill(requests, standard)
  fill(requests, child(item, "min"))
  for (const key of ["default", "defaultRequest"]) if (isEmptyMap(item[key])) delete item[key]
}

/** The list is always present: Go writes it as null when it is empty. */
const limits: DefaultTable = {
  each: { limits: { derive: fillLimits } },
  derive: (spec) => {
    if (list(spec, "limits").length === 0) spec.limits = null
  },
}

export const limitRangeKind: Kind = {
  defaults: { make: { spec: limits } },
  check: (object, errors) => {
    const seen = new Set<string>()
    for (const [index, item] of items(child(object, "spec"), "limits").entries()) {
      const type = text(item, "type")
      if (seen.has(type)) errors.push(duplicate(`spec.limits[${index}].type`, type))
      seen.add(type)
    }
  },
}
