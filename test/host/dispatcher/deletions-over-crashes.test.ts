/**
 * Modules end while objects are deleted, and the host goes on: a module with a checkpoint is told of the deletion of every object that it ever
 * knew; one without is not, which shows that the test can fail. In real threads, over real HTTP.
 */
import { expect, test } from "vitest"
import type { ModuleFile } from "../../../src/host/modules/module-file.ts"
import { Sandbox } from "../../../src/sandbox/index.ts"
import { isThorough } from "../../harness/effort.ts"
import { eventually } from "../../harness/eventually.ts"
import { patient } from "../../harness/patience.ts"
import { temporaryDirectory } from "../../harness/temporary-directory.ts"
import { seededRandom } from "../../runtime/random.ts"
import { hostOn } from "./host-on.ts"
import { buildOddGuest } from "./odd-guests.ts"
import { Told } from "./told.ts"
import { buildWitness } from "./witness.ts"

const configMap = "v1.ConfigMap"
const firstSeed = Number(process.env.KUBEREEL_TEST_SEED ?? Date.now() % 1_000_000)
const seeds = Array.from({ length: isThorough() ? 6 : 1 }, (_, index) => firstSeed + index)

test.for(seeds)(
  "each deletion reaches a module with a checkpoint, over traps and ends of threads (KUBEREEL_TEST_SEED=%i)",
  { timeout: patient(60_000) },
  async (seed) => {
    const random = seededRandom(seed)
    const pick = <Value>(values: ReadonlyArray<Value>): Value => values[Math.floor(random() * values.length)] as Value
    const sandbox = await Sandbox.start({ bookmarkInterval: 0 })
    const told = new Map(["durable", "trapping", "forgetful"].map((name) => [name, new Told()]))
    const of = (name: string): Told => told.get(name) as Told
    const host = hostOn(sandbox, {
      stateDirectory: temporaryDirectory(),
      onLog: (name, _stream, line) => of(name).hear(line),
    })
    try {
      const codePath = buildWitness(temporaryDirectory())
      const add = (name: string, habit: string, more: Partial<ModuleFile> = {}): Promise<void> =>
        host.add({
          file: { name, abi: "rust_v1alpha1", env: [{ name: "WATCH", value: `0${habit}` }], limits: {}, ...more },
          codePath,
        })
      await add("durable", "-", { checkpoint: true })
      await add("trapping", "t", { checkpoint: true })
      await add("forgetful", "t")
      let count = 0
      const put = (name: string) =>
        sandbox.put(configMap, { metadata: { namespace: "shop", name }, data: { value: String(++count) } })
      const names = Array.from({ length: 12 }, (_, index) => `object-${index}`)
      const exists = (name: string): boolean => sandbox.get(configMap, "shop", name) !== undefined
      const change = (): void => {
        const name = pick(names)
        if (exists(name) && random() < 0.6) sandbox.delete(configMap, "shop", name)
        else put(name)
      }
      const everybodyKnows = (uid: string): Promise<void> =>
        eventually(() => expect([...told].filter(([, { known }]) => !known.has(uid)).map(([name]) => name)).toEqual([]))
      put("bomb")
      for (const deed of isThorough() ? ["trap", "kill", "trap", "both"] : ["trap", "both"]) {
        for (const name of names) if (!exists(name)) put(name)
        await everybodyKnows(put("sign").metadata.uid)
        // All know all, so whatever is deleted from here on has to be told.
        await everybodyKnows(put(`sign-${count}`).metadata.uid)
        const lives = of("trapping").lives
        for (let index = 0; index < 10; index++) {
          change()
          if (index % 3 === 0) await new Promise(setImmediate)
        }
        if (deed !== "kill") put("bomb")
        if (deed !== "trap") await host.kill("workers")
        for (let index = 0; index < 10; index++) {
          change()
          if (index % 3 === 0) await new Promise(setImmediate)
        }
        await eventually(() => expect(of("trapping").lives).toBeGreaterThan(lives))
      }
      await everybodyKnows(put("last").metadata.uid)
      const present = new Set(
        sandbox.ledger
          .of(configMap)
          .flatMap(({ uid, name, namespace }) =>
            sandbox.get(configMap, namespace ?? "", name)?.metadata.uid === uid ? [uid] : [],
          ),
      )
      for (const name of ["durable", "trapping"])
        await eventually(() => expect(of(name).missed(present), name).toEqual([]))
      expect(of("forgetful").missed(present).length).toBeGreaterThan(0)
      expect(of("durable").deleted.size).toBeGreaterThan(10)
    } finally {
      await host.close()
      await sandbox.close()
    }
  },
)

test("a module that watches from the version of a list is told of what was deleted while it was not there", {
  timeout: patient(60_000),
}, async () => {
  const sandbox = await Sandbox.start({ bookmarkInterval: 0 })
  const lines: string[] = []
  const host = hostOn(sandbox, {
    stateDirectory: temporaryDirectory(),
    onLog: (_name, _stream, line) => lines.push(line),
  })
  const put = (name: string) => sandbox.put(configMap, { metadata: { namespace: "shop", name } })
  /** As if it had listed now. */
  const add = (): Promise<void> => {
    const { resourceVersion } = sandbox
    const codePath = buildOddGuest(temporaryDirectory(), { namespace: "shop", resourceVersion })
    const file = { name: "lister", abi: "rust_v1alpha1", env: [], limits: {}, checkpoint: true } as const
    return host.add({ file, codePath })
  }
  const logged = (line: RegExp): Promise<void> => eventually(() => expect(lines.join("\n")).toMatch(line))
  try {
    for (const name of ["stays", "goes", "replaced"]) put(name)
    await add()
    await logged(/run/)
    // The census has been taken when nothing but the watch is left.
    await eventually(async () => {
      const subscriptions = (await host.hubStatistics())?.subscriptions
      expect(subscriptions?.map(({ isSynced }) => isSynced)).toEqual([true])
    })
    put("seen")
    await logged(/^ADDED seen 1$/m)
    await host.remove("lister")
    for (const name of ["goes", "replaced", "seen"]) sandbox.delete(configMap, "shop", name)
    put("replaced")
    lines.length = 0
    await add()
    await logged(/DELETED [a-z]+ 3/)
    expect(
      lines
        .slice(1)
        .map((line) => line.slice(0, -2))
        .sort(),
    ).toEqual(["DELETED goes", "DELETED replaced", "DELETED seen"])
  } finally {
    await host.close()
    await sandbox.close()
  }
})
