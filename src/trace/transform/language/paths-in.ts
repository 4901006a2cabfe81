/** All paths in a part of a program, whatever holds them. */
import type { Path } from "./program.ts"

/** `part`: a condition, a value, or a list of them, not nested without end. */
export function* pathsIn(part: unknown): Generator<Path> {
  if (typeof part !== "object" || part === null) return
  if ("type" in part && part.type === "path") yield part as Path
  else for (const inner of Object.values(part)) yield* pathsIn(inner)
}
