/** Kinds and objects on the command line, as with kubectl: `deploy web`, `deploy/web`, `pods,services`. */

import type { NamedKind } from "../../kube/index.ts"
import { formatGvk, parseGvk } from "../../kube/offline.ts"
import { isJsonObject, type JsonObject } from "../../trace/index.ts"
import { list } from "../command-line/arguments.ts"
import { Misasked } from "../command-line/exit-codes.ts"
import { readKind } from "../command-line/kind-option.ts"
import type { AskedPast } from "./asking.ts"
import { askPast } from "./past-client.ts"

/** The recorded kinds of all places, with the names that discovery gave. */
const recordedKindsOf = async ({ places, signal }: AskedPast): Promise<ReadonlyArray<NamedKind>> => {
  const kinds = new Map<string, NamedKind>()
  for (const place of places) {
    for await (const { gvk: text, discovered } of askPast(place, "kinds", {}, signal)) {
      const gvk = parseGvk(String(text))
      if (gvk === undefined) continue
      const facts: JsonObject | undefined = isJsonObject(discovered) ? discovered : undefined
      const shortNames = Array.isArray(facts?.shortNames) ? facts.shortNames.map(String) : []
      const named = { gvk, plural: facts === undefined ? undefined : String(facts.plural), shortNames }
      kinds.set(String(text), named)
    }
  }
  return [...kinds.values()]
}

/** No recorded kind has the name, and no built-in one. */
export class UnknownKind extends Misasked {}

/** Exact names, in the order given: a recorded kind of that name, else a built-in one, which is then not recorded. Of one cluster of many, those that it knows; none of them only if `mayBeNone`. @throws UnknownKind */
export const exactKinds = async (
  asking: AskedPast,
  names: ReadonlyArray<string>,
  mayBeNone = false,
): Promise<ReadonlyArray<string>> => {
  const recorded = await recordedKindsOf(asking)
  const readings = names.map((name) => readKind(name, recorded))
  const known = readings.flatMap((reading) => (reading.tag === "unknown" ? [] : [reading.text]))
  for (const reading of readings) {
    if (reading.tag !== "unknown") continue
    const all = recorded.map(({ gvk }) => formatGvk(gvk)).join(", ")
    const problem = `${reading.problem}. Recorded are ${all === "" ? "no kinds" : all}`
    if (asking.isOneOfMany !== true || (known.length === 0 && !mayBeNone)) throw new UnknownKind(problem)
    asking.say(reading.problem, true)
  }
  return known
}

/** Kinds that are left out of an answer. */
export const exceptOption = list("KIND", "leave out these kinds: events,leases")

/** Exact names of the kinds that are named, or of all that are recorded, without the excepted ones; `undefined`: all. @throws Misasked */
export const chosenKinds = async (
  asking: AskedPast,
  names: ReadonlyArray<string>,
  except: ReadonlyArray<string>,
): Promise<ReadonlyArray<string> | undefined> => {
  const named = names.length === 0 ? undefined : await exactKinds(asking, names)
  if (except.length === 0) return named
  const left = new Set(await exactKinds(asking, except, true))
  const kinds = named ?? (await recordedKindsOf(asking)).map(({ gvk }) => formatGvk(gvk))
  const chosen = kinds.filter((kind) => !left.has(kind))
  if (chosen.length === 0) throw new Misasked("--except leaves no kind")
  return chosen
}

/** One object, or all of a kind: `deploy/web`, `deploy`. */
interface NamedPart {
  readonly kind: string
  readonly name: string | undefined
}

/** `KIND/NAME`, `KIND NAME` or `KIND`. An exact kind contains a slash of its own. @throws Misasked */
export const readObjectName = (operands: ReadonlyArray<string>): NamedPart => {
  const [first, name, ...more] = operands
  if (first === undefined) throw new Misasked("which object? Write KIND/NAME, such as deploy/web")
  if (more.length > 0) throw new Misasked("name one object: KIND/NAME")
  if (name !== undefined) return { kind: first, name }
  const exact = /^([^/]+\/v\d\w*\.[A-Za-z]+)\/(.+)$/.exec(first)
  if (exact !== null) return { kind: exact[1] as string, name: exact[2] }
  if (/^[^/]+\/v\d\w*\.[A-Z]\w*$/.test(first)) return { kind: first, name: undefined }
  const slash = first.indexOf("/")
  return slash < 0 ? { kind: first, name: undefined } : { kind: first.slice(0, slash), name: first.slice(slash + 1) }
}
