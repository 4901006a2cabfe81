/** `--retain-for` and `--retain-bytes`: of everything (`30d`), or of a kind (`v1.Event=1d`). The last of several counts. */
import { formatGvk, parseGvk } from "../../kube/offline.ts"
import type { GivenLimits, KeptLimits } from "../../recorder/index.ts"
import { type Reading, refused, value } from "../command-line/arguments.ts"

interface OfKind {
  /** `undefined`: of everything. */
  readonly gvk: string | undefined
  readonly limit: number
}

/** Reads a limit, with or without a kind. */
export const ofKinds =
  (read: (text: string, gvk: string | undefined) => number | { readonly problem: string }) =>
  (given: string): Reading<OfKind> => {
    const at = given.indexOf("=")
    const kind = at < 0 ? undefined : parseGvk(given.slice(0, at))
    if (at >= 0 && kind === undefined)
      return refused("before the = must be a kind such as v1.Event or apps/v1.Deployment")
    const gvk = kind && formatGvk(kind)
    const limit = read(given.slice(at + 1), gvk)
    return typeof limit === "number" ? value({ gvk, limit }) : refused(limit.problem.replace(/^it /, ""))
  }

export const givenLimits = (retainFor: ReadonlyArray<OfKind>, retainBytes: ReadonlyArray<OfKind>): GivenLimits => {
  const kinds = new Map<string, KeptLimits>()
  const all: { retainFor?: number; retainBytes?: number } = {}
  const add = (name: "retainFor" | "retainBytes", each: OfKind): void => {
    if (each.gvk === undefined) all[name] = each.limit
    else kinds.set(each.gvk, { ...kinds.get(each.gvk), [name]: each.limit })
  }
  for (const each of retainFor) add("retainFor", each)
  for (const each of retainBytes) add("retainBytes", each)
  return { ...all, kinds }
}
