/**
 * Finds objects in the namespaces of a replay that neither the replay nor a controller has made. The recording has
 * only objects with the replay's label; here only metadata is requested, once, at the end. Pods are all recorded.
 */
import {
  ApiConnection,
  bodyOf,
  collectionPath,
  type EndpointSource,
  type Kind,
  type Metadata,
  NotFoundError,
  ResourceFinder,
} from "../../kube/index.ts"
import { parseGvk } from "../../kube/offline.ts"
import { messageOf } from "../../message-of.ts"
import { podKind } from "../../trace/index.ts"
import type { TargetPlace } from "../objects/target-object.ts"
import { keyOf } from "../replay/changes-to-writes.ts"
import type { ExtraObject, UnmeasuredKind } from "../report/fidelity-report.ts"

/** Where to look, and what is known there. */
interface ExtraObjectsOptions {
  readonly endpoints: EndpointSource
  readonly userAgent: string
  /** A namespace into which the replay writes nothing. What it has too, every namespace gets from the target. */
  readonly ordinaryNamespace: string
  /** Of all objects that the replay has written, or should have. */
  readonly places: ReadonlyArray<TargetPlace>
  readonly signal: AbortSignal
}

/** What was found, and where could not be looked. */
export interface FoundObjects {
  readonly extra: ReadonlyArray<ExtraObject>
  readonly unlisted: ReadonlyArray<UnmeasuredKind>
}

/** With more namespaces, one list of all is less work for the target than one of each. */
const mostNamespaces = 20
const pageSize = 500

/** Never rejects. */
export const extraObjects = async (options: ExtraObjectsOptions): Promise<FoundObjects> => {
  const { endpoints, userAgent, ordinaryNamespace, places, signal } = options
  const known = new Set(places.map(keyOf))
  const namespaces = new Set(places.flatMap(({ namespace }) => (namespace === "" ? [] : [namespace])))
  const kinds = new Set(places.flatMap(({ gvk, namespace }) => (namespace === "" || gvk === podKind ? [] : [gvk])))
  const connection = new ApiConnection({ server: endpoints, userAgent })
  try {
    const finder = new ResourceFinder(connection, { signal })
    const extra: ExtraObject[] = []
    const unlisted: UnmeasuredKind[] = []
    for (const gvk of kinds) {
      const parsed = parseGvk(gvk)
      if (parsed === undefined) continue
      try {
        const kind = await finder.find(parsed)
        const list = (namespace?: string): Promise<ReadonlyArray<Metadata>> =>
          listed(connection, kind, namespace, signal)
        const usual = new Set((await list(ordinaryNamespace)).map(({ name }) => name))
        const found =
          namespaces.size > mostNamespaces
            ? await list()
            : (await Promise.all([...namespaces].map((namespace) => list(namespace)))).flat()
        for (const { namespace = "", name, ownerReferences = [], deletionTimestamp } of found) {
          const isOwned = ownerReferences.some(({ controller }) => controller === true)
          const place = { gvk, namespace, name }
          const isOurs = !namespaces.has(namespace) || known.has(keyOf(place)) || isClaimOfSet(place, known)
          if (isOurs || isOwned || usual.has(name) || deletionTimestamp !== undefined) continue
          extra.push({ gvk, namespace, name })
        }
      } catch (error) {
        // A kind that the target does not have has no objects either.
        if (!(error instanceof NotFoundError)) unlisted.push({ gvk, reason: messageOf(error) })
      }
    }
    return { extra, unlisted }
  } finally {
    connection.close()
  }
}

/** The claims that a StatefulSet makes of its templates, `<template>-<set>-<ordinal>`, have no owner unless its retention policy says so. */
const isClaimOfSet = ({ gvk, namespace, name }: TargetPlace, known: ReadonlySet<string>): boolean => {
  if (gvk !== "v1.PersistentVolumeClaim") return false
  const parts = name.split("-")
  if (!/^\d+$/.test(parts.pop() ?? "")) return false
  return parts.some((_, from) => {
    const set = parts.slice(from).join("-")
    return from > 0 && known.has(keyOf({ gvk: "apps/v1.StatefulSet", namespace, name: set }))
  })
}

interface MetadataList {
  /** `null` for an empty list of some kinds. */
  readonly items?: ReadonlyArray<{ readonly metadata: Metadata }> | null
  readonly metadata?: { readonly continue?: string }
}

const listed = async (
  connection: ApiConnection,
  kind: Kind,
  namespace: string | undefined,
  signal: AbortSignal,
): Promise<ReadonlyArray<Metadata>> => {
  const found: Metadata[] = []
  for (let token: string | undefined = ""; token !== undefined; ) {
    const path: string = `${collectionPath(kind, namespace)}?limit=${pageSize}${token === "" ? "" : `&continue=${encodeURIComponent(token)}`}`
    const question = { verb: "list", kind: kind.plural, namespace: namespace ?? "", name: "" }
    // No other form is acceptable: a server without it must not send the values of Secrets.
    const accept = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
    const call = { question, method: "GET", path, accept } as const
    const page: MetadataList = bodyOf<MetadataList>(call, await connection.call(call, { signal }))
    const { items, metadata } = page
    for (const item of items ?? []) found.push(item.metadata)
    token = metadata?.continue || undefined
  }
  return found
}
