/** References by a single member, such as `priorityClassName` in a pod spec or `storageClassName` in a claim. */
import type { JsonObject } from "../../trace/json/exact-json.ts"
import { withoutMember } from "../../trace/json/members.ts"
import type { Place, Removal } from "../rule.ts"
import { textIn } from "./pod-specs.ts"

/** The holder without those members, if the first of them names something that is missing. */
export const withoutNamed = (
  holder: JsonObject,
  [member = "", ...others]: ReadonlyArray<string>,
  isMissing: (name: string) => boolean,
): JsonObject => {
  const name = textIn(holder, member)
  if (name === "" || !isMissing(name)) return holder
  let left = withoutMember(holder, member)
  for (const other of others) left = withoutMember(left, other)
  return left
}

/** The same in the transform language: the member with the name goes last, because the others are found by it. */
export const memberRemovals =
  (others: ReadonlyArray<string> = []) =>
  ({ element, by }: Place, literal: string): ReadonlyArray<Removal> =>
    [...others, by].map((member) => ({ where: `$h := ${element} | $h.${by} == ${literal}`, path: `$h.${member}` }))
