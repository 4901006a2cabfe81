/** The rows of what governs access and precedence: role bindings, leases, priority classes. */

import { list, member, number, text } from "../../kinds/json-member.ts"
import { ageOf } from "./age.ts"
import type { Cells } from "./printer.ts"

const nameOf = (object: unknown): string => text(object, "metadata", "name")

export const leaseCells: Cells = (object, now) => [
  nameOf(object),
  text(object, "spec", "holderIdentity"),
  ageOf(object, now),
]

export const priorityClassCells: Cells = (object, now) => [
  nameOf(object),
  number(object, "value"),
  member(object, "globalDefault") === true,
  ageOf(object, now),
  text(object, "preemptionPolicy"),
]

export const roleBindingCells: Cells = (object, now) => {
  const subjects = (kind: string, format: (subject: unknown) => string): string =>
    list(object, "subjects")
      .filter((subject) => text(subject, "kind") === kind)
      .map(format)
      .join(", ")
  return [
    nameOf(object),
    `${text(object, "roleRef", "kind")}/${text(object, "roleRef", "name")}`,
    ageOf(object, now),
    subjects("User", (subject) => text(subject, "name")),
    subjects("Group", (subject) => text(subject, "name")),
    subjects("ServiceAccount", (subject) => `${text(subject, "namespace")}/${text(subject, "name")}`),
  ]
}

export const webhookConfigurationCells: Cells = (object, now) => [
  nameOf(object),
  list(object, "webhooks").length,
  ageOf(object, now),
]
