/**
 * A real API server tells the recorder who writes, and its own log says whether what the recorder makes of it is true.
 * The recorder is killed and started again meanwhile.
 *
 * A second recorder gets the same log without its bodies, as level `Metadata` would have it.
 */
import { execFile } from "node:child_process"
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { patient } from "../../harness/patience.ts"
import { makeCertificates } from "../../kube/certificates.ts"
import { churn, kubectl, type Recorder, startRecorder } from "../command.ts"
import { open, readText } from "../connection.ts"
import { freePorts } from "../free-ports.ts"
import type { TestCluster } from "../guard.ts"
import { OwnControlPlane } from "../k8s/own-control-plane.ts"

const policy = fileURLToPath(new URL("policy.yaml", import.meta.url))
const reel = fileURLToPath(new URL("../../../bin/reel.js", import.meta.url))
const prefix = "named"

interface Author {
  readonly user: string
  readonly userAgent: string
  readonly verb: string
  readonly subresource?: string
  readonly auditID?: string
  readonly isInferred?: true
}

interface Change {
  readonly type: string
  readonly gvk: string
  readonly namespace: string
  readonly name: string
  readonly uid: string
  readonly resourceVersion: string
  readonly time: number
  readonly received?: number
  readonly managers?: ReadonlyArray<{ readonly time: string }>
  readonly author?: Author
}

interface Entry {
  readonly auditID: string
  readonly verb: string
  readonly user: { readonly username: string }
  readonly userAgent: string
  readonly objectRef: { readonly namespace?: string; readonly name?: string; readonly subresource?: string }
  readonly responseStatus: { readonly code: number }
  readonly requestReceivedTimestamp: string
  readonly responseObject?: { readonly metadata?: { readonly uid?: string; readonly resourceVersion?: string } }
}

let directory = ""
const path = (name: string): string => join(directory, name)
const ends: Array<() => Promise<unknown>> = []
let log: ReadonlyArray<Entry> = []
/**
 * What happened while the workload ran: from the recorder that the API server told who wrote, and from the one with the
 * log without bodies.
 */
let told: ReadonlyArray<Change> = []
let imported: ReadonlyArray<Change> = []
let killed = { from: 0, until: 0 }

const changesOf = async ({ address }: Recorder, from: number): Promise<ReadonlyArray<Change>> => {
  const response = await open({ server: address, options: { rejectUnauthorized: false } }, `/v1/changes?from=${from}`)
  const text = await readText(response)
  if (response.statusCode !== 200) throw new Error(`${address}: HTTP ${response.statusCode}: ${text}`)
  const { items } = JSON.parse(text) as { readonly items: ReadonlyArray<Change> }
  // What a first list has was made before.
  return items.filter(({ type }) => type !== "appeared")
}

const micros = (): number => Date.now() * 1000

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "kubereel-authors-"))
  ends.push(() => rm(directory, { recursive: true, force: true }))
  const { authority, server } = makeCertificates()
  const token = "a-token-of-the-api-server"
  const port = (await freePorts(5)) + 4
  const kubeconfig = {
    ...{ apiVersion: "v1", kind: "Config", "current-context": "audit" },
    clusters: [
      {
        name: "recorder",
        cluster: { server: `https://127.0.0.1:${port}/v1/audit`, "certificate-authority": path("ca.pem") },
      },
    ],
    users: [{ name: "api-server", user: { token } }],
    contexts: [{ name: "audit", context: { cluster: "recorder", user: "api-server" } }],
  }
  await Promise.all([
    writeFile(path("ca.pem"), authority),
    writeFile(path("server.pem"), server.certificate),
    writeFile(path("server.key"), server.key),
    writeFile(path("token"), token),
    writeFile(path("webhook.json"), JSON.stringify(kubeconfig)),
    mkdir(path("told"), { mode: 0o700 }),
    mkdir(path("imported"), { mode: 0o700 }),
  ])
  // A batch is sent five times, within 80 s by default and half a minute here: a recorder that starts on a busy machine
  // takes as long.
  const flags = `--audit-webhook-config-file=${path("webhook.json")} --audit-webhook-batch-max-wait=1s --audit-webhook-initial-backoff=4s`
  const plane = await OwnControlPlane.start({ nodes: 2, flags, audit: policy })
  ends.push(async () => plane[Symbol.asyncDispose]())
  const options = ["--listen", String(port), "--tls-cert", path("server.pem"), "--tls-key", path("server.key")]
  const start = () =>
    startRecorder(plane.cluster, undefined, path("told"), [...options, "--audit-token-file", path("token")])
  let recorder = await start()
  ends.push(() => recorder.stop())
  const other = await startRecorder(plane.cluster, undefined, path("imported"))
  const cluster = await as(plane.cluster, "workload")
  const from = micros()
  const workload = churn(cluster, prefix)
  await sleep(9000)
  killed = { from: micros(), until: 0 }
  await recorder.kill()
  recorder = await start()
  killed.until = micros()
  await workload
  // It only removes a field, which leaves no sign in the object.
  await kubectl(cluster, "-n", `${prefix}-a`, "label", "deployment", "web", "tier-")
  await churn(cluster, prefix, "clean")
  const until = micros()
  await other.stop()
  log = entriesIn(await readFile(plane.auditLog, "utf8"))
  await writeFile(path("metadata.log"), log.map(withoutBodies).join("\n"))
  await promisify(execFile)(process.execPath, [
    reel,
    "import",
    "audit",
    path("metadata.log"),
    "--into",
    path("imported"),
  ])
  const served = await startRecorder(plane.cluster, undefined, path("imported"))
  imported = (await changesOf(served, from)).filter(({ time }) => time < until)
  await served.stop()
  const deadline = performance.now() + patient(20_000)
  do {
    told = (await changesOf(recorder, from)).filter(({ time }) => time < until)
  } while (told.some(({ author }) => author === undefined) && performance.now() < deadline && (await sleep(1000, true)))
}, 240_000)
afterAll(async () => {
  for (const end of ends.toReversed()) await end()
}, 60_000)

/**
 * The cluster as an account of its own, so that its users are told apart from controllers, which are all one
 * administrator here.
 */
const as = async (cluster: TestCluster, account: string): Promise<TestCluster> => {
  await kubectl(cluster, "create", "serviceaccount", account)
  await kubectl(
    cluster,
    "create",
    "clusterrolebinding",
    account,
    "--clusterrole=cluster-admin",
    `--serviceaccount=default:${account}`,
  )
  const token = (await kubectl(cluster, "create", "token", account)).trim()
  const kubeconfig = path(`${account}.kubeconfig`)
  await writeFile(kubeconfig, (await readFile(cluster.kubeconfig, "utf8")).replace(/token: [^}]+/, `token: ${token}`))
  return { ...cluster, kubeconfig }
}

const entriesIn = (text: string): ReadonlyArray<Entry> =>
  text
    .split("\n")
    .slice(0, -1)
    .map((line) => JSON.parse(line) as Entry)
    .filter(({ responseStatus: { code } }) => code < 300)

const withoutBodies = ({ responseObject: _response, ...entry }: Entry): string =>
  JSON.stringify({ ...entry, requestObject: undefined, level: "Metadata" })

const describeChange = ({ type, gvk, namespace, name, resourceVersion }: Change): string =>
  `${type} ${gvk} ${namespace}/${name} ${resourceVersion}`

const userOf = ({ user, userAgent, verb }: Entry): string => [user.username, userAgent, verb].join()

/** Whether the log's request was to the object, or to all of its namespace. */
const isAbout = ({ objectRef }: Entry, { namespace, name }: Change): boolean =>
  (objectRef.name === undefined || objectRef.name === name) && [namespace, name].includes(objectRef.namespace ?? "")

/** ms around a change in which a request may have led to it. */
const nearMs = 5000

/** What is wrong with who is named, a sentence each. */
const wrongNames = (changes: ReadonlyArray<Change>): ReadonlyArray<string> => {
  const byID = new Map(log.map((entry) => [entry.auditID, entry]))
  // A request that changed nothing returns the version that another one wrote, so the first counts.
  const writers = new Map<string, Entry>()
  for (const entry of log.toSorted((one, two) =>
    one.requestReceivedTimestamp < two.requestReceivedTimestamp ? -1 : 1,
  )) {
    const { uid, resourceVersion } = entry.responseObject?.metadata ?? {}
    const version = `${uid} ${resourceVersion}`
    if (uid !== undefined && !writers.has(version)) writers.set(version, entry)
  }
  return changes.flatMap((change) => {
    const { author, uid, type, resourceVersion } = change
    if (author === undefined) return []
    const wrote = type === "deleted" ? undefined : writers.get(`${uid} ${resourceVersion}`)
    const said = [author.user, author.userAgent, author.verb].join()
    const named = author.auditID === undefined ? undefined : byID.get(author.auditID)
    const isNear = ({ requestReceivedTimestamp }: Entry): boolean =>
      Math.abs(Date.parse(requestReceivedTimestamp) - change.time / 1000) < nearMs
    // Without an ID it was one of several requests of one user.
    const possible =
      named === undefined
        ? log.filter((entry) => isNear(entry) && isAbout(entry, change) && userOf(entry) === said)
        : [named].filter((entry) => isAbout(entry, change) && userOf(entry) === said)
    const isIt = wrote === undefined ? possible.length > 0 : possible.includes(wrote)
    return isIt
      ? []
      : [`${describeChange(change)}: ${said} ${author.auditID}, and it was ${JSON.stringify(wrote)?.slice(0, 300)}`]
  })
}

/** How many have a user, and how many of those by time. */
const countsOf = (changes: ReadonlyArray<Change>): string => {
  const named = changes.flatMap(({ author }) => author ?? [])
  return `${named.length} of ${changes.length} changes name a user, ${named.filter(({ isInferred }) => isInferred).length} by time`
}

describe("an API server at level RequestResponse", () => {
  test("names the user of every change of every recorded kind, although the recorder is killed meanwhile", () => {
    console.info(`RequestResponse: ${countsOf(told)}`)
    expect(told.filter(({ author }) => author === undefined).map(describeChange)).toEqual([])
    expect(told.length).toBeGreaterThan(200)
    expect(told.filter(({ time }) => time > killed.from && time < killed.until).length).toBeGreaterThan(5)
    const users = new Set(told.map(({ author }) => author?.user))
    expect(users).toContain("system:serviceaccount:default:workload")
    expect(users).toContain("admin")
  })

  test("names none that its log does not", () => {
    expect(wrongNames(told)).toEqual([])
  })

  test("names by time only what no version can tell", () => {
    // Removed fields, the mark of a deleted collection, the end of a grace period, and `scale`, whose entry in
    // managedFields has no time.
    const signed = told.filter(
      ({ author, managers }) => author?.isInferred && managers?.some(({ time }) => time !== ""),
    )
    expect(signed.map(describeChange)).toEqual([])
  })
})

describe("a log without bodies, as of level Metadata", () => {
  test("names most users, and no wrong one", () => {
    console.info(`Metadata: ${countsOf(imported)}`)
    expect(wrongNames(imported)).toEqual([])
    expect(imported.filter(({ author }) => author !== undefined).length).toBeGreaterThan(imported.length / 2)
  })

  test("names no one who made what the server gave its name, nor who removed a pod that was marked", () => {
    const unnamed = imported.filter(({ author }) => author === undefined)
    expect(unnamed.some(({ type, gvk }) => type === "created" && gvk === "v1.Pod")).toBe(true)
    expect(unnamed.some(({ type, gvk }) => type === "deleted" && gvk === "v1.Pod")).toBe(true)
  })
})
