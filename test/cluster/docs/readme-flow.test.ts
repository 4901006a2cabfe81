/**
 * README's commands in their order, of a real cluster with custom objects: with its configuration and with `--all`. What a command says is the truth: nothing
 * is missing, `validate` finds nothing, and a sandbox accepts the whole replay.
 */
import { execFile } from "node:child_process"
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { root } from "../../docs/project.ts"
import { churn, kubectl, type Recorder, startRecorder } from "../command.ts"
import { OwnControlPlane } from "../k8s/own-control-plane.ts"

/** The exit code of a command whose answer lacks something. */
const incomplete = 3

/** The configuration in README. */
const tracer = async (): Promise<string> =>
  /```yaml\n(# tracer\.yml\n[^`]*)```/.exec(await readFile(join(root, "README.md"), "utf8"))?.[1] ?? ""

const definition = (plural: string, kind: string): string => `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: ${plural}.lab.example.com}
spec:
  group: lab.example.com
  scope: Namespaced
  names: {plural: ${plural}, singular: ${kind.toLowerCase()}, kind: ${kind}, listKind: ${kind}List}
  versions:
    - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}
`
const custom = (kind: string): string =>
  `{apiVersion: lab.example.com/v1, kind: ${kind}, metadata: {name: one, namespace: default}, spec: {size: 7}}\n`

let directory = ""
let plane: OwnControlPlane | undefined
const recorders = new Map<string, Recorder>()
let writtenFiles = 0

const apply = async (text: string): Promise<void> => {
  const file = join(directory, `manifest-${writtenFiles++}.yml`)
  await writeFile(file, text)
  if (plane !== undefined) await kubectl(plane.cluster, "apply", "-f", file)
}

const install = async (plural: string, kind: string): Promise<void> => {
  await apply(definition(plural, kind))
  if (plane === undefined) return
  await kubectl(plane.cluster, "wait", "--for=condition=Established", `crd/${plural}.lab.example.com`)
  await apply(custom(kind))
}

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "kubereel-readme-"))
  plane = await OwnControlPlane.start({ nodes: 2 })
  await install("widgets", "Widget")
  await apply(`{apiVersion: apps/v1, kind: Deployment, metadata: {name: before, namespace: default}, spec: {replicas: 2,
    selector: {matchLabels: {app: before}}, template: {metadata: {labels: {app: before}}, spec: {containers: [{name: c, image: nginx}]}}}}\n`)
  await kubectl(plane.cluster, "wait", "deployment/before", "--for=condition=Available", "--timeout=60s")
  const config = join(directory, "tracer.yml")
  await writeFile(config, await tracer())
  for (const [name, file] of [["tracer.yml", config] as const, ["--all", undefined] as const]) {
    const data = await mkdtemp(join(directory, "recording-"))
    recorders.set(name, await startRecorder(plane.cluster, file, data))
  }
  await install("gears", "Gear")
  await churn(plane.cluster, "team")
}, 240_000)
afterAll(async () => {
  for (const recorder of recorders.values()) await recorder.stop()
  await plane?.[Symbol.asyncDispose]()
  await rm(directory, { recursive: true, force: true })
}, 120_000)

/** Runs `reel`; everything it prints, with its exit code. */
const reel = (...words: ReadonlyArray<string>): Promise<{ readonly code: number; readonly text: string }> =>
  new Promise((resolve) => {
    const env = { ...process.env, KUBECONFIG: plane?.cluster.kubeconfig ?? "", NO_COLOR: "1" }
    execFile(process.execPath, [join(root, "bin/reel.js"), ...words], { env, maxBuffer: 64 << 20 }, (error, out, err) =>
      resolve({ code: error === null ? 0 : Number(error.code), text: `${out}${err}` }),
    )
  })

describe.each(["tracer.yml", "--all"])("README's commands with %s", (name) => {
  const server = (): ReadonlyArray<string> => ["--server", recorders.get(name)?.address ?? ""]
  const path = (file: string): string => join(directory, `${name.replaceAll("-", "")}-${file}`)

  /** A kind that was installed meanwhile may have had objects before its first list. */
  const code = name === "--all" ? incomplete : 0

  test("coverage says what is missing: nothing, or the beginning of a kind that was installed meanwhile", async () => {
    const { text, ...answer } = await reel("coverage", ...server())
    expect([answer.code, text]).toEqual([code, expect.stringContaining("apps/v1.Deployment")])
    expect(text.match(/^\S+(?=.* no +watching)/gm) ?? []).toEqual(name === "--all" ? ["lab.example.com/v1.Gear"] : [])
  })

  test("everything so far is exported whole, and the last half hour is not, because the recording is younger", async () => {
    expect(await reel("export", ...server(), "--start", "0", "--output", path("all.ndjson"))).toMatchObject({ code })
    expect(await reel("export", ...server(), "--output", path("half.sktrace"))).toMatchObject({
      code: incomplete,
      text: expect.stringMatching(/recorded only from .*--start 0 exports all of it/),
    })
    expect(await reel("export", ...server(), "--start", "0", "--dry-run")).toMatchObject({ code })
    expect(await reel("convert", path("all.ndjson"), path("all.yaml.zst"))).toMatchObject({ code })
  })

  test("validate finds nothing wrong; what is not recorded, such as Namespaces, is at most a warning", async () => {
    const { code, text } = await reel("validate", path("all.ndjson"))
    expect([code, text]).toEqual([0, expect.stringMatching(name === "--all" ? / nothing found/ : /: 0 errors, /)])
  })

  test("a sandbox accepts the whole replay", async () => {
    const { text } = await reel(
      "replay",
      path("all.ndjson"),
      "--sandbox",
      "--speed",
      "10",
      "--html",
      path("replay.html"),
    )
    expect(text.match(/ 0 refused/g)).toHaveLength(2)
    expect(text).not.toContain("unmeasured")
    expect(await reel("inspect", path("all.ndjson"))).toMatchObject({ code: 0 })
    const less = ["transform", path("all.ndjson"), "-e", "remove(status);", "-o", path("less.ndjson")]
    expect(await reel(...less)).toMatchObject({ code: 0 })
  })

  test("the past is answered: objects, history, what changed, why", async () => {
    const deployment = ["deploy/web", "-n", "team-a", ...server()]
    expect((await reel("get", "deploy", "-n", "team-a", ...server())).text).toMatch(/^web +6\/6 /m)
    expect((await reel("history", ...deployment)).text).toMatch(
      /created +apps\/v1\.Deployment team-a\/web {2}by kubectl/,
    )
    expect((await reel("why", ...deployment)).text).toMatch(/Deployment team-a\/web {2}is created {2}by kubectl/)
    expect((await reel("events", "--since", "0", ...server())).text).toMatch(/deleted +v1\.Pod team-b\/bare/)
  })
})
