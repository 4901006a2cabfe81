/**
 * Writes the schemas of the built-in kinds into the repository, from the OpenAPI v3 documents of a real API server:
 *
 *   node scripts/openapi.ts KUBECONFIG GO_MODULES
 *
 * GO_MODULES is the directory that holds `k8s.io/api@v0.34.4` and its neighbours (`$(go env GOMODCACHE)`): OpenAPI calls
 * every string a string, but the server's messages about wrong JSON types name the Go type (`v1.PullPolicy`).
 *
 * One zstd file per group and version below src/apiserver/openapi/data, exactly the bytes that the server sent, and an
 * index with the hashes under which the server offers them. Fails, and writes nothing, when two documents describe one
 * schema differently: the reader of this data keeps one description per schema name.
 */

import { mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises"
import { request } from "node:https"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { constants, zstdCompressSync } from "node:zlib"
import { KubeConfig } from "@kubernetes/client-node"

/** The groups whose kinds the sandbox serves, and the reviews that clients ask it for. */
const paths = [
  "api/v1",
  "apis/apiextensions.k8s.io/v1",
  "apis/apps/v1",
  "apis/authentication.k8s.io/v1",
  "apis/authorization.k8s.io/v1",
  "apis/autoscaling/v1",
  "apis/autoscaling/v2",
  "apis/batch/v1",
  "apis/coordination.k8s.io/v1",
  "apis/events.k8s.io/v1",
  "apis/policy/v1",
  "apis/rbac.authorization.k8s.io/v1",
  "apis/scheduling.k8s.io/v1",
  "apis/storage.k8s.io/v1",
]

const folder = new URL("../src/apiserver/openapi/data/", import.meta.url)

const main = async (kubeconfig: string, modules: string): Promise<void> => {
  const get = await openServer(kubeconfig)
  const version = JSON.parse((await get("/version")).toString()) as { gitVersion: string }
  const index = JSON.parse((await get("/openapi/v3")).toString()) as {
    paths: { [path: string]: { serverRelativeURL: string } }
  }
  const files: Array<{ path: string; hash: string; bytes: Buffer }> = []
  for (const path of paths) {
    const url = index.paths[path]?.serverRelativeURL
    if (url === undefined) throw new Error(`the server has no document ${path}`)
    const hash = new URL(url, "https://server").searchParams.get("hash") ?? ""
    files.push({ path, hash, bytes: await get(url) })
  }
  const schemas = mergeSchemas(files)
  const goTypes = await readGoTypes(schemas, modules, version.gitVersion.replace("v1.", "v0."))

  await mkdir(folder, { recursive: true })
  for (const name of await readdir(folder)) if (name.endsWith(".zst")) await rm(new URL(name, folder))
  let total = 0
  for (const { path, bytes } of files) {
    const compressed = zstdCompressSync(bytes, { params: { [constants.ZSTD_c_compressionLevel]: 22 } })
    total += compressed.length
    await writeFile(new URL(`${path.replaceAll("/", "-")}.json.zst`, folder), compressed)
  }
  await writeFile(new URL("go-types.json", folder), `${JSON.stringify(goTypes, undefined, 1)}\n`)
  const documents = Object.fromEntries(files.map(({ path, hash }) => [path, hash]))
  const origin =
    `The OpenAPI v3 documents of the API server of Kubernetes ${version.gitVersion.slice(1)}, unchanged, by ` +
    "scripts/openapi.ts. Kubernetes is licensed under the Apache License 2.0."
  const text = `${JSON.stringify({ origin, kubernetes: version.gitVersion.slice(1), documents }, undefined, 2)}\n`
  await writeFile(new URL("index.json", folder), text)
  console.log(`${files.length} documents, ${Math.round(total / 1000)} kB in ${fileURLToPath(folder)}`)
}

/** GET with the credentials of the kubeconfig's current context; rejects for anything but 200. */
const openServer = async (kubeconfig: string): Promise<(path: string) => Promise<Buffer>> => {
  const credentials = new KubeConfig()
  credentials.loadFromFile(kubeconfig)
  const server = credentials.getCurrentCluster()?.server
  if (server === undefined) throw new Error(`${kubeconfig} names no cluster`)
  const options = { headers: { "user-agent": "kubereel" } }
  await credentials.applyToHTTPSOptions(options)
  return (path) =>
    new Promise((resolve, reject) => {
      const sent = request(new URL(path, server), options, (response) => {
        const chunks: Buffer[] = []
        response.on("error", reject)
        response.on("data", (chunk: Buffer) => chunks.push(chunk))
        response.on("end", () => {
          if (response.statusCode === 200) resolve(Buffer.concat(chunks))
          else reject(new Error(`${path}: ${response.statusCode}`))
        })
      })
      sent.on("error", reject)
      sent.end()
    })
}

interface Schema {
  readonly properties?: { readonly [name: string]: unknown }
}

/** Every schema of every document by name. */
const mergeSchemas = (
  files: ReadonlyArray<{ readonly path: string; readonly bytes: Buffer }>,
): ReadonlyMap<string, Schema> => {
  const known = new Map<string, Schema>()
  for (const { path, bytes } of files) {
    const document = JSON.parse(bytes.toString()) as { components: { schemas: { [name: string]: Schema } } }
    for (const [name, schema] of Object.entries(document.components.schemas)) {
      const other = known.get(name)
      if (other !== undefined && JSON.stringify(other) !== JSON.stringify(schema))
        throw new Error(`${path} describes ${name} as no other document does`)
      known.set(name, schema)
    }
  }
  return known
}

/**
 * The Go types that OpenAPI does not tell, `{schema: {field: type}}`: strings with a name of their own, alone (`v1.Phase`),
 * in lists and as keys of maps. Types print as Go's reflection prints them: the package's name, not its path.
 */
const readGoTypes = async (
  schemas: ReadonlyMap<string, Schema>,
  modules: string,
  version: string,
): Promise<{ [schema: string]: { [field: string]: string } }> => {
  const packages = new Map<string, Promise<GoPackage>>()
  const found: { [schema: string]: { [field: string]: string } } = {}
  for (const [schema, { properties = {} }] of schemas) {
    const match = /^io\.k8s\.([\w-]+)\.(.+)\.(\w+)$/.exec(schema)
    if (match === null) throw new Error(`no idea where the Go source of ${schema} is`)
    const [, module = "", path = "", struct = ""] = match
    const directory = join(modules, "k8s.io", `${module}@${version}`, ...path.split("."))
    const parsed = packages.get(directory) ?? readGoPackage(directory)
    packages.set(directory, parsed)
    const fields = goFields(await parsed, struct)
    for (const field of Object.keys(properties)) {
      const type = fields.get(field)
      if (type === undefined) continue
      const named = /^(?:\[\]|map\[string\])?[\w]+\.\w+$|^map\[\w+\.\w+\]/.test(type)
      const schemaText = JSON.stringify(properties[field])
      if (named && !schemaText.includes('"$ref"')) found[schema] = { ...found[schema], [field]: type }
    }
  }
  return found
}

interface GoPackage {
  /** The fields of each struct by their JSON name; embedded structs under the key `,inline` joined by spaces. */
  readonly structs: ReadonlyMap<string, ReadonlyMap<string, string>>
}

const readGoPackage = async (directory: string): Promise<GoPackage> => {
  const structs = new Map<string, Map<string, string>>()
  const name = directory.split("/").at(-1) ?? ""
  for (const file of await readdir(directory)) {
    if (!/^[\w]*types[\w]*\.go$|^(?:meta|controller_ref|micro_time|time|duration)\.go$/.test(file)) continue
    const source = await readFile(join(directory, file), "utf8")
    for (const [, struct = "", body = ""] of source.matchAll(/^type (\w+) struct \{\n([\s\S]*?)^\}/gm)) {
      const fields = new Map<string, string>()
      for (const [, type = "", key = ""] of body.matchAll(/^\t\w+ +([\w.*[\]]+) +`json:"(\w+)/gm))
        fields.set(key, printedType(type, name))
      for (const [, embedded = ""] of body.matchAll(/^\t(\w+) +`json:",inline/gm))
        fields.set(",inline", `${fields.get(",inline") ?? ""} ${embedded}`.trim())
      structs.set(struct, fields)
    }
  }
  return { structs }
}

const goFields = (source: GoPackage, struct: string): ReadonlyMap<string, string> => {
  const own = source.structs.get(struct) ?? new Map<string, string>()
  const embedded = (own.get(",inline") ?? "").split(" ").filter((name) => name !== "")
  return new Map([...embedded.flatMap((name) => [...goFields(source, name)]), ...own])
}

const basicTypes = new Set(["string", "bool", "int32", "int64", "float64", "byte", "int", "map"])

const printedType = (type: string, packageName: string): string =>
  type
    .replaceAll("*", "")
    .replaceAll(/\w*v1\./g, "v1.")
    .replaceAll(/(?<![.\w])\w+(?![.\w])/g, (word) => (basicTypes.has(word) ? word : `${packageName}.${word}`))

const [kubeconfig, modules] = process.argv.slice(2)
if (kubeconfig === undefined || modules === undefined) {
  console.error("usage: node scripts/openapi.ts KUBECONFIG GO_MODULES")
  process.exitCode = 2
} else await main(kubeconfig, modules)
