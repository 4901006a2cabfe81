/**
 * The compared parts of a refusal: its code, its reason, the names in its details, and the reason and field of each cause.
 * Wording, order of causes and repetitions may differ.
 */

type Fields = Readonly<Record<string, unknown>>

const isFields = (value: unknown): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value)

const causesOf = (causes: readonly unknown[]): readonly unknown[] => {
  const found = new Map<string, unknown>()
  for (const cause of causes) {
    const { reason, field } = isFields(cause) ? cause : {}
    found.set(`${String(reason)} ${String(field)}`, { reason, field })
  }
  return [...found.entries()].sort(([left], [right]) => (left < right ? -1 : 1)).map(([, cause]) => cause)
}

const refusalOf = ({ message: _message, details, ...rest }: Fields): Fields => ({
  ...rest,
  ...(isFields(details)
    ? { details: { ...details, ...(Array.isArray(details.causes) ? { causes: causesOf(details.causes) } : {}) } }
    : {}),
})

/** The value with every failure Status in it reduced to the compared parts; nothing else changes. */
export const withoutWording = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(withoutWording)
  if (!isFields(value)) return value
  if (value.kind === "Status" && value.status === "Failure") return refusalOf(value)
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, withoutWording(member)]))
}
