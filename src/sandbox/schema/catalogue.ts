/**
 * The types of all kinds that a sandbox serves.
 *
 * The built-in ones are read from the documents of Kubernetes 1.34.4 with the first use of their group and version,
 * and kept once per process, for all its sandboxes. The rest of a document (paths, descriptions) is dropped at once.
 */

import { builtinDocuments, documentPath, readBuiltinDocument } from "../../apiserver/index.ts"
import { formatGvk, type GroupVersionKind } from "../../kube/offline.ts"
import type { KubernetesType } from "./kubernetes-type.ts"
import { type OpenApiSchema, type OpenApiSchemas, OpenApiTypes } from "./openapi-types.ts"

const openApiTypes = new OpenApiTypes()
/** Kinds by document path; absent until first used. */
const loaded = new Map<string, ReadonlyMap<string, KubernetesType>>()
const noKinds: ReadonlyMap<string, KubernetesType> = new Map()

const objectMetaSchema = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"
/** The smallest document that describes objects. */
const smallDocument = "apis/scheduling.k8s.io/v1"

const kindsOf = (path: string): ReadonlyMap<string, KubernetesType> => {
  const known = loaded.get(path)
  if (known !== undefined) return known
  if (!Object.hasOwn(builtinDocuments(), path)) return noKinds
  const document: { components: { schemas: OpenApiSchemas } } = JSON.parse(readBuiltinDocument(path).toString())
  const { schemas } = document.components
  const kinds = new Map<string, KubernetesType>()
  for (const [name, schema] of Object.entries(schemas))
    for (const kind of kindNames(schema, path)) kinds.set(kind, openApiTypes.named(name, schemas))
  loaded.set(path, kinds)
  return kinds
}

/** DeleteOptions and WatchEvent are marked as belonging to every group; only the document's own kinds count. */
const kindNames = (schema: OpenApiSchema, path: string): string[] =>
  (schema["x-kubernetes-group-version-kind"] ?? []).filter((gvk) => documentPath(gvk) === path).map(({ kind }) => kind)

/** The type of every object's `metadata`, custom kinds included. */
export const objectMetaType = (): KubernetesType => {
  kindsOf(smallDocument)
  return openApiTypes.named(objectMetaSchema, {})
}

/** The kinds of one sandbox: built-in and added ones. */
export class SchemaCatalogue {
  readonly #added = new Map<string, KubernetesType>()

  /**
   * The type of a kind; `undefined` for one that is neither built in nor added. Reading a document costs some 20 ms the
   * first time (core v1) and nothing later. An added type hides a built-in one of the same name.
   */
  of(gvk: GroupVersionKind): KubernetesType | undefined {
    return this.#added.get(formatGvk(gvk)) ?? kindsOf(documentPath(gvk)).get(gvk.kind)
  }

  /** Adds a custom kind, or replaces its type. */
  add(gvk: GroupVersionKind, type: KubernetesType): void {
    this.#added.set(formatGvk(gvk), type)
  }

  /** Removes a custom kind. Built-in kinds stay. */
  remove(gvk: GroupVersionKind): void {
    this.#added.delete(formatGvk(gvk))
  }
}
