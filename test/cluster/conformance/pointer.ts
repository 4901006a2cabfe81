/** JSON pointers (RFC 6901), and patterns over them. */

import { isObject, type Json } from "../exact-json.ts"

/** The value at a pointer; the empty pointer is the whole document. */
export const pointedAt = (value: Json, pointer: string): Json | undefined => {
  let found: Json | undefined = value
  for (const part of pointer.split("/").slice(1)) {
    const key = part.replaceAll("~1", "/").replaceAll("~0", "~")
    if (Array.isArray(found)) found = (found as readonly Json[])[Number(key)]
    else found = isObject(found) ? found[key] : undefined
  }
  return found
}

/** A pointer to a member of what `pointer` leads to. */
export const memberPointer = (pointer: string, key: string): string =>
  `${pointer}/${key.replaceAll("~", "~0").replaceAll("/", "~1")}`

/** Whether a pointer matches a pattern: `*` is one member, `**` everything below. */
export const matchesPointer = (pattern: string, pointer: string): boolean => {
  const wanted = pattern.split("/")
  const parts = pointer.split("/")
  for (const [index, part] of wanted.entries()) {
    if (part === "**") return true
    if (index >= parts.length || (part !== "*" && part !== parts[index])) return false
  }
  return wanted.length === parts.length
}
