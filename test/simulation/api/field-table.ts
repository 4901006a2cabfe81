/** The fields of a definition as rows of a Markdown table. */
import type { StructuralSchema } from "../../../src/apiserver/index.ts"

/** A row for each field below `schema`, in the order of the schema; fields of items that an earlier list has, too, only once. */
export const fieldRows = (
  schema: StructuralSchema,
  path: string,
  shown = new Map<string, string>(),
): ReadonlyArray<string> =>
  Object.entries(schema.properties ?? {}).flatMap(([name, field]) => {
    const below = `${path}.${name}`
    const need = schema.required?.includes(name) === true ? "yes" : defaultOf(field)
    const row = (meaning: string): string => `| \`${below}\` | ${typeOf(field)} | ${need} | ${meaning} |`
    const meaning = (field.description ?? "").replaceAll("|", "\\|")
    if (field.items?.properties === undefined) return [row(meaning), ...fieldRows(field, below, shown)]
    const key = JSON.stringify(field.items)
    const earlier = shown.get(key)
    shown.set(key, earlier ?? below)
    if (earlier !== undefined) return [row(`${meaning} Items as those of \`${earlier}\`.`)]
    return [row(meaning), ...fieldRows(field.items, `${below}[]`, shown)]
  })

const typeOf = ({ type = "anything", format, items, enum: values, ...field }: StructuralSchema): string => {
  const names: Readonly<Record<string, string>> = { "date-time": "time" }
  const range = [field.minimum, field.maximum].some((bound) => bound !== undefined) ? boundsOf(field) : ""
  if (values !== undefined) return values.map((value) => `\`${value}\``).join(", ")
  if (items !== undefined) return `list of ${typeOf(items)}`
  return `${names[format ?? ""] ?? type}${range}`
}

/** Bounds that only say what the type can hold are left out. */
const boundsOf = ({ minimum, exclusiveMinimum, maximum = Number.POSITIVE_INFINITY }: StructuralSchema): string =>
  `${exclusiveMinimum === true ? " above" : " from"} ${minimum}${maximum < 2 ** 31 - 1 ? ` to ${maximum}` : ""}`

const defaultOf = (field: StructuralSchema): string => (field.default === undefined ? "no" : `\`${field.default}\``)
