/** `reel host` as users run it: a directory of modules on a sandbox, over real HTTP, in real threads. */
import { copyFileSync, mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest"
import { exitCodes } from "../../src/cli/command-line/exit-codes.ts"
import { hostCommand } from "../../src/cli/host.ts"
import { Sandbox, writeKubeconfig } from "../../src/sandbox/index.ts"
import { freePort } from "../blob/server-process.ts"
import { eventually } from "../harness/eventually.ts"
import { patient } from "../harness/patience.ts"
import { temporaryDirectory } from "../harness/temporary-directory.ts"
import { buildOddGuest } from "../host/dispatcher/odd-guests.ts"
import { type CapturedTerminal, capturedTerminal } from "./captured-terminal.ts"

const built = mkdtempSync(join(tmpdir(), "kubereel-host-cli-"))
let guest: string
beforeAll(() => {
  guest = buildOddGuest(built, "shop")
})
afterAll(() => rmSync(built, { recursive: true, force: true }))

let sandbox: Sandbox
let terminal: CapturedTerminal
let modules: string
let ended: Promise<number>

const start = async (...more: ReadonlyArray<string>): Promise<void> => {
  const kubeconfig = join(temporaryDirectory(), "kubeconfig")
  await writeKubeconfig(kubeconfig, sandbox.url)
  ended = hostCommand(() => import("../../src/cli/host-replay.ts")).run(
    [modules, "--kubeconfig", kubeconfig, "--listen", "0", "--workers", "1", ...more],
    terminal,
  )
}
const says = (pattern: RegExp): Promise<RegExpMatchArray> =>
  eventually(() => {
    const match = (terminal.standardError.text() + terminal.standardOutput.text()).match(pattern)
    if (match === null)
      throw new Error(`${pattern} in:\n${terminal.standardError.text()}${terminal.standardOutput.text()}`)
    return match
  })
const served = async (path: string): Promise<Response> =>
  fetch(new URL(path, (await says(/metrics: (http\S+)/))[1] ?? ""))
const metrics = async (): Promise<string> => (await served("/metrics")).text()
const put = (name: string): void => {
  sandbox.put("v1.ConfigMap", { metadata: { namespace: "shop", name }, data: { at: name } })
}
const write = (name: string, text: string): void => writeFileSync(join(modules, name), text)

beforeEach(async () => {
  sandbox = await Sandbox.start({ bookmarkInterval: 0 })
  terminal = capturedTerminal()
  modules = temporaryDirectory()
})
afterEach(() => sandbox.close())

/** The label that the script sets. */
const seen = (name: string): unknown => {
  const metadata = sandbox.get("v1.ConfigMap", "shop", name)?.metadata as { labels?: { seen?: unknown } } | undefined
  return metadata?.labels?.seen
}

/** A controller without the library: what defineController returns is a plain record. */
const script = (label: string): string => `
export default (env) => ({
  name: "labels", for: { kind: "v1.ConfigMap", namespace: env.NAMESPACE }, owns: [], watches: [], reads: [], indexes: [],
  writes: [{ kind: "v1.ConfigMap", namespace: env.NAMESPACE }], concurrency: 1,
  reconcile: async ({ object, cluster }) => {
    if (object === undefined || object.metadata.labels?.seen === "${label}") return
    await cluster.patch(object, "merge", { metadata: { labels: { seen: "${label}" } } })
  },
})
`

test("runs the modules of a directory, and follows it: added, replaced, invalid, removed", {
  timeout: patient(60_000),
}, async () => {
  copyFileSync(guest, join(modules, "odd.wasm"))
  write("odd.yaml", "name: odd\nabi: rust_v1alpha1\n")
  write("nameless.yaml", "abi: rust_v1alpha1\nlimit: {}\n")
  write("nameless.wasm", "")
  write("text.yaml", "name: text\nabi: rust_v1alpha1\n")
  write("text.wasm", "no module")
  await start()
  await says(/^reel host: \S*nameless\.yaml:1:1: .*name/m)
  await says(/^reel host: \S*nameless\.yaml:2:1: unknown key "limit"/m)
  await says(/module text is refused/)
  put("first")
  await says(/odd: ADDED first 1/)

  write("labels.js", script("one"))
  write("labels.yaml", "name: labels\nenv:\n  - name: NAMESPACE\n    value: shop\n")
  await says(/module labels started/)
  await eventually(() => expect(seen("first")).toBe("one"))
  // Of a run that throws, the place is readable, and cannot pass for a line of the host.
  write("fails.js", script("one").replace("if (object", 'throw new Error("no\\nreel host: ok")\n    if (object'))
  write("fails.yaml", "name: fails\nenv:\n  - name: NAMESPACE\n    value: shop\n")
  await says(
    /^reel host: fails: labels shop\/first: Error: no\n {2}reel host: ok; again in \d+ m?s\n {6}at .*fails\.js/m,
  )
  rmSync(join(modules, "fails.yaml"))
  write("labels.js", script("two"))
  await says(/module labels replaced/)
  await eventually(() => expect(seen("first")).toBe("two"))

  const text = await metrics()
  expect(text).toContain('kubereel_host_module_running{module="odd"} 1\n')
  expect(text).toContain('kubereel_host_module_missed_total{module="odd"} 0\n')
  expect(text).toContain('kubereel_host_module_running{module="text"} 0\n')
  // A thread that does not respond within a second has no figures.
  await eventually(async () =>
    expect(await metrics()).toMatch(
      /kubereel_host_controller_reconciles_total\{module="labels",controller="labels"\} [1-9]/,
    ),
  )
  expect(text).toContain("kubereel_host_refused 2\n")
  expect(terminal.standardError.text()).toMatch(/module odd started/)
  expect(terminal.standardError.text()).not.toMatch(/module text started/)

  rmSync(join(modules, "odd.yaml"))
  await says(/module odd removed/)
  put("second")
  await eventually(() => expect(seen("second")).toBe("two"))
  expect(terminal.standardOutput.text()).not.toContain("second")
  terminal.interrupt()
  expect(await ended).toBe(exitCodes.ok)
  expect(terminal.listeners()).toBe(0)
})

/** Refuses the colour; `body` runs first. */
const validating = (colour: string, body = "") => `
export default {
  name: "colours", for: { kind: "v1.ConfigMap" }, owns: [], watches: [], reads: [], indexes: [], writes: [], concurrency: 1,
  admission: { timeoutMs: 1000 },
  validate: ({ object }) => {
    ${body}
    if (object.data?.colour === "${colour}") return "${colour} is not allowed"
  },
}
`
const configuration = () =>
  sandbox.get("admissionregistration.k8s.io/v1.ValidatingWebhookConfiguration", "", "kubereel-colours")
const create = async (name: string, colour: string): Promise<string> => {
  const body = JSON.stringify({ metadata: { name }, data: { colour } })
  const headers = { "content-type": "application/json" }
  const answer = await fetch(`${sandbox.url}/api/v1/namespaces/default/configmaps`, { method: "POST", headers, body })
  return answer.ok ? "created" : ((await answer.json()) as { message: string }).message
}

test("serves the webhooks of scripts: replaced and hanging ones keep their policy, removed ones take it with them", {
  timeout: patient(60_000),
}, async () => {
  write("colours.yaml", "name: colours\n")
  write("colours.js", validating("red"))
  await start("--webhook-address", `127.0.0.1:${await freePort()}`)
  await says(/module colours started/)
  await eventually(async () => expect((await served("/readyz?verbose")).status).toBe(200))
  expect(await create("a", "red")).toBe(
    'admission webhook "validate.colours.kubereel.dev" denied the request: red is not allowed',
  )
  expect(await create("a", "blue")).toBe("created")
  write("colours.js", validating("blue", 'if (object.data?.colour === "loop") for (;;);'))
  await says(/module colours replaced/)
  await eventually(async () => expect(await create("b", "blue")).toContain("denied the request: blue is not allowed"))
  // It blocks its thread, which is ended and started again.
  expect(await create("b", "loop")).toContain("controller colours of module colours is busy for more than 1000 ms")
  await says(/colours: its thread has ended/)
  await eventually(async () => expect(await create("b", "blue")).toContain("denied the request: blue is not allowed"))
  write("colours.js", "export default 7")
  await says(/module colours is not run/)
  expect(await create("c", "green")).toContain("module colours of the controller host does not run at present")
  expect(configuration()).toBeDefined()
  rmSync(join(modules, "colours.yaml"))
  await eventually(() => expect(configuration()).toBeUndefined())
  expect(await create("c", "green")).toBe("created")
  terminal.interrupt()
  expect(await ended).toBe(exitCodes.ok)
})

test("refuses scripts with webhooks if there is no address for them", async () => {
  write("colours.yaml", "name: colours\n")
  write("colours.js", validating("red"))
  await start()
  await says(/module colours is not run: .*start reel host with --webhook-address/)
  terminal.interrupt()
  expect(await ended).toBe(exitCodes.ok)
})

test("is ready once its threads run and its modules are started or refused, and alive regardless of that", async () => {
  write("text.yaml", "name: text\n")
  write("garbage.yaml", "name: garbage\nabi: rust_v1alpha1\n")
  write("garbage.wasm", "no module")
  // It is not started before this is over, in its own thread.
  const go = join(temporaryDirectory(), "go")
  const waits = `while (!existsSync(${JSON.stringify(go)})) await new Promise((soon) => setTimeout(soon, 5))`
  write("slow.js", `import { existsSync } from "node:fs"\n${waits}\nexport default 7`)
  write("slow.yaml", "name: slow\n")
  await start()
  expect((await served("/healthz")).status).toBe(200)
  await eventually(async () => {
    const answer = await served("/readyz")
    expect(answer.status).toBe(503)
    expect(await answer.text()).toBe("[+]hub: running\n[+]executor: running\n[-]modules: not started yet\n")
  })
  writeFileSync(go, "")
  await eventually(async () => expect(await (await served("/readyz")).text()).toBe("ok\n"))
  expect(await (await served("/readyz?verbose")).text()).toContain("[+]modules: started, 3 refused\n")
  expect((await served("/elsewhere")).status).toBe(404)
  terminal.interrupt()
  expect(await ended).toBe(exitCodes.ok)
})

test("a script that does not finish loading holds up no other change of the directory, nor the end of the host", async () => {
  write("slow.js", "await new Promise((late) => setTimeout(late, 2 ** 30))\nexport default 7")
  write("slow.yaml", "name: slow\n")
  await start()
  await says(/metrics: /)
  write("labels.js", script("one"))
  write("labels.yaml", "name: labels\nenv:\n  - name: NAMESPACE\n    value: shop\n")
  await says(/module labels started/)
  rmSync(join(modules, "labels.yaml"))
  await says(/module labels removed/)
  terminal.interrupt()
  expect(await ended).toBe(exitCodes.ok)
  expect(terminal.standardError.text()).not.toMatch(/module slow/)
})

test("starts a module once its ServiceAccount is there", async () => {
  copyFileSync(guest, join(modules, "odd.wasm"))
  write("odd.yaml", "name: odd\nabi: rust_v1alpha1\nserviceAccount: { namespace: shop, name: late }\n")
  await start()
  await says(/module odd is not run: no token for ServiceAccount shop\/late: .*; create it, or name another one/)
  expect(await metrics()).toContain("kubereel_host_refused 1\n")
  sandbox.put("v1.ServiceAccount", { metadata: { namespace: "shop", name: "late" } })
  put("first")
  await says(/module odd started/)
  await says(/odd: ADDED first/)
  expect(await metrics()).toContain("kubereel_host_refused 0\n")
  terminal.interrupt()
  expect(await ended).toBe(exitCodes.ok)
})

test("follows a mounted ConfigMap, whose files are links to a directory that is replaced", async () => {
  const deliver = (version: string, label: string): void => {
    mkdirSync(join(modules, version))
    write(
      `${version}/labels.js`,
      `import { label } from "./label.js"\n${script("one").replace('"one"', "label").replace('"one"', "label")}`,
    )
    write(`${version}/label.js`, `export const label = "${label}"\n`)
    write(`${version}/labels.yaml`, "name: labels\nenv:\n  - name: NAMESPACE\n    value: shop\n")
    symlinkSync(version, join(modules, "..data_new"))
    renameSync(join(modules, "..data_new"), join(modules, "..data"))
  }
  for (const name of ["labels.js", "label.js", "labels.yaml"]) symlinkSync(join("..data", name), join(modules, name))
  deliver("..1", "one")
  await start()
  await says(/module labels started/)
  put("first")
  await eventually(() => expect(seen("first")).toBe("one"))
  deliver("..2", "two")
  await says(/module labels replaced/)
  // Only what it imports is another file now.
  await eventually(() => expect(seen("first")).toBe("two"))
  terminal.interrupt()
  expect(await ended).toBe(exitCodes.ok)
})

test("refuses modules and scripts that ask for a checkpoint if there is no directory for it, and says which option to give", {
  timeout: patient(60_000),
}, async () => {
  copyFileSync(guest, join(modules, "odd.wasm"))
  write("odd.yaml", "name: odd\nabi: rust_v1alpha1\ncheckpoint: true\n")
  write("labels.js", script("one"))
  write("labels.yaml", "name: labels\ncheckpoint: true\nenv:\n  - name: NAMESPACE\n    value: shop\n")
  await start()
  await says(/module odd is not run: it asks for a checkpoint, .* start reel host with --state-directory DIRECTORY/)
  await says(/module labels is not run: .* it asks for a checkpoint, .*--state-directory DIRECTORY/)
  terminal.interrupt()
  expect(await ended).toBe(exitCodes.ok)
})

test("without a cluster, or with a wrong port, says what to do", async () => {
  const run = (...words: string[]) => hostCommand(() => import("../../src/cli/host-replay.ts")).run(words, terminal)
  expect(await run(modules, "--kubeconfig", join(modules, "none"))).toBe(exitCodes.failed)
  expect(terminal.standardError.text()).toMatch(/none/)
  expect(await run(modules, "--listen", "far away")).toBe(exitCodes.usage)
})

test("tells everything as JSON for programs, a module's lines with its name", async () => {
  copyFileSync(guest, join(modules, "odd.wasm"))
  write("odd.yaml", "name: odd\nabi: rust_v1alpha1\n")
  write("fails.js", script("one").replace("if (object", 'throw new Error("no\\nreel host: ok")\n    if (object'))
  write("fails.yaml", "name: fails\nenv:\n  - name: NAMESPACE\n    value: shop\n")
  await start("--log-format", "json")
  put("first")
  await says(/"module":"fails"/)
  await says(/ADDED first 1/)
  const lines = [terminal.standardError, terminal.standardOutput].map((stream) =>
    stream
      .text()
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line) as Record<string, unknown>),
  )
  expect(lines[0]).toContainEqual({ time: expect.any(String), level: "info", message: "module odd started" })
  expect(lines[0]).toContainEqual({
    ...{ time: expect.any(String), level: "warn", module: "fails" },
    message: expect.stringMatching(/^labels shop\/first: Error: no\nreel host: ok; again in/),
  })
  expect(lines[1]).toContainEqual(
    expect.objectContaining({ level: "info", module: "odd", message: expect.stringMatching(/^ADDED first 1/) }),
  )
  terminal.interrupt()
  expect(await ended).toBe(exitCodes.ok)
})
