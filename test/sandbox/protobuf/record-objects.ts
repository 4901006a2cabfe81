/**
 * Requests objects from a real API server in both forms and stores the responses:
 *
 *     node test/sandbox/protobuf/record-objects.ts KUBECONFIG
 *
 * The creates of test/sandbox/rules as dry runs, one after the other, and the first existing objects of every kind, with
 * the status that controllers have written.
 */

import { readFileSync, writeFileSync } from "node:fs"
import { Agent, request } from "node:https"
import { constants, zstdCompressSync } from "node:zlib"
import { parse } from "yaml"
import { builtinResources, verbsOf } from "../../../src/apiserver/index.ts"
import { rulesCases } from "../rules/cases.ts"
import { clusterScoped, customGroup } from "../rules/rules-case.ts"
import { type RecordedObject, recordingFile } from "./recorded-objects.ts"

const kubeconfig = parse(readFileSync(process.argv[2] ?? "", "utf8"))
const server: string = kubeconfig.clusters[0].cluster.server
const token: string = kubeconfig.users[0].user.token
const agent = new Agent({ keepAlive: true, rejectUnauthorized: false })

const send = (method: string, path: string, accept: string, body?: object): Promise<{ status: number; body: Buffer }> =>
  new Promise((resolve, reject) => {
    const headers = { Authorization: `Bearer ${token}`, "Content-Type": "application/json", Accept: accept }
    const call = request(`${server}${path}`, { method, agent, headers }, (response) => {
      const chunks: Buffer[] = []
      response.on("data", (chunk: Buffer) => chunks.push(chunk))
      response.on("end", () => resolve({ status: response.statusCode ?? 0, body: Buffer.concat(chunks) }))
    })
    call.on("error", reject)
    call.end(body === undefined ? undefined : JSON.stringify(body))
  })

const json = "application/json"
const protobuf = "application/vnd.kubernetes.protobuf"
const recorded: RecordedObject[] = []

const both = async (name: string, method: string, path: string, body?: object): Promise<void> => {
  const text = await send(method, path, json, body)
  const bytes = await send(method, path, protobuf, body)
  if (text.status >= 300 || bytes.status >= 300) return
  const first = (JSON.parse(text.body.toString()) as { metadata: { resourceVersion?: string } }).metadata
  // A controller wrote in between.
  if (first.resourceVersion !== undefined && !bytes.body.includes(first.resourceVersion)) return
  recorded.push({ name, protobuf: bytes.body.toString("base64"), json: text.body.toString() })
}

for (const { name, path, object, update } of rulesCases) {
  const { metadata } = object as { metadata: { name?: string } }
  // The server would generate two names.
  if (update !== undefined || path.startsWith(customGroup) || metadata.name === undefined) continue
  const parts = path.split("/")
  const plural = parts.at(-1) ?? ""
  const root = parts.length === 2 ? `/api/${parts[0]}` : `/apis/${parts[0]}/${parts[1]}`
  const collection = clusterScoped.has(plural) ? `${root}/${plural}` : `${root}/namespaces/default/${plural}`
  await both(`${path}: ${name}`, "POST", `${collection}?dryRun=All`, object)
}
for (const resource of builtinResources) {
  const { gvk, plural, namespaced } = resource
  if (!verbsOf(resource).includes("list")) continue
  const root = gvk.group === "" ? "/api/v1" : `/apis/${gvk.group}/${gvk.version}`
  const list = JSON.parse((await send("GET", `${root}/${plural}?limit=3`, json)).body.toString()) as {
    items: Array<{ metadata: { name: string; namespace?: string } }>
  }
  for (const { metadata } of list.items) {
    const place = namespaced ? `${root}/namespaces/${metadata.namespace}/${plural}` : `${root}/${plural}`
    const name = `${root}/${plural} ${metadata.name}`
    await both(name, "GET", `${place}/${encodeURIComponent(metadata.name)}`)
  }
}
agent.destroy()
const params = { [constants.ZSTD_c_compressionLevel]: 22 }
writeFileSync(recordingFile, zstdCompressSync(JSON.stringify(recorded), { params }))
console.log(`${recorded.length} objects`)
