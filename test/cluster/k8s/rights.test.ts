/**
 * The recorder from the image, with the token of its ServiceAccount and nothing else: it records what happens, uses every right
 * that it has, and names the missing one if any is removed.
 */
import { mkdtemp, readFile, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { afterAll, beforeAll, expect, test } from "vitest"
import { type Container, StagedImage } from "../../k8s/staged-image.ts"
import { churn, kubectl, kubectlJson } from "../command.ts"
import { compare, type Rule as DetectRule, type Difference } from "../compare.ts"
import { at, textAt } from "../exact-json.ts"
import { parseLedger } from "../ledger.ts"
import { Observer } from "../observer.ts"
import { redactedLedger } from "../redacted-ledger.ts"
import { type AuditedCluster, openAuditedCluster } from "./audited-cluster.ts"
import { Installation, only, printManifests, type Rule, recorderRole } from "./installation.ts"
import { makeNamespace, makeOwnedPods } from "./owners.ts"

const base = `kubereel-rights-${process.pid}`
const work = `${base}-work`

/** The kinds of the default configuration, where they are, and how changes of them are detected by default. */
const recorded: ReadonlyArray<readonly [gvk: string, path: string, detect: DetectRule["detect"]]> = [
  ["apps/v1.DaemonSet", "/apis/apps/v1/daemonsets", "all"],
  ["apps/v1.Deployment", "/apis/apps/v1/deployments", "all"],
  ["apps/v1.ReplicaSet", "/apis/apps/v1/replicasets", "all"],
  ["apps/v1.StatefulSet", "/apis/apps/v1/statefulsets", "all"],
  ["batch/v1.CronJob", "/apis/batch/v1/cronjobs", "all"],
  ["batch/v1.Job", "/apis/batch/v1/jobs", "all"],
  ["v1.Pod", "/api/v1/pods", "all"],
]

const rules: ReadonlyArray<Rule> = recorderRole(await printManifests("offline")).rules
const isAboutOwners = ({ verbs, resourceNames }: Rule): boolean => verbs.includes("get") && resourceNames === undefined

let audited: AuditedCluster
let image: StagedImage
let directory = ""
const installations: Installation[] = []

beforeAll(async () => {
  audited = await openAuditedCluster()
  image = await StagedImage.stage()
  directory = await mkdtemp(join(tmpdir(), "kubereel-rights-"))
  await makeNamespace(audited.cluster, work)
  await makeOwnedPods(
    audited.cluster,
    work,
    rules.filter(isAboutOwners).flatMap(({ resources }) => resources),
  )
})
afterAll(async () => {
  await image?.[Symbol.asyncDispose]()
  for (const each of installations) await each.remove()
  if (audited !== undefined)
    await kubectl(audited.cluster, "delete", "namespace", work, "--ignore-not-found", "--wait=false")
  await audited?.[Symbol.asyncDispose]()
  await rm(directory, { recursive: true, force: true })
})

const install = async (
  ...options: Parameters<typeof Installation.install> extends [unknown, infer O] ? [O] : never
) => {
  const installed = await Installation.install(audited, ...options)
  installations.push(installed)
  return installed
}

/** Asks for everything. @param excludesOwned leaves out what recorded objects own, for which owners have to be known. */
const askFor = (address: string, token: string | undefined, excludesOwned = false): Promise<Response> => {
  const request = {
    start_ts: 0,
    end_ts: 4_000_000_000,
    export_path: "file:///export",
    filters: { excluded_namespaces: [], excluded_labels: [], excluded_owned: excludesOwned },
    format: "ndjson",
    owner_deadline_ms: 1000,
  }
  const headers = { ...(token !== undefined && { authorization: `Bearer ${token}` }) }
  return fetch(`${address}/export`, { method: "POST", headers, body: JSON.stringify(request) })
}

/** The response to an export. @throws Error if it is refused. */
const exportFrom = async (...request: Parameters<typeof askFor>): Promise<Exported> => {
  const response = await askFor(...request)
  const text = await response.text()
  if (response.status !== 200) throw new Error(`the export failed with ${response.status}: ${text}`)
  return { text, unknownOwners: response.headers.get("kubereel-unknown-owners") ?? "" }
}

interface Exported {
  readonly text: string
  readonly unknownOwners: string
}

/** `get /nodes` for each resource of each rule, with the names that a rule allows. */
const granted = (given: ReadonlyArray<Rule>): ReadonlySet<string> =>
  new Set(
    given.flatMap(({ apiGroups, resources, resourceNames = [""], verbs }) =>
      verbs.flatMap((verb) =>
        resources.flatMap((resource) => resourceNames.map((name) => rightOf(verb, apiGroups[0], resource, name))),
      ),
    ),
  )

const rightOf = (verb: string, group: string, resource: string, name: string): string =>
  `${verb} ${group}/${resource} ${name}`.trim()

/** The requests of an account with that outcome, in the form of {@link granted}. */
const asked = async (
  user: string,
  isWanted: (code: number) => boolean,
  given = rules,
): Promise<ReadonlySet<string>> => {
  const named = new Set(given.flatMap(({ resources, resourceNames }) => (resourceNames === undefined ? [] : resources)))
  const requests = (await audited.requestsOf(user)).filter(({ code }) => isWanted(code))
  return new Set(
    requests.map(({ verb, group, resource, name }) => rightOf(verb, group, resource, named.has(resource) ? name : "")),
  )
}

test("it records a living cluster, and uses every right that it has and no other", async () => {
  const installed = await install({ name: base })
  expect(installed.rules).toEqual(rules)
  const first = await installed.start(image)
  const address = await first.ready()
  const token = await installed.tokenOf("exporter")
  const ledger = join(directory, "ledger")
  const observer = await Observer.start({
    connection: audited.cluster.connection,
    kinds: recorded.map(([gvk, path]) => ({ gvk, path })),
    file: ledger,
  })
  const prefix = `${base}-churn`
  try {
    await churn(audited.cluster, prefix)
    const differences = async (): Promise<ReadonlyArray<Difference>> => {
      await observer.settle()
      const detection = new Map(recorded.map(([gvk, , detect]) => [gvk, { detect }]))
      const key = await readFile(join(image.directory, "var/lib/kubereel/recording/redaction.key"), "utf8")
      const expected = redactedLedger(parseLedger(await readFile(ledger, "utf8")), key)
      return compare((await exportFrom(address, token)).text, expected, detection)
    }
    // Test, recorder and cluster share a machine; the recorder exports within 250 ms of receipt.
    let found = await differences()
    for (let tries = 0; found.length > 0 && tries < 20; tries++) {
      await sleep(250)
      found = await differences()
    }
    expect(found).toEqual([])
    expect((await exportFrom(address, token, true)).unknownOwners).toBe("")
    const { text } = await exportFrom(address, token)
    for (const [gvk] of recorded) expect(text).toContain(`"gvk":"${gvk}"`)
  } finally {
    await observer.stop()
    await churn(audited.cluster, prefix, "clean")
  }
  await refuseConfiguration(first, installed)
  expect(first.log).not.toContain("no Event could be posted")
  await stopInTime(first, installed)
  // An upgrade: the requests on resuming a recording are part of its rights.
  const second = await installed.start(image, { keepsVolumes: true })
  await second.ready()
  await stopInTime(second, installed)
  expect(await asked(installed.user, (code) => code < 300)).toEqual(granted([...rules, ...installed.ownRules]))
  expect(await asked(installed.user, (code) => code === 403)).toEqual(new Set())
})

/** A ConfigMap with a mistake, and the right one again; resolves when the cluster has the Event that names the place. */
const refuseConfiguration = async (container: Container, { name, objects, pod }: Installation): Promise<void> => {
  const text: string = only(objects, "ConfigMap").data["tracer.yml"]
  image.replaceFile("/etc/kubereel/tracer.yml", `${text}  v1.Service: {detekt: all}\n`)
  const found = await container.until(async () => {
    const listed = await kubectlJson(audited.cluster, "get", "events.events.k8s.io", "--namespace", name)
    const items = at(listed, "items")
    // The cluster's controllers have theirs there too.
    const own = (Array.isArray(items) ? items : []).filter(
      (item) => textAt(item, "reportingController") === "kubereel.dev/recorder",
    )
    return own.length > 0 ? own : undefined
  })
  expect(found).toEqual([
    expect.objectContaining({
      type: "Warning",
      reason: "ConfigurationInvalid",
      note: expect.stringMatching(/stays in force.*\/etc\/kubereel\/tracer\.yml:\d+.*detekt/s),
      regarding: expect.objectContaining({ kind: "Pod", ...pod }),
    }),
  ])
  image.replaceFile("/etc/kubereel/tracer.yml", text)
}

const stopInTime = async (container: Container, { gracePeriodSeconds }: Installation): Promise<void> => {
  const { code, tookMs } = await container.terminate()
  expect({ code, log: container.log }).toEqual({ code: 0, log: expect.any(String) })
  expect(tookMs).toBeLessThan(gracePeriodSeconds * 1000)
}

test.each(rules.map((rule, index) => [`${rule.verbs} ${rule.apiGroups[0]}/${rule.resources}`, rule, index] as const))(
  "without the right to %s something named fails, and nothing else",
  async (_, rule, index) => {
    const rest = rules.filter((each) => each !== rule)
    const name = `${base}-without-${index}`
    const installed = await install({
      name,
      change: (object) =>
        object.kind === "ClusterRole" && object.metadata.name === name ? { ...object, rules: rest } : object,
    })
    const container = await installed.start(image)
    const address = await container.listening()
    const missing = granted([rule])
    const token = await installed.tokenOf("exporter")
    const answer = await container.until(async () => {
      const response = await askFor(address, token)
      const text = await response.text()
      // Before the recording is open the response means nothing.
      return response.status === 503 && !/review/.test(text) ? undefined : { status: response.status, text }
    })
    if (rule.verbs.includes("create"))
      expect(answer).toEqual({ status: 503, text: expect.stringContaining(rule.resources[0] ?? "") })
    else expect(answer.status).toBe(200)
    // Every resource of the rule is requested and refused; which of its verbs is tried first is up to the recorder.
    const resources = rule.resources.map((resource) => `${rule.apiGroups[0]}/${resource}`)
    await container.until(async () => {
      const refused = [...(await asked(installed.user, (code) => code === 403))]
      return resources.every((resource) => refused.some((right) => right.split(" ")[1] === resource)) ? true : undefined
    })
    if (rule.verbs.includes("list")) {
      const states = await container.until(async () => {
        const text = await (await fetch(`${address}/readyz?verbose`)).text()
        return rule.resources.every((resource) => text.includes(`resources: ["${resource}"]`)) ? text : undefined
      })
      expect(states.match(/^\[!\]\S+ forbidden: /gm)).toHaveLength(rule.resources.length)
      // One message for all kinds, a second after the first.
      await container.until(async () => (container.log.includes("forbidden") ? true : undefined))
    }
    if (isAboutOwners(rule)) {
      const unknown = await container.until(
        async () => (await exportFrom(address, token, true)).unknownOwners || undefined,
      )
      expect(unknown).toMatch(/^\d+ \(v1\.\w+ /)
      for (const resource of rule.resources)
        expect(container.log).toMatch(new RegExp(`cannot be looked up: /api\\S*/${resource}/`))
    }
    // The remaining rights are enough for all its other requests.
    for (const right of await asked(installed.user, (code) => code === 403)) expect([...missing]).toContain(right)
    await container.terminate()
  },
)

test("without the right to create Events it reports that, and still refuses an unusable configuration", async () => {
  const installed = await install({
    name: `${base}-events`,
    change: (object) =>
      object.kind === "Role" && object.metadata.name.endsWith("-events") ? { ...object, rules: [] } : object,
  })
  const container = await installed.start(image)
  const address = await container.ready()
  image.replaceFile("/etc/kubereel/tracer.yml", "trackedObjects:\n  v1.ConfigMap: {detekt: all}\n")
  await container.until(async () =>
    /no Event could be posted on pod \S+: HTTP 403: .*events\.k8s\.io/.test(container.log) ? true : undefined,
  )
  expect(container.log).toContain("the changed configuration is invalid")
  expect(await (await fetch(`${address}/readyz?verbose`)).text()).not.toMatch(/^\[!\]/m)
  expect((await container.terminate()).code).toBe(0)
})

test("a user without the right to export gets the missing right", async () => {
  const installed = await install({ name: `${base}-export` })
  const container = await installed.start(image)
  const address = await container.ready()
  const answer = async (token: string | undefined): Promise<string> => {
    const response = await askFor(address, token)
    return `${response.status} ${(await response.text()).slice(0, 300)}`
  }
  expect(await answer(undefined)).toMatch(/^401 /)
  expect(await answer("eyJhbGciOiJub25lIn0.e30.")).toMatch(/^401 /)
  expect(await answer(await installed.tokenOf("nobody"))).toMatch(/^403 .*create.*exports\.kubereel\.dev/)
  expect(await answer(await installed.tokenOf("exporter"))).toMatch(/^200 /)
  await container.terminate()
})

test("two namespaces are recorded with a Role in each and no cluster-wide right", async () => {
  const namespaces = [`${base}-shop`, `${base}-stock`]
  for (const name of namespaces) await makeNamespace(audited.cluster, name)
  try {
    for (const [index, namespace] of namespaces.entries()) {
      const installed = await install({
        name: `${base}-role-${index}`,
        words: ["--record-namespace", namespace, "--auth", "none"],
      })
      expect(installed.objects.map(({ kind }) => kind)).not.toContain("ClusterRole")
      const container = await installed.start(image)
      const address = await container.ready()
      for (const name of namespaces)
        await kubectl(audited.cluster, "create", "deployment", `web-${index}`, "--image=nothing", "--namespace", name)
      const text = await container.until(async () => {
        const exported = (await exportFrom(address, undefined)).text
        return /"gvk":"v1.Pod"/.test(exported) ? exported : undefined
      })
      const seen = new Set([...text.matchAll(/"namespace":"([^"]*)","name":"web-/g)].map(([, name]) => name))
      expect(seen).toEqual(new Set([namespace]))
      expect((await exportFrom(address, undefined, true)).unknownOwners).toBe("")
      expect((await container.terminate()).code).toBe(0)
      const requests = await audited.requestsOf(installed.user)
      // It then cannot identify the cluster, and continues without.
      const beyond = requests.filter((each) => each.namespace !== namespace && each.resource !== "namespaces")
      expect(beyond.filter(({ code }) => code !== 403)).toEqual([])
      expect(requests.some(({ verb, code }) => verb === "watch" && code === 200)).toBe(true)
    }
  } finally {
    for (const name of namespaces) await kubectl(audited.cluster, "delete", "namespace", name, "--wait=false")
  }
})
