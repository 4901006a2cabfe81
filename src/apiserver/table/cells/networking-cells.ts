/** The rows of networking.k8s.io and of EndpointSlices. */

import { type LabelSelectorObject, selectorText } from "../../../kube/label-selector.ts"
import { list, member, text } from "../../kinds/json-member.ts"
import { ageOf } from "./age.ts"
import type { Cells } from "./printer.ts"

const nameOf = (object: unknown): string => text(object, "metadata", "name")

/** The number of hosts, ports or addresses that are listed one by one. */
const shown = 3

export const networkPolicyCells: Cells = (object, now) => [
  nameOf(object),
  selectorText(member(object, "spec", "podSelector") as LabelSelectorObject) || "<none>",
  ageOf(object, now),
]

export const ingressCells: Cells = (object, now) => [
  nameOf(object),
  text(object, "spec", "ingressClassName") || "<none>",
  hostsText(list(object, "spec", "rules")),
  [
    ...new Set(
      list(object, "status", "loadBalancer", "ingress").map((entry) => text(entry, "ip") || text(entry, "hostname")),
    ),
  ]
    .filter((address) => address !== "")
    .sort()
    .join(","),
  list(object, "spec", "tls").length === 0 ? "80" : "80, 443",
  ageOf(object, now),
]

/** The server counts rules beyond the third, with a host or without. */
const hostsText = (rules: ReadonlyArray<unknown>): string => {
  const hosts = rules.map((rule) => text(rule, "host")).filter((host) => host !== "")
  if (hosts.length === 0) return "*"
  const first = hosts.slice(0, shown).join(",")
  return hosts.length > shown ? `${first} + ${rules.length - shown} more...` : first
}

export const ingressClassCells: Cells = (object, now) => {
  const parameters = member(object, "spec", "parameters")
  const group = text(parameters, "apiGroup")
  const kind = `${text(parameters, "kind")}${group === "" ? "" : `.${group}`}`
  return [
    nameOf(object),
    text(object, "spec", "controller"),
    parameters == null ? "<none>" : `${kind}/${text(parameters, "name")}`,
    ageOf(object, now),
  ]
}

export const endpointSliceCells: Cells = (object, now) => [
  nameOf(object),
  text(object, "addressType"),
  listed(
    list(object, "ports").map((port) => {
      const number = member(port, "port")
      return typeof number === "number" ? String(number) : text(port, "name")
    }),
  ),
  listed(list(object, "endpoints").flatMap((endpoint) => list(endpoint, "addresses").map(String))),
  ageOf(object, now),
]

const listed = (texts: ReadonlyArray<string>): string => {
  const first = texts.slice(0, shown).join(",")
  if (texts.length > shown) return `${first} + ${texts.length - shown} more...`
  return first || "<unset>"
}
