/**
 * Writes the data that the sandbox needs to read protobuf bodies into the repository, from the sources of Kubernetes:
 *
 *   node scripts/protobuf.ts GO_MODULES [VERSION]
 *
 * GO_MODULES is the directory with `k8s.io/api@v0.34.4` and its siblings (`$(go env GOMODCACHE)`); VERSION is their
 * version, default v0.34.4.
 *
 * A message is described by two files: `generated.proto` has its types, and the Go structs it was generated from have
 * the JSON names and show which fields encoding/json omits. Both have the field's number. Only messages that a served
 * kind reaches are kept. Fails, and writes nothing, if the two files contradict each other.
 *
 * One zstd file below src/sandbox/protobuf/data; its form is described in src/sandbox/protobuf/descriptors.ts.
 */

import { mkdir, readdir, readFile, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { constants, zstdCompressSync } from "node:zlib"
import protobuf from "protobufjs"

/** Go package to the group and version of its kinds; without one, only its messages are used. */
const packages: Readonly<Record<string, string | undefined>> = {
  "api/core/v1": "v1",
  "api/apps/v1": "apps/v1",
  "api/admissionregistration/v1": "admissionregistration.k8s.io/v1",
  "api/authentication/v1": "authentication.k8s.io/v1",
  "api/authorization/v1": "authorization.k8s.io/v1",
  "api/autoscaling/v1": "autoscaling/v1",
  "api/autoscaling/v2": "autoscaling/v2",
  "api/batch/v1": "batch/v1",
  "api/certificates/v1": "certificates.k8s.io/v1",
  "api/coordination/v1": "coordination.k8s.io/v1",
  "api/discovery/v1": "discovery.k8s.io/v1",
  "api/events/v1": "events.k8s.io/v1",
  "api/flowcontrol/v1": "flowcontrol.apiserver.k8s.io/v1",
  "api/networking/v1": "networking.k8s.io/v1",
  "api/node/v1": "node.k8s.io/v1",
  "api/policy/v1": "policy/v1",
  "api/rbac/v1": "rbac.authorization.k8s.io/v1",
  "api/resource/v1": "resource.k8s.io/v1",
  "api/scheduling/v1": "scheduling.k8s.io/v1",
  "api/storage/v1": "storage.k8s.io/v1",
  "apiextensions-apiserver/pkg/apis/apiextensions/v1": "apiextensions.k8s.io/v1",
  "apimachinery/pkg/apis/meta/v1": undefined,
}

/** Messages whose JSON is not an object of their fields. */
const special: Readonly<Record<string, string>> = {
  "apimachinery/pkg/api/resource.Quantity": "quantity",
  "apimachinery/pkg/apis/meta/v1.FieldsV1": "raw",
  "apimachinery/pkg/apis/meta/v1.MicroTime": "micro-time",
  "apimachinery/pkg/apis/meta/v1.Time": "time",
  "apimachinery/pkg/runtime.RawExtension": "raw",
  "apimachinery/pkg/util/intstr.IntOrString": "int-or-string",
  "api/authentication/v1.ExtraValue": "strings",
  "api/authorization/v1.ExtraValue": "strings",
  "api/certificates/v1.ExtraValue": "strings",
  "apiextensions-apiserver/pkg/apis/apiextensions/v1.JSON": "raw",
  "apiextensions-apiserver/pkg/apis/apiextensions/v1.JSONSchemaPropsOrArray": "schema-or-array",
  "apiextensions-apiserver/pkg/apis/apiextensions/v1.JSONSchemaPropsOrBool": "schema-or-bool",
  "apiextensions-apiserver/pkg/apis/apiextensions/v1.JSONSchemaPropsOrStringArray": "schema-or-strings",
}

const scalars: Readonly<Record<string, string>> = {
  bool: "bool",
  bytes: "bytes",
  double: "double",
  int32: "int",
  int64: "int",
  string: "string",
}

const folder = new URL("../src/sandbox/protobuf/data/", import.meta.url)
const deleteOptions = "apimachinery/pkg/apis/meta/v1.DeleteOptions"

const main = async (modules: string, version: string): Promise<void> => {
  const structs = new Map<string, GoStruct>()
  const root = new protobuf.Root()
  for (const name of Object.keys(packages)) {
    const [module = "", ...path] = name.split("/")
    const directory = join(modules, "k8s.io", `${module}@${version}`, ...path)
    protobuf.parse(await readFile(join(directory, "generated.proto"), "utf8"), root, { keepCase: true })
    for (const [struct, fields] of await readStructs(directory)) structs.set(`${name}.${struct}`, fields)
  }
  const kinds: Record<string, string> = {}
  for (const [name, { isKind }] of structs) {
    const [path = "", struct = ""] = splitAt(name, name.lastIndexOf("."))
    const apiVersion = packages[path]
    if (isKind && apiVersion !== undefined && !/(?:List|Options)$/.test(struct)) kinds[`${apiVersion}.${struct}`] = name
  }
  const messages: Record<string, ReadonlyArray<FieldEntry>> = {}
  const pending = [...Object.values(kinds), deleteOptions]
  for (let name = pending.pop(); name !== undefined; name = pending.pop()) {
    if (messages[name] !== undefined) continue
    const fields = describe(name, root, structs)
    messages[name] = fields
    for (const [, , type] of fields) {
      const bare = type.replace(/^(?:\[\]|\{\})/, "")
      if (bare.includes("/")) pending.push(bare)
      if (bare.startsWith("schema-")) pending.push("apiextensions-apiserver/pkg/apis/apiextensions/v1.JSONSchemaProps")
    }
  }
  const kubernetes = version.replace("v0.", "1.")
  const origin =
    `The generated.proto files and Go structs of k8s.io/api, apimachinery and apiextensions-apiserver ${version}, by ` +
    "scripts/protobuf.ts. Kubernetes is licensed under the Apache License 2.0."
  const text = JSON.stringify({ origin, kubernetes, kinds, deleteOptions, messages })
  const params = { [constants.ZSTD_c_compressionLevel]: 22 }
  const compressed = zstdCompressSync(text, { params })
  await mkdir(folder, { recursive: true })
  await writeFile(new URL("messages.json.zst", folder), compressed)
  await writeFile(new URL("origin.json", folder), `${JSON.stringify({ origin, kubernetes }, undefined, 2)}\n`)
  const count = Object.keys(messages).length
  console.log(
    `${Object.keys(kinds).length} kinds, ${count} messages, ${compressed.length} bytes in ${fileURLToPath(folder)}`,
  )
}

/** Number, JSON name, type, flags. */
type FieldEntry = readonly [number, string, string, string]

const describe = (
  name: string,
  root: protobuf.Root,
  structs: ReadonlyMap<string, GoStruct>,
): ReadonlyArray<FieldEntry> => {
  const message = root.lookupType(`k8s.io.${name.replaceAll("/", ".").replaceAll("-", "_")}`)
  const struct = structs.get(name)
  if (struct === undefined) throw new Error(`no Go struct for ${name}`)
  const entries: FieldEntry[] = []
  for (const field of struct.fields) {
    const described = message.fieldsArray.find(({ id }) => id === field.number)
    if (described === undefined) throw new Error(`${name}.proto has no field ${field.number}`)
    entries.push([field.number, field.name, typeOf(described, message), field.flags])
  }
  const missing = message.fieldsArray.filter(({ id }) => !entries.some(([number]) => number === id))
  if (missing.length > 0) throw new Error(`${name}: no Go field for ${missing.map((field) => field.name).join(", ")}`)
  return entries
}

const typeOf = (field: protobuf.Field, parent: protobuf.Type): string => {
  const bare = scalars[field.type] ?? messageType(field.type, parent)
  return field.map ? `{}${bare}` : field.repeated ? `[]${bare}` : bare
}

/** Names are relative to their package, or begin with `.k8s.io.` or `k8s.io.` */
const messageType = (type: string, parent: protobuf.Type): string => {
  const own = parent.fullName.slice(1, parent.fullName.lastIndexOf("."))
  const full = type.includes(".") ? type.replace(/^\./, "") : `${own}.${type}`
  const path = full.replace(/^k8s\.io\./, "").replace("apiextensions_apiserver", "apiextensions-apiserver")
  const at = path.lastIndexOf(".")
  const name = `${path.slice(0, at).replaceAll(".", "/")}.${path.slice(at + 1)}`
  return special[name] ?? name
}

interface GoStruct {
  /** Whether it has TypeMeta. */
  readonly isKind: boolean
  readonly fields: ReadonlyArray<{ readonly number: number; readonly name: string; readonly flags: string }>
}

/** The structs with protobuf tags; fields in the order of the source, which is also that of JSON. */
const readStructs = async (directory: string): Promise<ReadonlyMap<string, GoStruct>> => {
  const structs = new Map<string, GoStruct>()
  for (const file of await readdir(directory)) {
    if (!file.endsWith(".go") || file.endsWith("_test.go") || /^(?:zz_)?generated/.test(file)) continue
    const source = await readFile(join(directory, file), "utf8")
    for (const [, name = ""] of source.matchAll(/^type (\w+) struct ?\{\s*\}/gm)) {
      structs.set(name, { isKind: false, fields: [] })
    }
    for (const [, name = "", body = ""] of source.matchAll(/^type (\w+) struct \{\n([\s\S]*?)^\}/gm)) {
      const lines = body.split("\n").filter((line) => !/^\s*\/\//.test(line))
      const fields = lines.flatMap((line) => {
        const [, declared = "", json = "", number = ""] =
          /^\t(.*?)\s*`json:"([^"]*)".*protobuf:"\w+,(\d+),/.exec(line) ?? []
        if (number === "") return []
        const [jsonName = "", ...options] = json.split(",")
        const type = declared.trim().split(/\s+/).at(-1) ?? ""
        const flags = [
          type.startsWith("*") ? "p" : "",
          options.includes("omitempty") ? "o" : "",
          options.includes("omitzero") ? "z" : "",
          options.includes("inline") ? "i" : "",
        ]
        return [{ number: Number(number), name: jsonName, flags: flags.join("") }]
      })
      structs.set(name, { isKind: lines.some((line) => /^\t(?:metav1\.)?TypeMeta\s/.test(line)), fields })
    }
  }
  return structs
}

const splitAt = (text: string, at: number): readonly [string, string] => [text.slice(0, at), text.slice(at + 1)]

const [modules, version = "v0.34.4"] = process.argv.slice(2)
if (modules === undefined) {
  console.error("usage: node scripts/protobuf.ts GO_MODULES [VERSION]")
  process.exitCode = 2
} else await main(modules, version)
