/** Label sets and label selectors as one line of text, in the order and the spelling of apimachinery. */

import { type LabelSelectorObject, selectorText } from "../../../kube/label-selector.ts"
import { entries, list, member, text } from "../../kinds/json-member.ts"

/** `app=web,tier=front`, or `<none>`. */
export const formatLabels = (labels: unknown): string => {
  const pairs = entries(labels).map(([key, value]) => `${key}=${String(value)}`)
  return pairs.length === 0 ? "<none>" : pairs.sort().join(",")
}

/** As most columns show it: `<none>` for an empty selector, `<error>` for an unreadable one. */
export const formatSelector = (selector: unknown): string => {
  // Stored objects have been validated.
  const found = selectorText((selector ?? undefined) as LabelSelectorObject | undefined)
  return found === undefined ? "<error>" : found === "" ? "<none>" : found
}

/** Names and images of the containers of a pod template or a Pod's spec. */
export const containerCells = (spec: unknown): readonly [names: string, images: string] => {
  const containers = list(spec, "containers")
  return [
    containers.map((container) => text(container, "name")).join(","),
    containers.map((container) => text(container, "image")).join(","),
  ]
}

/** A placeholder such as `<none>` for an empty string. */
export const orElse = (value: string, otherwise: string): string => (value === "" ? otherwise : value)

/** Whether there is a condition of this type that is `True`. */
export const hasCondition = (object: unknown, type: string): boolean => {
  const condition = list(object, "status", "conditions").find((candidate) => text(candidate, "type") === type)
  return member(condition, "status") === "True"
}
