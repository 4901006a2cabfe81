/**
 * Sends the cases to a real API server and stores its responses, with uid and times normalised:
 *
 *     node test/sandbox/rules/record-defaults.ts KUBECONFIG
 *
 * Creates are dry runs. Updates need an object: it is created in its own namespace, replaced in a dry run and deleted.
 */

import { mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { Agent, request } from "node:https"
import { parse } from "yaml"
import { rulesCases } from "./cases.ts"
import { type Json, normalised, type RecordedCase, recordingFile } from "./recorded-case.ts"
import { collectionOf, customDefinitions, customGroup, merged, namespace, type RulesCase } from "./rules-case.ts"

const kubeconfig = parse(readFileSync(process.argv[2] ?? "", "utf8"))
const server: string = kubeconfig.clusters[0].cluster.server
const token: string = kubeconfig.users[0].user.token
const agent = new Agent({ keepAlive: true, rejectUnauthorized: false })

const send = (method: string, path: string, body?: Json): Promise<{ status: number; body: Json }> =>
  new Promise((resolve, reject) => {
    const headers = { Authorization: `Bearer ${token}`, "Content-Type": "application/json" }
    const call = request(`${server}${path}`, { method, agent, headers }, (response) => {
      const chunks: Buffer[] = []
      response.on("data", (chunk: Buffer) => chunks.push(chunk))
      response.on("end", () => {
        const text = Buffer.concat(chunks).toString("utf8")
        // For unknown paths the API server responds in plain text.
        resolve({ status: response.statusCode ?? 0, body: text.startsWith("{") ? JSON.parse(text) : {} })
      })
    })
    call.on("error", reject)
    call.end(body === undefined ? undefined : JSON.stringify(body))
  })

const settle = async (path: string): Promise<void> => {
  for (let tries = 0; tries < 200; tries++) {
    const { status, body } = await send("GET", path)
    if (status === 404) return
    if (body.kind === "Namespace") await send("PUT", `${path}/finalize`, { ...body, spec: {} })
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}

const record = async (rulesCase: RulesCase): Promise<RecordedCase> => {
  const { name, path, object, update } = rulesCase
  const collection = collectionOf(path)
  if (update === undefined) {
    const answer = await send("POST", `${collection}?dryRun=All`, object)
    return { name, status: answer.status, answer: normalised(answer.body) }
  }
  const item = `${collection}/${String((object.metadata as Json).name)}`
  const created = await send("POST", collection, object)
  if (created.status !== 201) throw new Error(`${name}: ${JSON.stringify(created.body)}`)
  const place = update.subresource === "" ? item : `${item}/${update.subresource}`
  let old = created
  let answer = created
  // Controllers write too; the stored response must be that to a change of the stored state.
  for (let tries = 0; tries < 50; tries++) {
    old = await send("GET", item)
    if (old.status === 404) old = await send("POST", collection, object)
    const base = update.base === "sent" ? object : old.body
    const version = (old.body.metadata as Json).resourceVersion
    const body = merged(merged(base, update.change), { metadata: { resourceVersion: version } })
    answer = await send("PUT", `${place}?dryRun=All`, body)
    if (answer.status !== 409 && answer.status !== 404) break
  }
  await send("DELETE", `${item}?gracePeriodSeconds=0&propagationPolicy=Background`)
  await settle(item)
  const uid = String((old.body.metadata as Json).uid)
  return { name, status: answer.status, old: normalised(old.body), answer: normalised(answer.body, uid) }
}

await send("POST", "/api/v1/namespaces", { metadata: { name: namespace } })
for (let tries = 0; tries < 200; tries++) {
  const { status } = await send("GET", `/api/v1/namespaces/${namespace}/serviceaccounts/default`)
  if (status === 200) break
  await new Promise((resolve) => setTimeout(resolve, 50))
}
for (const definition of customDefinitions) {
  await send("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition)
  for (let tries = 0; tries < 200; tries++) {
    const { status } = await send("GET", collectionOf(`${customGroup}/v1/${definition.spec.names.plural}`))
    if (status === 200) break
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
}
const recorded = new Map<string, RecordedCase[]>()
for (const rulesCase of rulesCases) {
  const file = recordingFile(rulesCase.path)
  recorded.set(file, [...(recorded.get(file) ?? []), await record(rulesCase)])
}
for (const { metadata } of customDefinitions)
  await send("DELETE", `/apis/apiextensions.k8s.io/v1/customresourcedefinitions/${metadata.name}`)
await send("DELETE", `/api/v1/namespaces/${namespace}`)
agent.destroy()
for (const [file, answers] of recorded) {
  const url = new URL(`../../data/apiserver/defaults/${file}`, import.meta.url)
  mkdirSync(new URL(".", url), { recursive: true })
  writeFileSync(url, `[\n${answers.map((answer) => JSON.stringify(answer)).join(",\n")}\n]\n`)
}
