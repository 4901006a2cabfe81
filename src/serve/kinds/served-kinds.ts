/**
 * The kinds that a moment has: those that were recorded by then, and no others. Built-in kinds are known; custom ones are described by their recorded
 * CustomResourceDefinition, with its columns, or else named as the recorder's discovery named them. Traces have neither: there names are guessed, which the kind's remarks then say.
 */
import {
  builtinResources,
  type DefinedKind,
  definedKinds,
  OpenApiDocuments,
  publishedKind,
  type Resource,
  ResourceRegistry,
  readOnlyKinds,
} from "../../apiserver/index.ts"
import { formatGvk, parseGvk } from "../../kube/offline.ts"
import { ResourceNames } from "../../trace/index.ts"
import type { Past, PastKind } from "../past/past.ts"
import type { RecordedResource } from "../state/recorded-resource.ts"

/** What is served at a moment, and from where. */
export interface ServedKinds {
  readonly registry: ResourceRegistry
  readonly documents: OpenApiDocuments
  readonly sources: ReadonlyMap<Resource, RecordedResource>
}

const definitionKind = "apiextensions.k8s.io/v1.CustomResourceDefinition"

/** Clients ask who they are and what they may do before they show anything; these are answered, not read (moment-handlers.ts). */
const reviews = builtinResources.filter(({ plural }) => plural.startsWith("selfsubject"))

/** `times`: the moments whose definitions count, the most important one first. Rejects with what reading the past throws. */
export const servedKindsAt = async (
  past: Past,
  through: number,
  times: ReadonlyArray<number>,
): Promise<ServedKinds> => {
  const recorded = new Map(past.kinds.filter(({ since }) => since <= through).map((kind) => [kind.gvk, kind]))
  const defined = recorded.has(definitionKind) ? await definitionsIn(past, times) : new Map<string, DefinedKind>()
  const registry = new ResourceRegistry(reviews)
  const documents = new OpenApiDocuments()
  const sources = new Map<Resource, RecordedResource>()
  const serve = (resource: Resource, source: RecordedResource): void => {
    const [served] = readOnlyKinds([resource])
    if (served === undefined || registry.at(served.gvk.group, served.gvk.version, served.plural) !== undefined) return
    registry.add(served)
    sources.set(served, source)
  }
  for (const resource of builtinResources) {
    const source = sourceOfBuiltin(resource, recorded)
    if (source !== undefined) serve(resource, source)
  }
  for (const kind of recorded.values()) {
    if (builtinNames.has(kind.gvk)) continue
    const definition = defined.get(kind.gvk)
    const known = definition === undefined ? discovered(kind) : asRecorded(definition.resource)
    const stored = known ?? (await guessed(past, kind, through))
    if (stored === undefined) continue
    const guess = `its name in URLs, ${stored.plural}, and its scope were guessed: no CustomResourceDefinition of it is recorded`
    serve(stored, { kind: known === undefined ? { ...kind, remarks: [...kind.remarks, guess] } : kind, stored })
    if (definition !== undefined) documents.add(publishedKind(definition))
  }
  return { registry, documents, sources }
}

const builtinNames: ReadonlySet<string> = new Set(builtinResources.map(({ gvk }) => formatGvk(gvk)))

/** A view is read from what it is a view of; if only the view was recorded, both are read from that. */
const sourceOfBuiltin = (resource: Resource, recorded: ReadonlyMap<string, PastKind>): RecordedResource | undefined => {
  const own = formatGvk(resource.storedAs?.gvk ?? resource.gvk)
  const stored = builtinResources.find(({ gvk }) => formatGvk(gvk) === own) ?? resource
  const kind = recorded.get(own)
  if (kind !== undefined) return { kind, stored }
  for (const { gvk, storedAs } of builtinResources) {
    const view = storedAs !== undefined && formatGvk(storedAs.gvk) === own ? recorded.get(formatGvk(gvk)) : undefined
    if (storedAs !== undefined && view !== undefined) return { kind: view, stored, convert: storedAs.toStored }
  }
  return undefined
}

/** By GVK; of an earlier moment in the list counts more. */
const definitionsIn = async (past: Past, times: ReadonlyArray<number>): Promise<ReadonlyMap<string, DefinedKind>> => {
  const found = new Map<string, DefinedKind>()
  for (const time of times)
    for await (const batch of past.stateAt(definitionKind, time))
      for (const { object } of batch)
        for (const defined of definedKinds(parsed(object))) {
          const gvk = formatGvk(defined.resource.gvk)
          if (!found.has(gvk)) found.set(gvk, defined)
        }
  return found
}

/** A definition that cannot be read defines nothing, and its kind is guessed, which is said. */
const parsed = (object: Buffer): unknown => {
  try {
    return JSON.parse(object.toString("utf8"))
  } catch {
    return undefined
  }
}

/** Each version was recorded as itself. */
const asRecorded = ({ storedAs: _view, ...resource }: Resource): Resource => resource

/** As the API server named it; `undefined` if that was not recorded. */
const discovered = ({ gvk: name, names }: PastKind): Resource | undefined => {
  const gvk = parseGvk(name)
  if (names === undefined || gvk === undefined) return undefined
  const { plural, singular, shortNames, categories, namespaced } = names
  return { gvk, plural, namespaced, shortNames, categories, custom: true, ...(singular !== "" && { singular }) }
}

/** `undefined` for a name that is no GVK. */
const guessed = async (past: Past, { gvk: name, since }: PastKind, through: number): Promise<Resource | undefined> => {
  const gvk = parseGvk(name)
  const names = new ResourceNames().of(name)
  if (gvk === undefined || names === undefined) return undefined
  return { gvk, plural: names.resource, namespaced: await isNamespaced(past, name, [since, through]), custom: true }
}

/** As its objects are; namespaced if there are none. */
const isNamespaced = async (past: Past, gvk: string, times: ReadonlyArray<number>): Promise<boolean> => {
  for (const time of times)
    for await (const [first] of past.stateAt(gvk, time)) if (first !== undefined) return first.namespace !== ""
  for await (const [first] of past.changes(gvk, times[0] ?? 0, times.at(-1) ?? 0))
    if (first !== undefined) return first.namespace !== ""
  return true
}
