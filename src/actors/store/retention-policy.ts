/** The limits that the store is told, as the archive takes them. */
import type { RetentionPolicy } from "../../archive/retention/policy.ts"
import type { RetentionSettings } from "./definition.ts"

/** Plain data has no maps. */
export const policyOf = ({ kinds, ...limits }: RetentionSettings): RetentionPolicy => ({
  ...limits,
  kinds: new Map(kinds.map(({ gvk, ...own }) => [gvk, own])),
})
