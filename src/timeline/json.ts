/** Reads JSON of any structure: what is missing, inherited or of another type counts as absent. */

export type Members = Readonly<Record<string, unknown>>

const isMembers = (value: unknown): value is Members =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/** A member of its own; `undefined`: there is none. */
export const own = (value: unknown, name: string): unknown =>
  isMembers(value) && Object.hasOwn(value, name) ? value[name] : undefined

export const membersIn = (value: unknown, name: string): Members | undefined => {
  const found = own(value, name)
  return isMembers(found) ? found : undefined
}

/** The empty string counts as absent. */
export const textIn = (value: unknown, name: string): string | undefined => {
  const found = own(value, name)
  return typeof found === "string" && found !== "" ? found : undefined
}

export const integerIn = (value: unknown, name: string): number | undefined => {
  const found = own(value, name)
  return typeof found === "number" && Number.isSafeInteger(found) ? found : undefined
}

export const isTrueIn = (value: unknown, name: string): boolean => own(value, name) === true

/** The objects in a list. */
export const listIn = (value: unknown, name: string): ReadonlyArray<Members> => {
  const found = own(value, name)
  return Array.isArray(found) ? found.filter(isMembers) : []
}
