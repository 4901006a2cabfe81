/** `reel record --all` with as many kinds as a cluster with operators has. */
import { readdirSync } from "node:fs"
import { expect, test } from "vitest"
import { Sandbox } from "../../../src/sandbox/index.ts"
import { patient } from "../../harness/patience.ts"
import { until, Workplace } from "./recorder-command.ts"

const definitions = "apiextensions.k8s.io/v1.CustomResourceDefinition"
const custom = 100

const definition = (name: string) => ({
  metadata: { name: `${name}s.example.com` },
  spec: {
    group: "example.com",
    names: { plural: `${name}s`, kind: name[0]?.toUpperCase() + name.slice(1) },
    scope: "Namespaced",
    versions: [
      {
        name: "v1",
        served: true,
        storage: true,
        schema: { openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true } },
      },
    ],
  },
})

/** A value that must not be recorded. */
const plain = Buffer.from("hunter2 and more").toString("base64")

test("every kind is recorded in little memory, new ones as soon as they are installed, and removed ones up to their end", {
  timeout: patient(90_000),
}, async () => {
  await using place = new Workplace()
  await using sandbox = await Sandbox.start({ bookmarkInterval: 0 })
  for (let number = 0; number < custom; number++) sandbox.put(definitions, definition(`gear${number}`))
  sandbox.put("example.com/v1.Gear7", { metadata: { namespace: "shop", name: "first" } })
  sandbox.put("v1.Secret", { metadata: { namespace: "shop", name: "password" }, data: { password: plain } })
  sandbox.put("coordination.k8s.io/v1.Lease", { metadata: { namespace: "shop", name: "leader" } })
  const recorder = place.record({ kinds: "all", cluster: { server: sandbox.url }, more: ["--except", "events"] })
  await recorder.says(/all \d+ kinds are watched/, 40_000)
  const count = Number(/all (\d+) kinds are watched/.exec(recorder.log)?.[1])
  expect(count).toBeGreaterThan(custom + 25)
  // One line for all, not one for each.
  expect(recorder.log.split("\n").filter((line) => line.includes("watching"))).toEqual([])
  const verbose = (await recorder.get("/readyz?verbose")).text
  expect(verbose).toBe(`[+]${count} of ${count} kinds watching\nreadyz check passed\n`)
  // Pods alone, the others 32 to a worker; and Node's own.
  expect(readdirSync(`/proc/${recorder.child.pid}/task`).length).toBeLessThan(30)

  sandbox.put(definitions, definition("widget"))
  await recorder.says(/the server's kinds have changed: example\.com\/v1\.Widget added/, 20_000)
  sandbox.put("example.com/v1.Widget", { metadata: { namespace: "shop", name: "late" } })
  await recorder.says(new RegExp(`all ${count + 1} kinds are watched`), 20_000)

  // One that is gone before it could be listed.
  sandbox.faults.respond("flashs", 503, { times: 1 })
  sandbox.put(definitions, definition("flash"))
  await recorder.inState("example.com/v1.Flash", /failing/)
  sandbox.delete(definitions, "", "flashs.example.com")

  sandbox.delete("example.com/v1.Gear7", "shop", "first")
  sandbox.delete(definitions, "", "gear7s.example.com")
  await recorder.says(/the server's kinds have changed: example\.com\/v1\.Gear7 removed/, 40_000)
  const lines = await recorder.exported()
  const of = (gvk: string) => lines.filter((line) => line.gvk === gvk).map(({ action, name }) => `${action} ${name}`)
  // Nobody knows what happened to its objects between its installation and its first list.
  expect(of("example.com/v1.Widget").toSorted()).toEqual(["applied late", "gap undefined"])
  expect(of("example.com/v1.Flash")).toEqual(["gap undefined"])
  const coverage = place.reel("coverage", "--server", await recorder.listening())
  expect([(await coverage.ended).code, coverage.output]).toEqual([
    3,
    expect.stringMatching(/Flash .*\n +gap from .*: stopped \(the kind was installed and removed again before/),
  ])
  expect(of("example.com/v1.Gear7")).toEqual(["applied first", "deleted first"])
  expect(of("coordination.k8s.io/v1.Lease")).toEqual([])
  expect(of("v1.Secret")).toEqual(["applied password"])
  expect(JSON.stringify(lines.find(({ gvk }) => gvk === "v1.Secret"))).not.toContain(plain)
  expect(await recorder.stop()).toMatchObject({ code: 0 })
})

test("a server that cannot be reached at the start is asked again, and says so in readiness", async () => {
  await using place = new Workplace()
  await using sandbox = await Sandbox.start({ bookmarkInterval: 0 })
  await sandbox.faults.refuseConnections()
  const recorder = place.record({ kinds: "all", cluster: { server: sandbox.url } })
  await recorder.says(/the kinds of the server cannot be discovered: /)
  await recorder.says(/listening on/)
  const { status, text } = await recorder.get("/readyz")
  expect([status, text]).toEqual([
    503,
    expect.stringMatching(/^not ready: the kinds of the server are not known yet: /),
  ])
  await sandbox.faults.acceptConnections()
  await recorder.says(/kinds of the server can be discovered again/, 20_000)
  await until(
    async () => (await recorder.get("/readyz")).status === 200,
    () => recorder.log,
    20_000,
  )
})

test("--all and --except are refused where they have no meaning", async () => {
  await using place = new Workplace()
  const config = place.write("tracer.yml", "trackedObjects: {v1.Pod: {}}")
  for (const [words, message] of [
    [["--all", "--config", config], '--all cannot be combined with --config: write "*": {}'],
    [["--except", "events"], "--except is for --all"],
    [["--all", "--except", "no such"], "unknown kind"],
  ] as const) {
    const process = place.reel("record", ...words)
    const { code } = await process.ended
    expect([code, process.said]).toEqual([2, expect.stringContaining(message)])
  }
})
