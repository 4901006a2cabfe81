/** Values of Secrets, and what rules name, are nowhere in what a recorder writes, says and answers; and changes of them are still changes. */
import { mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import * as Effect from "effect/Effect"
import { afterAll, beforeAll, expect, test } from "vitest"
import { fleetCommand } from "../../../src/cli/fleet.ts"
import { type RunningRecorder, startRecorder } from "../../../src/recorder/recorder.ts"
import { redactionKeyFile } from "../../../src/recorder/redaction/redaction-key.ts"
import { Sandbox } from "../../../src/sandbox/index.ts"
import { ran } from "../../cli/commands-in.ts"
import { makeFacts } from "../../facts/made-facts.ts"
import { everything, kubeconfigOf, until, Workplace } from "../recorder/recorder-command.ts"
import { everythingIn, everythingStored, foundIn, unpacked } from "./needles.ts"

const planted = {
  applied: "planted-applied-Xk3vQ9",
  patched: "planted-patched-Lm7wR2",
  variable: "planted-variable-Zt5yB8",
  template: "planted-template-Hn4cF6",
  former: "planted-former-Qw8eT1",
  annotation: "planted-annotation-Vb2nM5",
  configMap: "planted-configmap-Jd9sK3",
  owner: "planted-owner-Pc6xG7",
  namedAnnotation: "planted-annotation-Yq2wE4",
  header: "planted-header-Ur6tI8",
  argument: "planted-argument-Oa3sD5",
  nextArgument: "planted-next-argument-Fg7hJ9",
  script: "planted-script-Kl1zX3",
  address: "planted-address-Cv5bN7",
  keys: "planted-keys-Mq9wE1",
  auth: "planted-auth-Rt3yU5",
}
/** Not secret, so it must be found: else the search finds nothing. */
const visible = "visible-marker-Rf1uD4"

const appliedAnnotation = "kubectl.kubernetes.io/last-applied-configuration"
const configuration = `
redact:
  annotations: ["example.com/*-code"]
  pointers: {v1.ConfigMap: [/data/password, /data/*.json]}
trackedObjects:
  v1.Secret: {}
  v1.ConfigMap: {}
  v1.Pod: {}
  apps/v1.Deployment: {trackLifecycle: true}
`

let place: Workplace
let sandbox: Sandbox
beforeAll(async () => {
  place = new Workplace()
  sandbox = await Sandbox.start()
})
afterAll(async () => {
  await place.close()
  await sandbox.close()
})

const encoded = (text: string): string => Buffer.from(text).toString("base64")

const secretWith = (value: string) => ({
  metadata: {
    namespace: "shop",
    name: "database",
    annotations: {
      note: visible,
      [appliedAnnotation]: JSON.stringify({ kind: "Secret", stringData: { password: planted.applied } }),
    },
  },
  type: "kubernetes.io/basic-auth",
  data: { password: encoded(value), username: encoded(planted.applied) },
})

const podSpec = (value: string) => ({
  containers: [
    {
      name: "app",
      image: "app",
      command: ["server", `--password=${planted.argument}`, "--token", planted.nextArgument, "--verbose"],
      args: ["sh", "-c", `PGPASSWORD='${planted.script}' psql && curl -H 'Authorization: Bearer ${planted.script}'`],
      livenessProbe: { httpGet: { port: 80, httpHeaders: [{ name: "Authorization", value: planted.header }] } },
      lifecycle: { preStop: { httpGet: { port: 80, httpHeaders: [{ name: "X-Api-Key", value: planted.header }] } } },
      env: [
        { name: "DB", value: `postgres://app:${planted.address}@db/` },
        { name: "SIGNING_KEYS", value: planted.keys },
        { name: "BASIC_AUTH", value: planted.auth },
        { name: "DB_PASSWORD", value },
        { name: "COLOUR", value: visible },
      ],
    },
  ],
  initContainers: [{ name: "init", image: "app", env: [{ name: "api_token", value }] }],
})

const plant = (value: string): void => {
  sandbox.put("v1.Secret", secretWith(value))
  sandbox.put("v1.ConfigMap", {
    metadata: {
      namespace: "shop",
      name: "settings",
      annotations: { "example.com/ci-code": planted.annotation, "other.example.com/api-keys": planted.namedAnnotation },
    },
    data: { password: planted.configMap, colour: visible, address: `https://a:${planted.address}@b/` },
  })
  // Not recorded, so the owner-resolver asks for it.
  const owner = { namespace: "shop", name: "owner" }
  const selector = { matchLabels: { a: "b" } }
  const template = { spec: podSpec(planted.owner) }
  const { uid } = sandbox.put("apps/v1.StatefulSet", { metadata: owner, spec: { selector, template } })
  const ownerReferences = [{ apiVersion: "apps/v1", kind: "StatefulSet", name: owner.name, uid }]
  const metadata = { namespace: "shop", name: "web", ownerReferences }
  sandbox.put("v1.Pod", { metadata, spec: podSpec(planted.variable), status: {} })
  // The value was removed from the object, and is still in the manifest that was applied before.
  sandbox.put("apps/v1.Deployment", {
    metadata: {
      namespace: "shop",
      name: "former",
      annotations: { [appliedAnnotation]: JSON.stringify({ spec: { template: { spec: podSpec(planted.former) } } }) },
    },
    spec: { selector: { matchLabels: { a: "b" } }, template: { spec: { containers: [] } } },
  })
  sandbox.put("apps/v1.Deployment", {
    metadata: { namespace: "shop", name: "web" },
    spec: { selector: { matchLabels: { a: "b" } }, template: { spec: podSpec(planted.template) } },
  })
}

interface RecordedObject {
  readonly metadata: { readonly annotations?: Readonly<Record<string, string>> }
  readonly data: Readonly<Record<string, string>>
}

interface Run {
  /** Everything it logged. */
  readonly said: ReadonlyArray<string>
  /** Everything it answered. */
  readonly answers: ReadonlyArray<readonly [where: string, content: Buffer]>
  /** The export as NDJSON. */
  readonly lines: ReadonlyArray<{
    readonly action: string
    readonly gvk: string
    readonly name: string
    readonly object?: RecordedObject
  }>
}

/** Records into the directory until everything up to now is recorded, then exports and asks whatever can be asked. */
const record = async (
  name: string,
  text: string,
  during: (running: RunningRecorder, said: ReadonlyArray<string>) => Promise<void> = async () => undefined,
  archive?: Parameters<typeof startRecorder>[0]["archive"],
): Promise<Run> => {
  const said: Array<string> = []
  const say = (message: string, facts?: unknown): void => void said.push(`${message} ${JSON.stringify(facts ?? {})}`)
  const answers: Array<readonly [string, Buffer]> = []
  let lines: Run["lines"] = []
  const config = place.write(`${name}.yml`, text)
  const program = Effect.scoped(
    Effect.gen(function* () {
      const running = yield* startRecorder(
        {
          config,
          kubeconfig: place.write(`${name}-kubeconfig`, kubeconfigOf({ server: sandbox.url })),
          context: undefined,
          port: 0,
          bind: "127.0.0.1",
          dataDir: place.path(name),
          namespaces: [],
          fsync: "interval",
          // By streams in one test, in pages in another.
          listCompression: name === "rules" ? "always" : "never",
          reportEvents: true,
          ...{ version: "test", archive },
        },
        { error: say, warn: say, info: say, debug: say },
      )
      const caughtUp = async (): Promise<void> => {
        for (const { gvk } of running.actors.watchers) {
          const last = sandbox.ledger.of(gvk).at(-1)
          await until(
            async () => {
              const state = await Effect.runPromise(running.actors.store.call("kindState", gvk))
              return (
                running.actors.statuses.isReady &&
                (last === undefined ||
                  (state.resumeVersion !== "" && BigInt(state.resumeVersion) >= BigInt(last.resourceVersion)))
              )
            },
            () => `${gvk} to be recorded: ${running.actors.statuses.verboseReadiness()}\n${said.join("\n")}`,
          )
        }
      }
      yield* Effect.promise(async () => {
        await caughtUp()
        await during(running, said)
        await caughtUp()
        const url = `http://127.0.0.1:${running.port}`
        for (const path of ["/metrics", "/readyz?verbose", "/v1/coverage?start=0&end=9999999999"]) {
          const answer = await fetch(url + path)
          answers.push([path, Buffer.from(await answer.arrayBuffer())])
        }
        for (const format of ["ndjson", "simkube"] as const) {
          const answer = await fetch(`${url}/export`, { method: "POST", body: JSON.stringify(everything(format)) })
          const body = unpacked(Buffer.from(await answer.arrayBuffer()))
          answers.push([`/export as ${format}: ${answer.status}`, body])
          if (format === "ndjson")
            lines = body
              .toString()
              .split("\n")
              .filter((line) => line.includes('"action"'))
              .map((line) => JSON.parse(line))
        }
      })
    }),
  )
  await Effect.runPromise(program)
  return { said, answers, lines }
}

const leaksOf = (name: string, { said, answers }: Run, values: ReadonlyArray<string>): ReadonlyArray<string> =>
  [...everythingIn(place.path(name)), ...answers, ["the log", Buffer.from(said.join("\n"))] as const].flatMap(
    ([where, content]) => foundIn(where, content, values),
  )

test("no planted value is anywhere, a rotation is an event, and a restart is none", async () => {
  plant(planted.applied)
  const first = await record("recording", configuration, async (_, said) => {
    sandbox.put("v1.Secret", secretWith(planted.patched))
    // Lines that nothing can be made of, and whose trouble is logged.
    const value = encoded(planted.patched)
    for (const line of [`{"type":"${value}","object":{}}`, `{"type":"ERROR","object":{"data":"${value}"}}`, value]) {
      const { length } = said
      sandbox.faults.garbage("secrets", `${line}\n`)
      sandbox.put("v1.Secret", secretWith(planted.patched))
      await until(
        () => said.slice(length).some((text) => text.includes("v1.Secret")),
        () => `trouble with ${line}`,
      )
    }
  })
  expect(leaksOf("recording", first, Object.values(planted))).toEqual([])
  expect(leaksOf("recording", first, [visible]).some((where) => where.includes("recording.db, "))).toBe(true)

  const secrets = first.lines.flatMap(({ gvk, object }) =>
    gvk === "v1.Secret" && object !== undefined ? [object] : [],
  )
  const text = (value = ""): string => Buffer.from(value, "base64").toString()
  const [before, after] = secrets.map(({ data }) => ({ password: text(data.password), username: text(data.username) }))
  expect(secrets).toHaveLength(2)
  expect(before?.password).toMatch(/^redacted:[0-9a-f]{16}$/)
  expect(before?.username).toBe(before?.password)
  expect(after?.username).toBe(before?.username)
  expect(after?.password).toMatch(/^redacted:[0-9a-f]{16}$/)
  expect(after?.password).not.toBe(before?.password)
  expect(secrets[0]?.metadata.annotations).toEqual({ note: visible })

  // Four objects with pods, a Secret in two versions, and what the ConfigMap has.
  const answered = (path: string): string =>
    first.answers.find(([where]) => where.startsWith(path))?.[1].toString() ?? ""
  const { redacted } = JSON.parse(answered("/v1/coverage")) as { readonly redacted: ReadonlyArray<unknown> }
  expect(redacted).toEqual(
    expect.arrayContaining([
      { gvk: "v1.Secret", place: "secret", values: 4 },
      { gvk: "v1.ConfigMap", place: "annotation", values: 2 },
      { gvk: "v1.ConfigMap", place: "address", values: 1 },
      { gvk: "v1.ConfigMap", place: "pointer", values: 1 },
      { gvk: "v1.Pod", place: "env", values: 4 },
      { gvk: "v1.Pod", place: "header", values: 2 },
      { gvk: "v1.Pod", place: "argument", values: 4 },
      { gvk: "v1.Pod", place: "address", values: 1 },
    ]),
  )
  expect(answered("/metrics")).toContain('kubereel_redacted_values_total{kind="v1.Secret",place="secret"} 4')

  const key = join(place.path("recording"), redactionKeyFile)
  expect(statSync(key).mode & 0o777).toBe(0o600)
  expect(first.said.filter((line) => line.includes(key))).toHaveLength(1)

  const again = await record("recording", configuration)
  expect(again.lines).toHaveLength(first.lines.length)
  expect(again.said.filter((line) => line.includes(key))).toEqual([])
})

test("no planted value is in a stream, in what it is compacted to, and in facts", async () => {
  plant(planted.applied)
  const [directory, bucket] = [place.path("archived"), place.path("stream")]
  mkdirSync(bucket)
  const rotated = async ({ actors }: RunningRecorder): Promise<void> => {
    const segments = (): number => actors.archiveFigures()?.segments ?? 0
    for (const value of [planted.patched, planted.applied, planted.patched]) {
      const before = segments()
      sandbox.put("v1.Secret", secretWith(value))
      await until(
        () => segments() > before,
        () => `a segment after the first ${before}`,
      )
    }
  }
  await record("archived", configuration, rotated, { address: bucket, everyMs: 50 })
  expect(await makeFacts(bucket, directory)).toBeGreaterThan(3)
  // What is replaced stays beside what replaces it.
  expect((await ran(fleetCommand(), ["compact", bucket])).output).toMatch(/^compacted \d+ segment/)
  await makeFacts(bucket, directory, { cluster: "again" })
  const stored = everythingStored(bucket)
  const found = (...values: ReadonlyArray<string>) =>
    stored.flatMap(([where, content]) => foundIn(where, content, values))
  expect(found(...Object.values(planted))).toEqual([])
  // Else nothing would be found, whatever is there.
  for (const folder of ["/segments/", "/compacted/"])
    expect(found(visible).some((where) => where.includes(folder))).toBe(true)
  for (const cluster of ["prod", "again"])
    expect(found("data.password").some((where) => where.includes(`/facts/cluster=${cluster}/`))).toBe(true)
})

test("a changed rule, and a changed key, list the kinds again that they concern, with a gap; others go on", async () => {
  plant(planted.applied)
  const without = configuration.replace("example.com/*-code", "example.com/none")
  const first = await record("rules", without)
  expect(leaksOf("rules", first, [planted.annotation])).not.toEqual([])
  const gapsOf = ({ lines }: Run): ReadonlyArray<string> =>
    lines
      .filter(({ action }) => action === "gap")
      .map(({ gvk }) => gvk)
      .sort()
  expect(gapsOf(first)).toEqual([])

  // What was recorded before stays as it was; the state from now on is redacted.
  const second = await record("rules", without.replace("/data/password, ", "/data/password, /data/colour, "))
  expect(gapsOf(second)).toEqual(["v1.ConfigMap"])
  const colours = second.lines.flatMap(({ gvk, object }) =>
    gvk === "v1.ConfigMap" && object ? [object.data.colour] : [],
  )
  expect(colours).toEqual([visible, expect.stringMatching(/^redacted:/)])

  writeFileSync(join(place.path("rules"), redactionKeyFile), "another key, longer than needed")
  const third = await record("rules", without.replace("/data/password, ", "/data/password, /data/colour, "))
  expect(gapsOf(third)).toEqual(["apps/v1.Deployment", "v1.ConfigMap", "v1.ConfigMap", "v1.Pod", "v1.Secret"])
  const passwords = third.lines.flatMap(({ gvk, object }) =>
    gvk === "v1.Secret" && object ? [object.data.password] : [],
  )
  expect(new Set(passwords).size).toBe(2)
  expect(readFileSync(join(place.path("rules"), redactionKeyFile), "utf8")).toBe("another key, longer than needed")
})

test("a rule that is added while recording redacts the state from then on, and touches no other kind", async () => {
  plant(planted.applied)
  const changed = configuration.replace("/data/password, ", "/data/password, /data/colour, ")
  const run = await record("reloaded", configuration, async ({ reload }) => {
    place.write("reloaded.yml", changed)
    await reload()
  })
  expect(run.said.join("\n")).toContain("the configuration has changed: v1.ConfigMap with changed settings")
  const configMaps = run.lines.filter(({ gvk }) => gvk === "v1.ConfigMap")
  const seen = configMaps.map(({ action, object }) => object?.data.colour ?? action)
  expect(seen.sort()).toEqual(["gap", expect.stringMatching(/^redacted:/), visible])
  expect(run.lines.filter(({ action }) => action === "gap")).toHaveLength(1)
})
