/** What a Pod requests and may use in all, resource by resource (component-helpers resource.PodRequests, PodLimits). */

import { canonicalQuantity, quantityOf, thousandths } from "../../../kube/quantity.ts"
import { child, items } from "../../rules/fields.ts"
import type { Fields } from "../../rules/kind-rules.ts"

/** Quantities by the names of their resources. */
export type Amounts = Readonly<Record<string, unknown>>

/** The requests of a Pod by its `spec`. */
export const requestsOfPod = (spec: Fields | undefined): Amounts => total(spec, "requests")

/** The limits of a Pod by its `spec`. */
export const limitsOfPod = (spec: Fields | undefined): Amounts => total(spec, "limits")

/**
 * Containers and sidecars together, or the largest init container with the sidecars started before it, whichever is more; plus the
 * overhead, which is added to limits only where there are some.
 */
const total = (spec: Fields | undefined, member: "requests" | "limits"): Amounts => {
  const amountsOf = (container: Fields): Amounts => child(child(container, "resources"), member) ?? {}
  let sidecars: Amounts = {}
  let starting: Amounts = {}
  for (const container of items(spec, "initContainers")) {
    const amounts = amountsOf(container)
    if (container.restartPolicy === "Always") {
      sidecars = combined(sidecars, amounts, sum)
      starting = combined(starting, sidecars, larger)
    } else starting = combined(starting, combined(sidecars, amounts, sum), larger)
  }
  const running = items(spec, "containers")
    .map(amountsOf)
    .reduce((all, one) => combined(all, one, sum), sidecars)
  const used = combined(running, starting, larger)
  const overhead = Object.entries(child(spec, "overhead") ?? {}).filter(
    ([name]) => member === "requests" || used[name] !== undefined,
  )
  return combined(used, Object.fromEntries(overhead), sum)
}

const combined = (left: Amounts, right: Amounts, combine: (left: unknown, right: unknown) => unknown): Amounts => {
  const result: Record<string, unknown> = { ...left }
  for (const [name, amount] of Object.entries(right))
    result[name] = result[name] === undefined ? amount : combine(result[name], amount)
  return result
}

const larger = (left: unknown, right: unknown): unknown =>
  (quantityOf(right) ?? 0) > (quantityOf(left) ?? 0) ? right : left

/** The sum of two quantities, written in the family of the first: `1Gi` and `512Mi` are `1536Mi`. */
export const sum = (left: unknown, right: unknown): unknown => added(left, right, 1)

/** The difference of two quantities, not below 0. */
export const difference = (left: unknown, right: unknown): unknown => added(left, right, -1)

const added = (left: unknown, right: unknown, sign: 1 | -1): unknown => {
  const first = quantityOf(left) === 0 ? right : left
  const isBinary = /[KMGTPE]i$/.test(String(first))
  if (!isBinary) {
    const thousands = thousandths(left) + sign * thousandths(right)
    return canonicalQuantity(`${Math.max(0, thousands)}m`)
  }
  const bytes = Math.max(0, (quantityOf(left) ?? 0) + sign * (quantityOf(right) ?? 0))
  return bytes % 1024 === 0 ? canonicalQuantity(`${bytes / 1024}Ki`) : String(bytes)
}
