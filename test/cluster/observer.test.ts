/** Tests of the test tools: the observer against a real API server, and the comparison with exports made from its ledger. */

import { mkdtemp, readFile, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { kubectl, kubectlJson } from "./command.ts"
import { compare, type Rule } from "./compare.ts"
import { textAt } from "./exact-json.ts"
import { openTestCluster, type TestCluster } from "./guard.ts"
import { type LedgerLine, type ObjectLine, parseLedger } from "./ledger.ts"
import { Observer } from "./observer.ts"

const namespace = `observer-${process.pid}`
const configMaps = { gvk: "v1.ConfigMap", path: "/api/v1/configmaps" }
const deployments = { gvk: "apps/v1.Deployment", path: "/apis/apps/v1/deployments" }

let cluster: TestCluster
let directory = ""
let ledger: LedgerLine[] = []
let resumed = 0
/** Versions that kubectl got, in the order of its calls. */
const written: { configMap: string[]; deployment: string[] } = { configMap: [], deployment: [] }

const versionOf = async (...words: string[]): Promise<string> =>
  textAt(await kubectlJson(cluster, "-n", namespace, ...words), "metadata", "resourceVersion")

beforeAll(async () => {
  cluster = await openTestCluster()
  directory = await mkdtemp(join(tmpdir(), "kubereel-observer-"))
  await kubectl(cluster, "create", "namespace", namespace)
  const file = join(directory, "ledger")
  const kinds = [configMaps, deployments]
  const observer = await Observer.start({ connection: cluster.connection, kinds, file, watchSeconds: 1 })

  written.configMap.push(await versionOf("create", "configmap", "settings", "--from-literal=n=0"))
  for (let n = 1; n <= 30; n++)
    written.configMap.push(await versionOf("patch", "configmap", "settings", "-p", `{"data":{"n":"${n}"}}`))
  written.deployment.push(await versionOf("create", "deployment", "web", "--image=nginx:1"))
  await kubectl(cluster, "-n", namespace, "rollout", "status", "deployment/web", "--timeout=60s")
  written.deployment.push(await versionOf("patch", "deployment", "web", "-p", `{"spec":{"replicas":3}}`))
  // Not `kubectl label`: it prints the object as it was before.
  written.deployment.push(
    await versionOf("patch", "deployment", "web", "-p", `{"metadata":{"labels":{"tier":"edge"}}}`),
  )
  await kubectl(cluster, "-n", namespace, "rollout", "status", "deployment/web", "--timeout=60s")
  await kubectl(cluster, "-n", namespace, "delete", "deployment", "web")
  await kubectl(cluster, "-n", namespace, "delete", "configmap", "settings")

  await observer.settle()
  resumed = observer.resumed
  await observer.stop()
  // Other tests may use the cluster; their changes do not matter here.
  ledger = parseLedger(await readFile(file, "utf8")).filter(
    (line) => line.line === "list" || textAt(line.object, "metadata", "namespace") === namespace,
  )
})
afterAll(async () => {
  await kubectl(cluster, "delete", "namespace", namespace, "--wait=false")
  await rm(directory, { recursive: true, force: true })
})

const changesOf = (gvk: string, name: string): ObjectLine[] =>
  ledger.filter((line): line is ObjectLine => {
    if (line.line === "list" || line.line === "listed" || line.gvk !== gvk) return false
    return textAt(line.object, "metadata", "name") === name
  })

describe("the observer", () => {
  test("saw every version that was written, once and in order, over watches that end each second", () => {
    const lines = changesOf("v1.ConfigMap", "settings")
    expect(lines.slice(0, -1).map(({ resourceVersion }) => resourceVersion)).toEqual(written.configMap)
    expect(lines.map(({ line }) => line)).toEqual(["ADDED", ...Array(30).fill("MODIFIED"), "DELETED"])
    expect(resumed).toBeGreaterThan(2)
  })

  test("saw what controllers wrote in between", () => {
    const versions = changesOf("apps/v1.Deployment", "web").map(({ resourceVersion }) => resourceVersion)
    expect(versions).toEqual(expect.arrayContaining(written.deployment))
    expect(versions.length).toBeGreaterThan(written.deployment.length + 1)
  })
})

describe("the comparison", () => {
  const revision = "/metadata/annotations/deployment.kubernetes.io~1revision"
  const content: Rule = { detect: "content", ignore: [revision] }
  const rules = new Map<string, Rule>([
    ["v1.ConfigMap", { detect: "all" }],
    ["apps/v1.Deployment", content],
  ])

  /** A hand-made export: all ConfigMaps, the requested versions of the Deployment, and its deletion. */
  const exportLines = (): string[] => {
    const isKept = (line: LedgerLine): line is ObjectLine =>
      line.line !== "list" &&
      (line.gvk === "v1.ConfigMap" || line.line === "DELETED" || written.deployment.includes(line.resourceVersion))
    const events = ledger.filter(isKept).map(({ line, gvk, uid, resourceVersion, object }, index) => {
      const action = line === "DELETED" ? "deleted" : "applied"
      const names = { namespace: textAt(object, "metadata", "namespace"), name: textAt(object, "metadata", "name") }
      return { sequence: index, time: 1_000 + index, action, gvk, uid, ...names, resourceVersion, object }
    })
    return events.map((line) => JSON.stringify(line))
  }
  const problems = (lines: readonly string[]): string[] => {
    const footer = { end: { snapshot: 0, events: lines.length, gaps: 0 } }
    const text = [`{"format":"kubereel"}`, ...lines, JSON.stringify(footer), ""].join("\n")
    return compare(text, ledger, rules).map(({ problem, detail }) => `${problem}: ${detail}`)
  }
  /** Line number of the event that recorded a version. */
  const lineOf = (lines: readonly string[], resourceVersion: string): number =>
    lines.findIndex((line) => textAt(JSON.parse(line), "resourceVersion") === resourceVersion)

  test("accepts an export with each requested change once, without status updates", () => {
    expect(problems(exportLines())).toEqual([])
  })

  test("names a dropped line", () => {
    const lines = exportLines()
    const version = written.configMap[7] ?? ""
    expect(problems(lines.toSpliced(lineOf(lines, version), 1))).toEqual([
      expect.stringMatching(new RegExp(`^missing: MODIFIED v1.ConfigMap ${namespace}/settings .* at ${version}$`)),
    ])
  })

  test("names a repeated line", () => {
    const lines = exportLines()
    const index = lineOf(lines, written.configMap[7] ?? "")
    const repeated = lines.toSpliced(index, 0, lines[index] ?? "")
    expect(problems(repeated)).toContainEqual(expect.stringMatching(/^duplicate: .*settings/))
  })

  test("names swapped lines", () => {
    const lines = exportLines()
    const index = lineOf(lines, written.configMap[7] ?? "")
    const swapped = lines.toSpliced(index, 2, lines[index + 1] ?? "", lines[index] ?? "")
    expect(problems(swapped)).toContainEqual(expect.stringMatching(/^out of order: .*settings/))
  })

  test("names a status update that was not requested", () => {
    const lines = exportLines()
    const extra = changesOf("apps/v1.Deployment", "web").find(
      ({ line, resourceVersion }) => line === "MODIFIED" && !written.deployment.includes(resourceVersion),
    )
    if (extra === undefined) throw new Error("no controller touched the Deployment")
    const at = lineOf(lines, written.deployment[0] ?? "")
    const event = { ...JSON.parse(lines[at] ?? ""), resourceVersion: extra.resourceVersion, object: extra.object }
    expect(problems(lines.toSpliced(at + 1, 0, JSON.stringify(event)))).toContainEqual(
      expect.stringMatching(new RegExp(`^extra: .* applied apps/v1.Deployment ${namespace}/web`)),
    )
  })
})
