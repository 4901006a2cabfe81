/**
 * The bodies of `GET /openapi/v3` and `GET /openapi/v3/<path>`.
 *
 * Built-in groups get the real server's bytes and hash; custom kinds get one document per group and version, made on
 * each request. Documents are not cached here: clients cache them under their hash, which is the SHA-512 of the body.
 * No protobuf form: kubectl 1.34 asks for JSON here (seen with -v8 for apply, apply --server-side, diff, explain and
 * create). `/openapi/v2` is made of these documents (swagger-answer.ts).
 */
import { createHash } from "node:crypto"
import { existsSync, readFileSync } from "node:fs"
import { zstdDecompressSync } from "node:zlib"
import { apiVersionOf, type GroupVersionKind } from "../../kube/offline.ts"
import { maximumSchemaDepth, type StructuralSchema } from "./structural-schema.ts"

/** A schema of a v3 document. */
export interface V3Schema {
  readonly $ref?: string
  readonly allOf?: ReadonlyArray<V3Schema>
  readonly type?: string
  readonly format?: string
  readonly description?: string
  readonly nullable?: boolean
  readonly items?: V3Schema
  readonly properties?: Readonly<Record<string, V3Schema>>
  readonly additionalProperties?: V3Schema | boolean
  readonly required?: ReadonlyArray<string>
  readonly enum?: ReadonlyArray<unknown>
  readonly [member: string]: unknown
}

export type V3Content = Readonly<Record<string, { readonly schema?: V3Schema }>>

export interface V3Parameter {
  readonly name: string
  readonly in: string
  readonly description?: string
  readonly required?: boolean
  readonly schema?: { readonly type?: string; readonly uniqueItems?: boolean }
}

export interface V3Operation {
  readonly description?: string
  readonly operationId?: string
  readonly tags?: ReadonlyArray<string>
  readonly requestBody?: { readonly content?: V3Content; readonly required?: boolean }
  readonly responses: Readonly<Record<string, { readonly description: string; readonly content?: V3Content }>>
  readonly parameters?: ReadonlyArray<V3Parameter>
  readonly [extension: `x-${string}`]: unknown
}

/** The methods that a path may have. */
export const methods = ["get", "put", "post", "delete", "options", "head", "patch"] as const

/** A path: its operations, and the parameters that all of them have. */
export type V3Path = { readonly [method in (typeof methods)[number]]?: V3Operation } & {
  readonly parameters?: ReadonlyArray<V3Parameter>
}

/** The parts of a v3 document that the v2 document is made of. */
export interface OpenApiV3 {
  readonly paths: Readonly<Record<string, V3Path>>
  readonly components: { readonly schemas: Readonly<Record<string, V3Schema>> }
}

type OpenApiAnswer =
  | {
      readonly type: "document"
      /** JSON; `content-type: application/json`. */
      readonly body: Buffer
      /** For `etag`, in quotes. */
      readonly hash: string
      /**
       * The request named the hash: the server sends `cache-control: public, immutable`, otherwise `no-cache, private`.
       */
      readonly isImmutable: boolean
    }
  /** 301 with this `location`: the requested hash is not the current one. */
  | { readonly type: "moved"; readonly location: string; readonly hash: string }

export class OpenApiDocuments {
  /** Custom kinds by document path, then by kind. */
  readonly #custom = new Map<string, Map<string, CustomKind>>()
  readonly #hashes = new Map<string, string>()

  /** Of all documents: `api/v1`, `apis/apps/v1`. */
  paths(): ReadonlyArray<string> {
    return [...Object.keys(builtinDocuments()), ...this.#custom.keys()].sort()
  }

  /** The document at one of {@link paths}. */
  parsed(path: string): OpenApiV3 {
    return JSON.parse(this.#bodyOf(path)?.toString() ?? '{"paths":{},"components":{"schemas":{}}}')
  }

  /** The hash of the document at one of {@link paths}, another one after each change. */
  hash(path: string): string {
    return this.#hashOf(path)
  }

  /** Adds a custom kind; replaces an earlier description of the same kind and version. */
  add(kind: CustomKind): void {
    const path = documentPath(kind.gvk)
    const kinds = this.#custom.get(path) ?? new Map<string, CustomKind>()
    kinds.set(kind.gvk.kind, kind)
    this.#custom.set(path, kinds)
    this.#hashes.delete(path)
  }

  /** Removes a custom kind; a document disappears with its last kind. */
  remove(gvk: GroupVersionKind): void {
    const path = documentPath(gvk)
    this.#custom.get(path)?.delete(gvk.kind)
    if (this.#custom.get(path)?.size === 0) this.#custom.delete(path)
    this.#hashes.delete(path)
  }

  /** The body of `GET /openapi/v3`. */
  index(): string {
    const paths: Record<string, { serverRelativeURL: string }> = {}
    for (const path of this.paths()) paths[path] = { serverRelativeURL: urlOf(path, this.#hashOf(path)) }
    return JSON.stringify({ paths })
  }

  /**
   * The response to `GET /openapi/v3/<path>?hash=`; `undefined` when there is no such document (404 with an empty
   * body).
   *
   * @param path without the leading `/openapi/v3/`: `api/v1`, `apis/apps/v1`
   * @param asked the `hash` parameter, if there is one
   */
  document(path: string, asked?: string): OpenApiAnswer | undefined {
    const body = this.#bodyOf(path)
    if (body === undefined) return undefined
    const hash = this.#hashOf(path, body)
    if (asked !== undefined && asked !== "" && asked !== hash)
      return { type: "moved", location: urlOf(path, hash), hash }
    return { type: "document", body, hash, isImmutable: asked === hash }
  }

  #bodyOf(path: string): Buffer | undefined {
    if (Object.hasOwn(builtinDocuments(), path)) return readBuiltinDocument(path)
    const kinds = this.#custom.get(path)
    return kinds === undefined ? undefined : Buffer.from(JSON.stringify(customDocument([...kinds.values()])))
  }

  #hashOf(path: string, body?: Buffer): string {
    const documents = builtinDocuments()
    const known = Object.hasOwn(documents, path) ? documents[path] : this.#hashes.get(path)
    if (known !== undefined) return known
    const content = body ?? this.#bodyOf(path) ?? ""
    const hash = createHash("sha512").update(content).digest("hex").toUpperCase()
    this.#hashes.set(path, hash)
    return hash
  }
}

const urlOf = (path: string, hash: string): string => `/openapi/v3/${path}?hash=${hash}`

// The OpenAPI v3 document of a group and version of custom kinds, with the parts that clients read: schemas for
// `kubectl explain` and for client-side patches, operations with the parameters that tell kubectl what the server
// supports.

/** One version of a custom kind, as its CustomResourceDefinition describes it. */
export interface CustomKind {
  readonly gvk: GroupVersionKind
  readonly plural: string
  /** Default: the kind followed by `List`. */
  readonly listKind?: string
  readonly namespaced: boolean
  readonly schema: StructuralSchema | undefined
  readonly subresources: ReadonlyArray<"status" | "scale">
}

/** Has the schemas that every document needs (ObjectMeta, Status, DeleteOptions) and little else. */
const commonDocument = "apis/scheduling.k8s.io/v1"
const commonSchemas = "io.k8s.apimachinery.pkg.apis.meta.v1."

const referenceTo = (name: string): { $ref: string } => ({ $ref: `#/components/schemas/${name}` })

const typeMeta = {
  apiVersion: {
    description:
      "APIVersion defines the versioned schema of this representation of an object. Servers should convert recognized " +
      "schemas to the latest internal value, and may reject unrecognized values. More info: " +
      "https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#resources",
    type: "string",
  },
  kind: {
    description:
      "Kind is a string value representing the REST resource this object represents. Servers may infer this from the " +
      "endpoint the client submits requests to. Cannot be updated. In CamelCase. More info: " +
      "https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#types-kinds",
    type: "string",
  },
}

/** The same for embedded resources, whose descriptions differ. */
const embeddedTypeMeta = {
  apiVersion: {
    description:
      "apiVersion defines the versioned schema of this representation of an object. More info: " +
      "https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#resources",
    type: "string",
  },
  kind: {
    description:
      "kind is a string value representing the type of this object. In CamelCase. More info: " +
      "https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#types-kinds",
    type: "string",
  },
}

/** All kinds must be of one group and version; at least one. */
const customDocument = (kinds: ReadonlyArray<CustomKind>): Record<string, unknown> => {
  const document: OpenApiV3 = JSON.parse(readBuiltinDocument(commonDocument).toString())
  const schemas: Record<string, unknown> = Object.fromEntries(
    Object.entries(document.components.schemas).filter(
      ([name]) => name.startsWith(commonSchemas) && !name.endsWith(".WatchEvent"),
    ),
  )
  const paths: Record<string, unknown> = {}
  for (const kind of kinds) {
    const name = schemaNameOf(kind.gvk)
    schemas[name] = objectSchema(kind)
    schemas[`${name}List`] = listSchema(kind, name)
    Object.assign(paths, pathsOf(kind, name))
  }
  return {
    openapi: "3.0.0",
    info: { title: "Kubernetes CRD Swagger", version: "v0.1.0" },
    paths,
    components: { schemas },
  }
}

/** `com.example.v1.Gadget` for v1 of `example.com`. */
const schemaNameOf = ({ group, version, kind }: GroupVersionKind): string =>
  [...group.split(".").reverse(), version, kind].join(".")

const metadata = {
  description:
    "Standard object's metadata. More info: " +
    "https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata",
  allOf: [referenceTo(`${commonSchemas}ObjectMeta`)],
}

const objectSchema = ({ gvk, schema }: CustomKind): Record<string, unknown> => {
  const published = publish({ type: "object", ...schema })
  return {
    ...published,
    properties: { ...published.properties, ...typeMeta, metadata },
    "x-kubernetes-group-version-kind": [gvk],
  }
}

interface PublishedSchema extends Record<string, unknown> {
  properties?: Readonly<Record<string, unknown>>
}

/** A schema as clients see it: the implications of `x-kubernetes` markers are written out. */
const publish = (schema: StructuralSchema, depth = 0): PublishedSchema => {
  if (depth > maximumSchemaDepth) return {}
  const { properties, items, additionalProperties } = schema
  const published: PublishedSchema = { ...schema }
  if (properties !== undefined) {
    const entries = Object.entries(properties).map(([name, property]) => [name, publish(property, depth + 1)])
    published.properties = Object.fromEntries(entries)
  }
  if (items !== undefined) published.items = publish(items, depth + 1)
  if (typeof additionalProperties === "object" && additionalProperties !== null)
    published.additionalProperties = publish(additionalProperties, depth + 1)
  if (schema["x-kubernetes-int-or-string"] === true) published.anyOf ??= [{ type: "integer" }, { type: "string" }]
  if (schema["x-kubernetes-embedded-resource"] === true) {
    published.properties = { ...published.properties, ...embeddedTypeMeta, metadata }
    published.required = [...new Set([...(schema.required ?? []), "kind", "apiVersion"])]
  }
  return published
}

const listSchema = ({ gvk, plural, listKind = `${gvk.kind}List` }: CustomKind, name: string) => ({
  description: `${listKind} is a list of ${gvk.kind}`,
  type: "object",
  required: ["items"],
  properties: {
    ...typeMeta,
    items: { description: `List of ${plural}.`, type: "array", items: referenceTo(name) },
    metadata: { description: "Standard list metadata.", allOf: [referenceTo(`${commonSchemas}ListMeta`)] },
  },
  "x-kubernetes-group-version-kind": [{ ...gvk, kind: listKind }],
})

const parameter = (name: string, type = "string"): Record<string, unknown> => ({
  name,
  in: "query",
  schema: { type, uniqueItems: true },
})

/** kubectl offers `--dry-run=server` and `--validate` when a kind's patch takes these. */
const writeParameters = [parameter("dryRun"), parameter("fieldManager"), parameter("fieldValidation")]
const listParameters = [
  ...["continue", "fieldSelector", "labelSelector", "resourceVersion", "resourceVersionMatch"].map((name) =>
    parameter(name),
  ),
  ...["limit", "timeoutSeconds"].map((name) => parameter(name, "integer")),
  ...["allowWatchBookmarks", "sendInitialEvents", "watch"].map((name) => parameter(name, "boolean")),
]
const deleteParameters = [
  parameter("dryRun"),
  parameter("gracePeriodSeconds", "integer"),
  parameter("orphanDependents", "boolean"),
  parameter("propagationPolicy"),
]

const pathsOf = ({ gvk, plural, namespaced, subresources }: CustomKind, name: string): Record<string, unknown> => {
  const content = (schema: string): Record<string, unknown> => ({
    "application/json": { schema: referenceTo(schema) },
    "application/yaml": { schema: referenceTo(schema) },
  })
  const operation = (action: string, parameters: ReadonlyArray<unknown>, answer: string, body?: unknown) => ({
    parameters,
    ...(body === undefined ? {} : { requestBody: { content: body, required: true } }),
    responses: { "200": { description: "OK", content: content(answer) }, "401": { description: "Unauthorized" } },
    "x-kubernetes-action": action,
    "x-kubernetes-group-version-kind": gvk,
  })
  const patchBody = Object.fromEntries(
    ["apply-patch+yaml", "json-patch+json", "merge-patch+json"].map((type) => [
      `application/${type}`,
      { schema: referenceTo(`${commonSchemas}Patch`) },
    ]),
  )
  const change = {
    get: operation("get", [parameter("resourceVersion")], name),
    put: operation("put", writeParameters, name, content(name)),
    patch: operation("patch", [...writeParameters, parameter("force", "boolean")], name, patchBody),
  }
  const pathParameter = (one: string): Record<string, unknown> => ({
    name: one,
    in: "path",
    required: true,
    schema: { type: "string", uniqueItems: true },
  })
  const root = `/apis/${apiVersionOf(gvk)}`
  const collection = namespaced ? `${root}/namespaces/{namespace}/${plural}` : `${root}/${plural}`
  const scope = namespaced ? [pathParameter("namespace"), parameter("pretty")] : [parameter("pretty")]
  const status = `${commonSchemas}Status`
  const list = operation("list", listParameters, `${name}List`)
  const one = `${collection}/{name}`
  const named = [pathParameter("name"), ...scope]
  return {
    ...(namespaced ? { [`${root}/${plural}`]: { get: list, parameters: [parameter("pretty")] } } : {}),
    [collection]: {
      get: list,
      post: operation("post", writeParameters, name, content(name)),
      delete: operation("deletecollection", [...listParameters, ...deleteParameters], status),
      parameters: scope,
    },
    [one]: { ...change, delete: operation("delete", deleteParameters, status), parameters: named },
    ...Object.fromEntries(subresources.map((part) => [`${one}/${part}`, { ...change, parameters: named }])),
  }
}

// The files with the OpenAPI v3 documents of the built-in kinds. Each is read from disk on every request and not cached
// (the core one is 1.4 MB of text, 75 kB in the file).

/** Relative to this folder in the sources, to dist/cli.js, and to dist/lib/ and other folders of dist. */
const places = ["./data/", "./openapi/", "../openapi/"]

interface Index {
  readonly origin: string
  /** The Kubernetes version the documents are from, `1.34.4`. */
  readonly kubernetes: string
  /** Path below `/openapi/v3` (`apis/apps/v1`) to the hash under which the real server offers it. */
  readonly documents: Readonly<Record<string, string>>
}

let folder: URL | undefined
let index: Index | undefined

const readText = (name: string): string => readFileSync(new URL(name, dataFolder()), "utf8")

const dataFolder = (): URL => {
  if (folder !== undefined) return folder
  const candidates = places.map((place) => new URL(place, import.meta.url))
  const found = candidates.find((candidate) => existsSync(new URL("index.json", candidate)))
  // A caller can do nothing about it: the package is incomplete.
  if (found === undefined) throw new Error(`the OpenAPI documents are missing: no ${places.join(" nor ")} here`)
  folder = found
  return found
}

/** Path and hash of every document. */
export const builtinDocuments = (): Readonly<Record<string, string>> => {
  const read: Index = index ?? JSON.parse(readText("index.json"))
  index = read
  return read.documents
}

/** The bytes of a document as the real server sent them. `path` must be one of {@link builtinDocuments}. */
export const readBuiltinDocument = (path: string): Buffer =>
  zstdDecompressSync(readFileSync(new URL(`${path.replaceAll("/", "-")}.json.zst`, dataFolder())))

/** The path of the document that describes a kind: `api/v1`, `apis/apps/v1`. */
export const documentPath = (gvk: Pick<GroupVersionKind, "group" | "version">): string =>
  gvk.group === "" ? `api/${gvk.version}` : `apis/${gvk.group}/${gvk.version}`
