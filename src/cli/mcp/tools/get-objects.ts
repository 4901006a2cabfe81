/** The tool get_objects: objects as they were at a moment, as `reel get` shows them. */

import { formatInstant } from "../../../local-time.ts"
import type { JsonObject, JsonValue } from "../../../trace/json/exact-json.ts"
import { isFieldPath, parseFieldPath, valuesAt } from "../../../trace/json/field-path.ts"
import { Misasked } from "../../command-line/exit-codes.ts"
import { objectOf, objectsOf, resourceOf } from "../../past/changes-of.ts"
import { readMoment } from "../../past/moments.ts"
import { exactKinds } from "../../past/object-name.ts"
import { namedCells } from "../../past/past-table.ts"
import { printedObject } from "../../past/printed-objects.ts"
import { itemBytes, pageBytes } from "../answer-page.ts"
import { pastTool, type ToolAnswering } from "../past-tool.ts"
import {
  at,
  fieldPath,
  fields,
  kindsIn,
  labels,
  namespace,
  optionalText,
  optionalWord,
  requiredText,
} from "../tool-parameters.ts"

type Form = "table" | "wide" | "name" | "json"

const parameters = {
  kind: requiredText(
    "kinds as with kubectl: pods, deploy, or exact: apps/v1.Deployment; several with commas: pods,services",
  ),
  name: optionalText("only the object of this name"),
  namespace,
  at,
  labels,
  fields,
  output: optionalWord<Form>(
    ["table", "wide", "name", "json"],
    "table: the columns of kubectl get; wide: more of them; name: names only; json: whole objects without managedFields. Default: table, or json with a name or a field",
  ),
  field: fieldPath(
    "of each object only the values at this path, such as spec.containers[*].image; for objects that are too long",
  ),
}

export const getObjects = pastTool({
  name: "get_objects",
  title: "Objects at a moment",
  description:
    "Kubernetes objects of a recorded cluster as they were at a moment, as `kubectl get` would have shown them then. Begin with output table, then ask for one object by name.",
  parameters,
  countsFurther: false,
  answer: async (given, answering) => {
    const { page } = answering
    const kinds = await exactKinds(answering, kindsIn(given.kind))
    if (kinds.length === 0) throw new Misasked("kind names no kind")
    const moment = readMoment("at", given.at, answering)
    const isWhole = given.name !== undefined || given.field !== undefined
    const form = given.output ?? (isWhole ? "json" : "table")
    if (given.field !== undefined && form !== "json") throw new Misasked("field needs output json")
    const { name, namespace: within } = given
    // One more than the page: whether there are more is all that is said of them.
    const wanted = page.end + page.limit + 1
    const selection = { name, namespace: within, labels: given.labels, fields: given.fields, at: moment, limit: wanted }
    let isEmpty = true
    for (const kind of kinds) {
      const itemOf = await itemsOf(answering, kind, { form, moment, field: given.field, isKindNamed: kinds.length > 1 })
      let count = 0
      for await (const found of objectsOf(answering, kind, selection)) {
        if (count++ >= wanted) break
        isEmpty = false
        page.offer(() => itemOf(found), name === undefined ? itemBytes : pageBytes - 1024)
      }
    }
    if (isEmpty && name !== undefined) answering.say(`there was no ${kinds.join(" or ")} ${name} at that moment`)
  },
})

interface ItemForm {
  readonly form: Form
  /** µs since the Unix epoch. */
  readonly moment: number
  readonly field: string | undefined
  /** Whether the items of a table name their kind. */
  readonly isKindNamed: boolean
}

/** How an object becomes an item. */
const itemsOf = async (
  answering: ToolAnswering,
  kind: string,
  { form, moment, field, isKindNamed }: ItemForm,
): Promise<(found: JsonObject) => JsonValue> => {
  const namesOf = ({ namespace: within, name }: JsonObject): JsonObject => ({
    ...(within !== "" && { namespace: within ?? "" }),
    name: name ?? "",
  })
  if (form === "name") return (found) => ({ kind, ...namesOf(found) })
  const path = field === undefined ? undefined : parseFieldPath(field)
  if (path !== undefined && isFieldPath(path))
    return (found) => ({ kind, ...namesOf(found), values: valuesAt(objectOf(found), path) })
  if (form === "json")
    return (found) => ({
      changed: formatInstant(Number(found.time)),
      object: printedObject(objectOf(found), kind, false),
    })
  const resource = await resourceOf(answering, kind, moment)
  const view = { isWide: form === "wide", atMs: moment / 1000 }
  return (found) => ({
    ...(isKindNamed && { kind }),
    ...namesOf(found),
    ...namedCells(resource, objectOf(found), { ...view, isStatusUnknown: found.isStatusUnknown === true }),
  })
}
