/**
 * The functions of the API server's CEL environment in Kubernetes 1.34, for expressions that are new: those that were added in 1.34
 * itself (`slice`, `flatten`, `distinct`, `reverse`, `range`, `sort` of lists) are usable there from 1.35 on. Missing is the `authorizer`.
 */

import type { Overload } from "../overload.ts"
import { addresses } from "./addresses.ts"
import { conversions } from "./conversions.ts"
import { namedFormats } from "./formats.ts"
import { lists, optionals, sets } from "./lists.ts"
import { operators } from "./operators.ts"
import { patterns } from "./patterns.ts"
import { quantities } from "./quantities.ts"
import { strings } from "./strings.ts"
import { times } from "./times.ts"
import { urls } from "./urls.ts"
import { versions } from "./versions.ts"

const all: ReadonlyArray<Overload> = [
  ...operators,
  ...conversions,
  ...strings,
  ...patterns,
  ...lists,
  ...sets,
  ...optionals,
  ...times,
  ...quantities,
  ...addresses,
  ...urls,
  ...versions,
  ...namedFormats,
]

const byName = (): ReadonlyMap<string, ReadonlyArray<Overload>> => {
  const found = new Map<string, Overload[]>()
  for (const one of all) found.set(one.name, [...(found.get(one.name) ?? []), one])
  return found
}

/** By name. */
export const functions: ReadonlyMap<string, ReadonlyArray<Overload>> = byName()

/** Functions whose names have a dot, as `ip.isCanonical`. */
export const qualifiedNames: ReadonlySet<string> = new Set([...functions.keys()].filter((name) => name.includes(".")))
