/** A TypeScript module for the CustomResourceDefinitions of a YAML or JSON file: an interface for each served version of each kind. */

import * as Schema from "effect/Schema"
import { parseAllDocuments } from "yaml"
import { isRecord } from "../../is-record.ts"
import { messageOf } from "../../message-of.ts"
import { exitCodes } from "../command-line/exit-codes.ts"
import { commentOf, membersOf, typeOf } from "./schema-types.ts"

/** The file holds nothing that types can be made of. */
export class UnusableDefinition extends Schema.TaggedError<UnusableDefinition>()("UnusableDefinition", {
  problem: Schema.String,
}) {
  readonly exitCode = exitCodes.failed

  override get message(): string {
    return this.problem
  }
}

type Json = Readonly<Record<string, unknown>>

/** The imported type that all kinds extend, which complete objects inside others have too. */
const objectType = "ObjectBase"

/** The text of the module. Other objects in the file are passed over. Throws {@link UnusableDefinition}. */
export const definitionTypes = (text: string): string => {
  const definitions = documentsOf(text).filter(({ kind }) => kind === "CustomResourceDefinition")
  if (definitions.length === 0) throw wrong("has no CustomResourceDefinition")
  const names = new Set<string>()
  const parts = definitions.flatMap((definition) => {
    const { name, parts } = typesOf(definition)
    if (names.has(name)) throw wrong(`defines the kind ${name} twice: put the definitions into files of their own`)
    names.add(name)
    return parts
  })
  const source = definitions.map(({ metadata }) => (isRecord(metadata) ? String(metadata.name) : "")).join(", ")
  const head = `// Made by reel crd types out of ${source.replaceAll(/[^\w., -]/g, "")}.\n\nimport type { ${objectType} } from "kubereel/host"\n`
  return [head, ...parts].join("\n")
}

/** The objects of all documents, those of lists one by one. Throws {@link UnusableDefinition}. */
export const documentsOf = (text: string): ReadonlyArray<Json> => {
  const documents = parseAllDocuments(text, { logLevel: "silent" })
  const found: Json[] = []
  for (const document of "empty" in documents ? [] : documents) {
    const [error] = document.errors
    if (error !== undefined) throw wrong(`is not YAML: ${error.message.split("\n")[0]}`)
    const value = toValue(document)
    if (!isRecord(value)) continue
    if (Array.isArray(value.items)) found.push(...value.items.filter(isRecord))
    else found.push(value)
  }
  return found
}

/** Refuses aliases that multiply without end, and merges of what is no map. */
const toValue = (document: { toJS: () => unknown }): unknown => {
  try {
    return document.toJS()
  } catch (cause) {
    throw wrong(`cannot be read: ${messageOf(cause)}`)
  }
}

const typesOf = (definition: Json): { readonly name: string; readonly parts: ReadonlyArray<string> } => {
  const spec: Json = isRecord(definition.spec) ? definition.spec : {}
  const { kind, group } = { kind: isRecord(spec.names) ? spec.names.kind : undefined, group: spec.group }
  if (typeof kind !== "string" || typeof group !== "string" || !/^[A-Za-z][\w-]*$/.test(kind))
    throw wrong("has a CustomResourceDefinition without spec.group or spec.names.kind")
  if (definition.apiVersion !== "apiextensions.k8s.io/v1")
    throw wrong(
      `has ${kind} as ${String(definition.apiVersion)}; only apiextensions.k8s.io/v1 has schemas that are complete`,
    )
  const all = Array.isArray(spec.versions) ? spec.versions.filter(isRecord) : []
  const versions = all.filter(
    ({ served, name }) => served === true && typeof name === "string" && /^[a-z]\w*$/.test(name),
  )
  if (versions.length === 0) throw wrong(`has no served version of ${kind}`)
  const name = pascal(kind)
  const stored = versions.find(({ storage }) => storage === true) ?? versions[0]
  const parts = versions.map((version) =>
    versionTypes(version, versions.length === 1 ? name : name + pascal(String(version.name)), group, kind),
  )
  const alias = `/** The version that is stored. */\nexport type ${name} = ${name}${pascal(String(stored?.name))}\n`
  return { name, parts: versions.length === 1 ? parts : [...parts, alias] }
}

/** `spec` and `status` get names of their own, which code needs most; everything deeper is written in place. */
const versionTypes = ({ name: version, schema }: Json, name: string, group: string, kind: string): string => {
  const root: Json = isRecord(schema) && isRecord(schema.openAPIV3Schema) ? schema.openAPIV3Schema : {}
  const { apiVersion: _a, kind: _k, metadata: _m, ...properties } = isRecord(root.properties) ? root.properties : {}
  const named: string[] = []
  const members = Object.entries(properties).map(([member, of]) => {
    const type = typeOf(of, "", objectType)
    const [line = ""] = membersOf(root, { [member]: of }, "  ", objectType)
    if ((member !== "spec" && member !== "status") || !type.startsWith("{\n") || !type.endsWith("}")) return line
    const interfaceName = name + pascal(member)
    named.push(`${commentOf(of, "")}export interface ${interfaceName} ${type}\n`)
    const isRequired = Array.isArray(root.required) && root.required.includes(member)
    return `  readonly ${member}${isRequired ? "" : "?"}: ${interfaceName}${isRequired ? "" : " | undefined"}`
  })
  const head = [
    `  readonly apiVersion: ${JSON.stringify(`${group}/${String(version)}`)}`,
    `  readonly kind: ${JSON.stringify(kind)}`,
  ]
  const body = [...head, ...members].join("\n")
  return [...named, `${commentOf(root, "")}export interface ${name} extends ${objectType} {\n${body}\n}\n`].join("\n")
}

/** `simple-pod` is SimplePod, `v1alpha1` is V1alpha1. */
const pascal = (text: string): string =>
  text.replaceAll(/(?:^|-)([A-Za-z])/g, (_, letter: string) => letter.toUpperCase()).replaceAll(/\W/g, "")

const wrong = (problem: string): UnusableDefinition => new UnusableDefinition({ problem })
