/**
 * The OpenAPI v3 document of a group and version of custom kinds, with the parts that clients read: schemas for
 * `kubectl explain` and for client-side patches, operations with the parameters that tell kubectl what the server
 * supports.
 */

import { apiVersionOf, type GroupVersionKind } from "../../kube/gvk.ts"
import { readBuiltinDocument } from "./document-files.ts"
import { maximumSchemaDepth, type StructuralSchema } from "./structural-schema.ts"

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
export const customDocument = (kinds: ReadonlyArray<CustomKind>): Record<string, unknown> => {
  const document = JSON.parse(readBuiltinDocument(commonDocument).toString()) as {
    components: { schemas: Readonly<Record<string, object>> }
  }
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
