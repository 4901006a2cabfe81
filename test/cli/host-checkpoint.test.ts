/**
 * `reel host` killed with SIGKILL, again and again, while objects are deleted in a sandbox in another process: each deletion of an object that a
 * controller with a checkpoint knew reaches it, be it a WebAssembly module or a script. Controllers without one beside them miss some, so the
 * test can fail.
 */
import { copyFileSync, existsSync, mkdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest"
import { isThorough } from "../harness/effort.ts"
import { patient } from "../harness/patience.ts"
import { Told } from "../host/dispatcher/told.ts"
import { buildWitness } from "../host/dispatcher/witness.ts"
import { ReelProcess, until, Workplace } from "../recorder/recorder/recorder-command.ts"
import { seededRandom } from "../runtime/random.ts"

const firstSeed = Number(process.env.KUBEREEL_TEST_SEED ?? Date.now() % 1_000_000)
const seeds = Array.from({ length: isThorough() ? 5 : 1 }, (_, index) => firstSeed + index)
const kills = 3

let place: Workplace
let url: string
let witness: string
beforeAll(async () => {
  place = new Workplace()
  witness = buildWitness(place.directory)
  const sandbox = place.reel("sandbox", "--listen", "0", "--kubeconfig", place.path("kubeconfig"))
  url = (await sandbox.says(/http:\/\/127\.0\.0\.1:\d+/))[0]
}, patient(30_000))
afterAll(() => place.close())

/** A script that writes down each change that it is told, in one system call, so that no kill comes between the change and the line. */
const scriptOf = (name: string, file: string): string => `
import { appendFileSync } from "node:fs"
const tell = (type, object) => appendFileSync(${JSON.stringify(file)}, type + " " + object.metadata.uid + "\\n")
export default {
  name: "${name}", owns: [], watches: [], reads: [], indexes: [], writes: [], concurrency: 5,
  for: {
    kind: "v1.ConfigMap",
    predicate: ({ previous, current }) => {
      if (current === undefined) tell("DELETED", previous)
      else tell("ADDED", current)
      return true
    },
  },
  reconcile: async ({ key, object }) => object === undefined && appendFileSync(${JSON.stringify(file)}, "gone " + key + "\\n"),
}
`

test.for(seeds)(
  "each deletion reaches a controller with a checkpoint, over kills of the host (KUBEREEL_TEST_SEED=%i)",
  { timeout: patient(90_000) },
  async (seed) => {
    const random = seededRandom(seed)
    const pick = <Value>(values: ReadonlyArray<Value>): Value => values[Math.floor(random() * values.length)] as Value
    const modules = place.path(`modules-${seed}`)
    mkdirSync(modules)
    for (const name of ["durable", "forgetful"]) {
      const checkpoint = `checkpoint: ${name === "durable"}\n`
      copyFileSync(witness, join(modules, `${name}.wasm`))
      place.write(
        `modules-${seed}/${name}.yaml`,
        `name: ${name}\nabi: rust_v1alpha1\nenv: [{ name: WATCH, value: 0- }]\n${checkpoint}`,
      )
      place.write(`modules-${seed}/${name}-script.js`, scriptOf(`${name}-script`, place.path(`${name}-${seed}.txt`)))
      place.write(`modules-${seed}/${name}-script.yaml`, `name: ${name}-script\n${checkpoint}`)
    }
    const names = ["durable", "forgetful", "durable-script", "forgetful-script"]
    const lives: ReelProcess[] = []
    const start = (): void => {
      const words = ["host", modules, "--kubeconfig", place.path("kubeconfig"), "--listen", "0", "--workers", "1"]
      const life = new ReelProcess([...words, "--state-directory", place.path(`state-${seed}`)], {})
      lives.push(life)
      onTestFinished(() => life.kill())
    }
    const toldOf = (name: string): Told => {
      const told = new Told()
      const [kind = ""] = name.split("-")
      const file = place.path(`${kind}-${seed}.txt`)
      const text = name.endsWith("-script")
        ? existsSync(file)
          ? readFileSync(file, "utf8")
          : ""
        : lives.map(({ output }) => output).join("\n")
      for (const line of text.split("\n")) {
        if (name.endsWith("-script")) told.hear(line)
        else if (line.startsWith(`${name}: `)) told.hear(line.slice(name.length + 2))
      }
      return told
    }
    const maps = `${url}/api/v1/namespaces/default/configmaps`
    /** UIDs of what exists, by name. */
    const present = new Map<string, string>()
    const create = async (name: string): Promise<string> => {
      const body = JSON.stringify({ apiVersion: "v1", kind: "ConfigMap", metadata: { name: `${name}-${seed}` } })
      const response = await fetch(maps, { method: "POST", body, headers: { "content-type": "application/json" } })
      const { metadata } = (await response.json()) as { readonly metadata: { readonly uid: string } }
      expect(response.status).toBe(201)
      present.set(name, metadata.uid)
      return metadata.uid
    }
    const remove = async (name: string): Promise<void> => {
      expect((await fetch(`${maps}/${name}-${seed}`, { method: "DELETE" })).status).toBe(200)
      present.delete(name)
    }
    const objects = Array.from({ length: 30 }, (_, index) => `object-${index}`)
    const change = async (): Promise<void> => {
      const name = pick(objects)
      if (!present.has(name)) await create(name)
      else if (random() < 0.7) await remove(name)
    }
    let signs = 0
    const allKnow = async (): Promise<void> => {
      const uids = [await create(`sign-${++signs}`), ...present.values()]
      const unaware = (): ReadonlyArray<string> =>
        names.filter((name) => !uids.every((uid) => toldOf(name).known.has(uid)))
      await until(
        () => unaware().length === 0,
        () => `${unaware()} to know everything:\n${lives.at(-1)?.log}`,
        30_000,
      )
    }

    start()
    for (let kill = 0; kill < kills; kill++) {
      for (const name of objects) if (!present.has(name)) await create(name)
      await allKnow()
      const before = Math.floor(random() * 12)
      for (let index = 0; index < before; index++) await change()
      const killed = lives.at(-1)?.kill()
      for (let index = 0; index < 12; index++) await change()
      await killed
      start()
      // Some while it starts.
      for (let index = 0; index < 10; index++) await change()
    }
    await allKnow()
    // Also those that the sandbox has made.
    const list = (await (await fetch(`${url}/api/v1/configmaps`)).json()) as {
      readonly items: ReadonlyArray<{ readonly metadata: { readonly uid: string } }>
    }
    const uids = new Set(list.items.map(({ metadata }) => metadata.uid))
    const missed = (name: string): ReadonlyArray<string> => toldOf(name).missed(uids)
    await until(
      () => missed("durable").length + missed("durable-script").length === 0,
      () => `the deletions of ${missed("durable")}, and for the script ${missed("durable-script")}`,
      10_000,
    )
    expect(missed("forgetful").length).toBeGreaterThan(0)
    expect(missed("forgetful-script").length).toBeGreaterThan(0)
    // Every run that a deletion woke was made: for the last object of each name that is gone.
    const text = readFileSync(place.path(`durable-${seed}.txt`), "utf8")
    for (const name of objects) if (!present.has(name)) expect(text).toContain(`gone default/${name}-${seed}\n`)
  },
)
