/**
 * Writes the schemas of the built-in kinds into the repository, from the OpenAPI v3 documents of a real API server:
 *
 *   node scripts/openapi.ts KUBECONFIG
 *
 * One zstd file per group and version below src/apiserver/openapi/data, exactly the bytes that the server sent, and an
 * index with the server's hashes. Fails, and writes nothing, if two documents describe one schema differently: the
 * reader of this data keeps one description per schema name.
 */

import { mkdir, readdir, rm, writeFile } from "node:fs/promises"
import { request } from "node:https"
import { fileURLToPath } from "node:url"
import { constants, zstdCompressSync } from "node:zlib"
import { KubeConfig } from "@kubernetes/client-node"

/** The groups whose kinds the sandbox serves, and the reviews that clients request. */
const paths = [
  "api/v1",
  "apis/admissionregistration.k8s.io/v1",
  "apis/apiextensions.k8s.io/v1",
  "apis/apps/v1",
  "apis/authentication.k8s.io/v1",
  "apis/authorization.k8s.io/v1",
  "apis/autoscaling/v1",
  "apis/autoscaling/v2",
  "apis/batch/v1",
  "apis/certificates.k8s.io/v1",
  "apis/coordination.k8s.io/v1",
  "apis/discovery.k8s.io/v1",
  "apis/events.k8s.io/v1",
  "apis/flowcontrol.apiserver.k8s.io/v1",
  "apis/networking.k8s.io/v1",
  "apis/node.k8s.io/v1",
  "apis/policy/v1",
  "apis/rbac.authorization.k8s.io/v1",
  "apis/resource.k8s.io/v1",
  "apis/scheduling.k8s.io/v1",
  "apis/storage.k8s.io/v1",
]

const folder = new URL("../src/apiserver/openapi/data/", import.meta.url)

const main = async (kubeconfig: string): Promise<void> => {
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
  refuseContradictions(files)

  await mkdir(folder, { recursive: true })
  for (const name of await readdir(folder)) if (name.endsWith(".zst")) await rm(new URL(name, folder))
  let total = 0
  for (const { path, bytes } of files) {
    const compressed = zstdCompressSync(bytes, { params: { [constants.ZSTD_c_compressionLevel]: 22 } })
    total += compressed.length
    await writeFile(new URL(`${path.replaceAll("/", "-")}.json.zst`, folder), compressed)
  }
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

/** Throws if two documents describe one schema differently. */
const refuseContradictions = (files: ReadonlyArray<{ readonly path: string; readonly bytes: Buffer }>): void => {
  const known = new Map<string, string>()
  for (const { path, bytes } of files) {
    const document = JSON.parse(bytes.toString()) as { components: { schemas: { [name: string]: unknown } } }
    for (const [name, schema] of Object.entries(document.components.schemas)) {
      const text = JSON.stringify(schema)
      if ((known.get(name) ?? text) !== text) throw new Error(`${path} describes ${name} as no other document does`)
      known.set(name, text)
    }
  }
}

const [kubeconfig] = process.argv.slice(2)
if (kubeconfig === undefined) {
  console.error("usage: node scripts/openapi.ts KUBECONFIG")
  process.exitCode = 2
} else await main(kubeconfig)
