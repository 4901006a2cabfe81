/** `reel get`, `history`, `events`, `diff` and `why`, of a recording in a directory. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, beforeAll, expect, test } from "vitest"
import { parse } from "yaml"
import type { Command } from "../../src/cli/command-line/command.ts"
import { exitCodes } from "../../src/cli/command-line/exit-codes.ts"
import { diffCommand } from "../../src/cli/diff.ts"
import { eventsCommand } from "../../src/cli/events.ts"
import { getCommand } from "../../src/cli/get.ts"
import { historyCommand } from "../../src/cli/history.ts"
import { whyCommand } from "../../src/cli/why.ts"
import { ran } from "./commands-in.ts"
import { recordStory } from "./past-recording.ts"

let place: string
let directory: string
let another: string
let zone: string | undefined
beforeAll(() => {
  zone = process.env.TZ
  process.env.TZ = "UTC"
  place = mkdtempSync(join(tmpdir(), "kubereel-past-"))
  directory = join(place, "one")
  recordStory(directory)
  another = join(place, "another")
  recordStory(another, { hasGap: true })
})
afterAll(() => {
  if (zone === undefined) delete process.env.TZ
  else process.env.TZ = zone
  rmSync(place, { recursive: true, force: true })
})

const run = (command: Command, line: string, where = `--data-dir ${directory}`) =>
  ran(command, `${line} ${where}`.split(" "))

test("get prints kubectl's table of the moment, with ages of then", async () => {
  const early = await run(getCommand(), "deploy -A --at 2026-03-02T03:05:00Z")
  expect(early.output).toBe(
    "NAMESPACE   NAME   READY   UP-TO-DATE   AVAILABLE   AGE\nshop        web    0/1     0            0           5m\n",
  )
  expect(early.code).toBe(exitCodes.ok)
  const last = await run(getCommand(), "deploy -A --at end")
  expect([last.code, last.output]).toEqual([exitCodes.ok, (await run(getCommand(), "deploy -A")).output])
  expect(last.output).not.toBe(early.output)
  const pods = await run(getCommand(), "pods -n shop --at 2026-03-02T03:00:05Z -o wide")
  expect(pods.output).toMatch(/^NAME +READY +STATUS +RESTARTS +AGE +IP +NODE/)
  expect(pods.output).toMatch(/^web-1-a +0\/0 +CrashLoopBackOff +1 .*node-1/m)
})

test("get prints names, JSON as a List or as the one object, and YAML, without managedFields", async () => {
  expect((await run(getCommand(), "deploy,pods -o name")).output).toBe("deployment.apps/api\ndeployment.apps/web\n")
  const list = JSON.parse((await run(getCommand(), "deploy -o json")).output)
  expect(list).toMatchObject({ apiVersion: "v1", kind: "List", metadata: { resourceVersion: "" } })
  expect(list.items.map((item: { kind: string; spec: object }) => [item.kind, item.spec])).toMatchObject([
    ["Deployment", { replicas: 2 }],
    ["Deployment", { replicas: 3 }],
  ])
  expect(JSON.stringify(list)).not.toContain("managedFields")
  const one = JSON.parse((await run(getCommand(), "deploy/web -o json --show-managed-fields")).output)
  expect(one).toMatchObject({ kind: "Deployment", metadata: { managedFields: [{ manager: "kubectl-edit" }] } })
  const yaml = (await run(getCommand(), "deploy web -o yaml")).output
  expect(yaml).toMatch(/^apiVersion: apps\/v1\nkind: Deployment\nmetadata:\n/)
  expect((await run(getCommand(), "cm -o json")).output).toContain('"kind": "List"')
})

test("get says what is not there: no such object, before the beginning, after the end, a kind that is not recorded", async () => {
  const none = await run(getCommand(), "deploy nothing")
  expect([none.code, none.error]).toEqual([exitCodes.failed, expect.stringContaining('"nothing"')])
  const before = await run(getCommand(), "deploy --at 2026-03-02T02:00:00Z")
  expect(before.code).toBe(exitCodes.incomplete)
  expect(before.error).toMatch(/apps\/v1\.Deployment is recorded only from .*03:00:00 UTC on/)
  const after = await run(getCommand(), "deploy --at 2026-03-02T04:00:00Z")
  expect(after.error).toMatch(/apps\/v1\.Deployment is known only up to .*03:12:00 UTC/)
  const kind = await run(getCommand(), "secrets")
  expect([kind.code, kind.error]).toEqual([exitCodes.incomplete, expect.stringContaining("v1.Secret is not recorded")])
  const unknown = await run(getCommand(), "nonsenses")
  expect([unknown.code, unknown.error]).toEqual([
    exitCodes.usage,
    expect.stringContaining("Recorded are apps/v1.Deployment"),
  ])
})

test("a moment in a gap is incomplete, and the gap is named", async () => {
  const { code, error } = await run(getCommand(), "rs --at 2026-03-02T03:11:59.950Z", `--data-dir ${another}`)
  expect(code).toBe(exitCodes.incomplete)
  expect(error).toMatch(
    /a gap of apps\/v1\.ReplicaSet from .*03:11:59\.900 UTC to .*03:12:00 UTC: expired \(410 Gone\)/,
  )
})

test("several directories are one past: an object is there once", async () => {
  const both = `--data-dir ${directory} --data-dir ${another}`
  expect((await run(getCommand(), "deploy -o name", both)).output).toBe("deployment.apps/api\ndeployment.apps/web\n")
  const alone = await run(historyCommand(), "deploy/web")
  expect((await run(historyCommand(), "deploy/web", both)).output).toBe(alone.output)
})

test("history shows each change with its fields and who made it; a time of day is said back", async () => {
  const { code, output, error } = await run(historyCommand(), "deploy/web --since 03:05")
  expect(code).toBe(exitCodes.ok)
  expect(output).toMatch(
    /03:10:00 UTC {2}changed {5}apps\/v1\.Deployment shop\/web {2}by kubectl-edit\n {4}spec\.replicas: 1 → 3\n$/,
  )
  expect(error).toMatch(/--since 03:05 means 2026-03-02T03:05:00Z$/m)
})

test("an object that was deleted and made again is one history with a mark", async () => {
  const { output } = await run(historyCommand(), "deploy/api -n shop")
  expect(output.match(/first seen|deleted|--- .* was made again/g)).toEqual([
    "first seen",
    "deleted",
    "--- apps/v1.Deployment shop/api was made again",
    "first seen",
  ])
})

test("history of a field has only its changes, and a field that nothing has is said", async () => {
  const replicas = await run(historyCommand(), "deploy/web --field spec.replicas --since 2026-03-02T03:01:00Z -o json")
  const changes = replicas.output
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line))
  expect(changes).toMatchObject([{ type: "changed", differences: [{ path: "spec.replicas", before: 1, after: 3 }] }])
  const wrong = await run(historyCommand(), "deploy/web --field spec.replica")
  expect([wrong.output, wrong.error]).toEqual([
    "",
    expect.stringContaining("no matching object has the field spec.replica"),
  ])
  expect((await run(historyCommand(), "deploy/web --field spec[")).code).toBe(exitCodes.usage)
})

test("history with what was owned contains ReplicaSets, Pods, and the Events about them but not about others of the name", async () => {
  const { output } = await run(historyCommand(), "deploy/web --with-owned")
  for (const part of ["Deployment shop/web ", "ReplicaSet shop/web-1 ", "Pod shop/web-1-a ", "Event shop/web-1-a.17 "])
    expect(output).toContain(part)
  expect(output).not.toContain("web-1-a.18")
  expect(output).not.toContain("shop/api")
})

test("events are filtered by kind, label and field", async () => {
  const { output } = await run(eventsCommand(), "--since 0 -k deploy -l app=web --field spec.replicas")
  expect(output.match(/^\d.*Deployment.*$/gm)?.map((line) => line.replace(/^.*UTC +/, ""))).toEqual([
    "created     apps/v1.Deployment shop/web  by kubectl",
    "changed     apps/v1.Deployment shop/web  by kubectl-edit",
    "first seen  apps/v1.Deployment shop/api  by kubectl",
    "deleted     apps/v1.Deployment shop/api  by ?",
    "first seen  apps/v1.Deployment shop/api  by kubectl",
  ])
  expect((await run(eventsCommand(), "--since 30s")).output).toMatch(/deleted +v1\.Pod shop\/web-1-a/)
})

test("Kubernetes Events show what they say, and kinds can be left out", async () => {
  const said = "    Warning BackOff of Pod web-1-a: Back-off restarting failed container (kubelet)\n"
  const { output } = await run(eventsCommand(), "--since 0 -k events,deploy")
  expect(output).toMatch(/v1\.Event shop\/web-1-a\.17.*\n {4}Warning BackOff of Pod web-1-a: Back-off restarting/)
  const rest = await run(eventsCommand(), "--since 0 --except events,deploy")
  expect(rest.output).toContain("v1.Pod shop/web-1-a")
  expect(rest.output).not.toMatch(/v1\.Event|Deployment/)
  const within = "--at 2026-03-02T03:01:00Z..03:12"
  expect((await run(diffCommand(), `${within} --except pods,events`)).output).not.toMatch(/v1\.Pod|v1\.Event/)
  expect((await run(diffCommand(), "--at 2026-03-02T03:00:00Z..03:12 -k events")).output).toContain(said)
  const none = await run(eventsCommand(), "--since 0 -k deploy --except deploy")
  expect([none.code, none.error]).toEqual([exitCodes.usage, expect.stringContaining("--except leaves no kind")])
})

test("what nobody knows is said once, with where it is known", async () => {
  const { error } = await run(historyCommand(), "deploy/api -n shop")
  expect(error).toContain("by ?: who deleted 1 object is not known")
  expect(error).toContain("audit-logs.md#who-did-it")
  expect((await run(historyCommand(), "deploy/web --since 03:05")).error).not.toContain("by ?")
})

test("diff shows what two moments differ in: created, changed and deleted", async () => {
  const { output } = await run(diffCommand(), "--at 2026-03-02T03:01:00Z..03:12")
  expect(output.trimEnd().split("\n")).toEqual([
    "created   apps/v1.Deployment shop/api  by kubectl",
    "changed   apps/v1.Deployment shop/web  by kubectl-edit",
    "    spec.replicas: 1 → 3",
    "deleted   v1.Pod shop/web-1-a  by ?",
  ])
  expect((await run(diffCommand(), "deploy/web --at 03:12..03:00")).code).toBe(exitCodes.usage)
})

test("why tells the chain: the owners, scheduling, the crash, the Event, deletion", async () => {
  const { code, output } = await run(whyCommand(), "pod/web-1-a -n shop")
  expect(code).toBe(exitCodes.ok)
  const parts = [
    /Deployment shop\/web {2}is created {2}by kubectl/,
    /ReplicaSet shop\/web-1 {2}is created/,
    /Pod shop\/web-1-a {2}is created/,
    /is scheduled to node node-1/,
    /container web ended with exit code 137: OOMKilled/,
    /container web waits: CrashLoopBackOff/,
    /Warning BackOff of Pod web-1-a: Back-off restarting failed container \(kubelet\)/,
    /Deployment shop\/web {2}is changed {2}by kubectl-edit\n {4}spec.replicas: 1 → 3/,
    /is deleted/,
  ]
  const places = parts.map((part) => output.search(part))
  expect(places).not.toContain(-1)
  expect(places).toEqual(places.toSorted((one, other) => one - other))
  expect(output).not.toContain("another Pod")
})

test("what objects have in them controls no terminal, and documents are read back as it was", async () => {
  const bad = "\u001b[2J\u001b]0;x\u0007\u009b31m\u202e"
  const metadata = { name: `a${bad}`, namespace: "shop", uid: "1", annotations: { [bad]: `one\n${bad}\ttwo` } }
  const named = { uid: "1", namespace: "shop", name: metadata.name, gvk: "v1.ConfigMap", resourceVersion: "7" }
  const times = { start: 1_763_700_000_000_000, end: 1_763_700_060_000_000 }
  const path = join(place, "hostile.ndjson")
  const lines = [
    { format: "kubereel", version: 1, window: times, cut: 1, kinds: ["v1.ConfigMap"], incomplete: [] },
    { sequence: 1, time: times.start + 1, action: "applied", ...named, object: { kind: "ConfigMap", metadata } },
    { end: { snapshot: 0, events: 1, gaps: 0 } },
  ]
  writeFileSync(path, lines.map((line) => `${JSON.stringify(line)}\n`).join(""))
  const ask = async (command: Command, line: string): Promise<string> => {
    const { code, output } = await run(command, line, `--trace ${path}`)
    expect([code, output]).toEqual([exitCodes.ok, expect.not.stringMatching(/(?!\n)[\p{Cc}\p{Cf}]/u)])
    return output
  }
  expect(await ask(getCommand(), "cm -A")).toContain("a\\u{1b}[2J")
  await ask(getCommand(), "cm -o name")
  await ask(eventsCommand(), "--since 0")
  expect(JSON.parse(await ask(eventsCommand(), "--since 0 -o json"))).toMatchObject({ name: metadata.name })
  expect(JSON.parse(await ask(getCommand(), "cm -o json")).items).toMatchObject([{ metadata }])
  expect(parse(await ask(getCommand(), "cm -o yaml")).items).toMatchObject([{ metadata }])
})
