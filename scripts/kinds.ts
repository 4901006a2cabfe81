/**
 * Types of the built-in kinds, as `kubereel/kinds`, out of the schemas of a real API server that the sandbox serves.
 *
 *   node scripts/kinds.ts    after `tsc -p tsconfig.types.json`; part of prepack
 *
 * Each kind has the version's newest stable form under its own name; a name that two groups have gets the group and the version (`EventOfEventsV1`).
 */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { zstdDecompressSync } from "node:zlib"
import { commentOf, membersOf, typeOf } from "../src/cli/crd/schema-types.ts"
import { isRecord } from "../src/is-record.ts"

type Schema = Readonly<Record<string, unknown>>
interface Named extends Schema {
  readonly "x-kubernetes-group-version-kind"?: ReadonlyArray<{
    readonly group: string
    readonly version: string
    readonly kind: string
  }>
}

const data = new URL("../src/apiserver/openapi/data/", import.meta.url)

/** Of a schema that describes objects; undefined for parts, lists and what all groups have. */
const kindOf = (id: string, schema: Named | undefined) => {
  const [single, ...others] = schema?.["x-kubernetes-group-version-kind"] ?? []
  const { metadata, items }: Schema = isRecord(schema?.properties) ? schema.properties : {}
  const isObject = others.length === 0 && metadata !== undefined && items === undefined
  return isObject && !id.includes(".apimachinery.") ? single : undefined
}

/** By their names in OpenAPI, such as `io.k8s.api.core.v1.PodSpec`: first kinds, first the core group's, then the newer of two versions. */
const schemas = (): ReadonlyMap<string, Named> => {
  const found = new Map<string, Named>()
  for (const file of readdirSync(data).filter((name) => name.endsWith(".zst"))) {
    const document = JSON.parse(zstdDecompressSync(readFileSync(new URL(file, data))).toString())
    for (const [id, schema] of Object.entries<Named>(document.components.schemas)) found.set(id, schema)
  }
  // A kind has its name before what is only a part of others.
  const rank = (id: string): string =>
    `${kindOf(id, found.get(id)) === undefined ? 1 : 0}${id.includes(".core.") ? 0 : 1}${id.includes(".apimachinery.") ? 1 : 0}${/\.v(\d+)\.[^.]+$/.exec(id)?.[1] === "2" ? 0 : 1}${id}`
  return new Map([...found].sort(([one], [other]) => (rank(one) < rank(other) ? -1 : 1)))
}

const pascal = (text: string): string => text.replace(/^./, (letter) => letter.toUpperCase())

const namesOf = (ids: Iterable<string>): ReadonlyMap<string, string> => {
  const taken = new Set<string>()
  const names = new Map<string, string>()
  for (const id of ids) {
    const [name = "", version = "", group = ""] = id.split(".").reverse()
    const free = taken.has(name) ? `${name}Of${pascal(group)}${pascal(version)}` : name
    taken.add(free)
    names.set(id, free)
  }
  return names
}

/** Types that OpenAPI describes worse than we can. */
const known: Readonly<Record<string, string>> = {
  IntOrString: "number | string",
  Quantity: "string",
  Time: "string",
  MicroTime: "string",
  RawExtension: "unknown",
  FieldsV1: "unknown",
  JSON: "unknown",
}

/** With names of types for references, the beginning of long descriptions, and no defaults that say nothing. */
const readable = (given: unknown, names: ReadonlyMap<string, string>): unknown => {
  if (Array.isArray(given)) return given.map((each) => readable(each, names))
  if (!isRecord(given)) return given
  const { $ref, allOf, default: usual, description, oneOf: _, ...rest } = given
  const [single] = Array.isArray(allOf) ? allOf : []
  const reference = $ref ?? (isRecord(single) ? single.$ref : undefined)
  const members = Object.entries(rest).map(([name, value]) => [name, readable(value, names)] as const)
  return {
    ...Object.fromEntries(members),
    ...(typeof description === "string" && { description: briefly(description) }),
    ...(usual !== undefined && usual !== "" && usual !== 0 && !isRecord(usual) && { default: usual }),
    ...(typeof reference === "string" && { $ref: names.get(reference.slice("#/components/schemas/".length)) }),
  }
}

/** The first paragraph, and of that whole sentences of some 300 characters. */
const briefly = (description: string): string => {
  const [paragraph = ""] = description.split("\n\n")
  const [, beginning = paragraph] = /^(.{0,300}?[.](?= [A-Z]))(?=.{60})/s.exec(paragraph) ?? []
  return paragraph.length <= 300 ? paragraph : beginning
}

/** The declarations. */
export const kindTypes = (): string => {
  const all = schemas()
  const names = namesOf(all.keys())
  const kinds: string[] = []
  const parts = [...all].map(([id, given]) => {
    const name = names.get(id) as string
    const schema = readable(given, names) as Schema
    const comment = commentOf(schema, "")
    if (known[name] !== undefined) return `${comment}export type ${name} = ${known[name]}\n`
    const single = kindOf(id, given)
    const properties = isRecord(schema.properties) ? schema.properties : undefined
    if (properties === undefined) return `${comment}export type ${name} = ${typeOf(schema, "", "ObjectBase")}\n`
    if (single === undefined)
      return `${comment}export interface ${name} {\n${membersOf(schema, properties, "  ", "ObjectBase").join("\n")}\n}\n`
    const { apiVersion: _a, kind: _k, metadata: _m, ...own } = properties
    const apiVersion = single.group === "" ? single.version : `${single.group}/${single.version}`
    kinds.push(`  readonly ${JSON.stringify(`${apiVersion}.${single.kind}`)}: ${name}`)
    const head = [
      `  readonly apiVersion: ${JSON.stringify(apiVersion)}`,
      `  readonly kind: ${JSON.stringify(single.kind)}`,
    ]
    const members = membersOf(schema, own, "  ", "ObjectBase")
    return `${comment}export interface ${name} extends ObjectBase {\n${[...head, ...members].join("\n")}\n}\n`
  })
  return [
    `/** The built-in kinds of Kubernetes, as the API server serves them. Made by scripts/kinds.ts. */\nimport type { ObjectBase } from "kubereel/host"\n`,
    `/** Every kind by its GVK: \`cluster.cached<Kinds["apps/v1.Deployment"]>("apps/v1.Deployment")\`. */\nexport interface Kinds {\n${kinds.join("\n")}\n}\n`,
    ...parts,
  ].join("\n")
}

if (import.meta.main) {
  const file = new URL("../dist/types/library/kinds.d.ts", import.meta.url)
  mkdirSync(new URL(".", file), { recursive: true })
  writeFileSync(file, kindTypes())
  console.log(`${fileURLToPath(file)}: ${Math.round(kindTypes().length / 1000)} kB`)
}
