/**
 * `reel host` as a process that is ended by SIGKILL again and again while objects change, requests fail and modules trap: after its next start each
 * of its controllers knows the last state of every object that it may see, and nothing else; and each of those with a checkpoint has been told the end of
 * every object that it ever knew. Compared with the ledger of a sandbox with RBAC.
 */
import { mkdirSync } from "node:fs"
import { expect, test } from "vitest"
import { kubeconfigOf, Sandbox } from "../../src/sandbox/index.ts"
import { isThorough } from "../harness/effort.ts"
import { eventually } from "../harness/eventually.ts"
import { patient } from "../harness/patience.ts"
import { selections } from "../host/dispatcher/witness.ts"
import { account, makeTokens, read, review } from "../host/identity/as-account.ts"
import { ReelProcess, Workplace } from "../recorder/recorder/recorder-command.ts"
import { seededRandom } from "../runtime/random.ts"
import {
  type Account,
  ModuleTestimonies,
  readScriptLog,
  type Witness,
  witnesses,
  writeWitnesses,
} from "./host-witnesses.ts"

const configMap = "v1.ConfigMap"
const rbac = "rbac.authorization.k8s.io"
const names = ["a", "b", "c", "d", "e", "f", "bomb"]
/** ms between two changes; a fault comes with one in 40. */
const changeEveryMs = 4
const kills = isThorough() ? 30 : 4
const seed = Number(process.env.KUBEREEL_TEST_SEED ?? Date.now() % 1_000_000)

/** A sandbox whose user `host` may do what a host has to, and whose ServiceAccount may read ConfigMaps of one namespace. */
const startSandbox = async (): Promise<Sandbox> => {
  const sandbox = await Sandbox.start({
    authorization: "rbac",
    users: [{ token: "host", username: "host" }],
    bookmarkInterval: 500,
  })
  const bind = (name: string, rules: ReadonlyArray<object>, subject: object, namespace?: string): void => {
    const kind = namespace === undefined ? "ClusterRoleBinding" : "RoleBinding"
    sandbox.put(`${rbac}/v1.ClusterRole`, { metadata: { name }, rules } as never)
    sandbox.put(`${rbac}/v1.${kind}`, {
      metadata: { name, ...(namespace !== undefined && { namespace }) },
      roleRef: { apiGroup: rbac, kind: "ClusterRole", name },
      subjects: [subject],
    } as never)
  }
  bind("host", [makeTokens, review, read("configmaps")], { kind: "User", apiGroup: rbac, name: "host" })
  sandbox.put("v1.ServiceAccount", { metadata: account })
  bind("shop", [read("configmaps")], { kind: "ServiceAccount", ...account }, "shop")
  return sandbox
}

/** One process of the host, whose lines go to the testimonies in their order. */
class Life {
  readonly process: ReelProcess
  readonly #testimonies: ModuleTestimonies
  #heard = 0

  constructor(process: ReelProcess, testimonies: ModuleTestimonies) {
    this.process = process
    this.#testimonies = testimonies
  }

  /** Lines that it has written. */
  get lines(): number {
    return this.process.output.split("\n").length - 1
  }

  /** Passes on what it has written since the last time, without a line that it is still writing. */
  hear(): void {
    const { output } = this.process
    const end = output.lastIndexOf("\n") + 1
    for (const line of output.slice(this.#heard, end).split("\n")) this.#testimonies.hear(line)
    this.#heard = Math.max(this.#heard, end)
  }
}

test(`a host that is killed ${kills} times believes in nothing that is gone, and misses no last state and, with checkpoints, no deletion (KUBEREEL_TEST_SEED=${seed})`, {
  timeout: patient(30_000 + kills * 5000),
}, async () => {
  const random = seededRandom(seed)
  const pick = <Value>(values: ReadonlyArray<Value>): Value => values[Math.floor(random() * values.length)] as Value
  const sandbox = await startSandbox()
  const { faults } = sandbox
  const place = new Workplace()
  const [modules, logs, built] = ["modules", "logs", "built"].map((name) => place.path(name)) as [
    string,
    string,
    string,
  ]
  for (const directory of [modules, logs, built, place.path("images")]) mkdirSync(directory)
  writeWitnesses(modules, logs, built)
  const kubeconfig = place.write("kubeconfig", kubeconfigOf(sandbox.url, "host"))
  const testimonies = new ModuleTestimonies()
  // Images of modules that a killed host leaves go with the workplace.
  const env = { ...process.env, TMPDIR: place.path("images") }
  const begin = (): Life => {
    const words = [
      "host",
      modules,
      "--kubeconfig",
      kubeconfig,
      "--listen",
      "0",
      "--state-directory",
      place.path("state"),
    ]
    return new Life(new ReelProcess(words, { env }), testimonies)
  }
  const accountOf = ({ form, name }: Witness): Account => {
    if (form === "script") return readScriptLog(logs, name)
    return testimonies.of(name)
  }

  let value = 0
  const put = (name: string, namespace: string, tier: string) =>
    sandbox.put(configMap, { metadata: { namespace, name, labels: { tier } }, data: { value: String(++value) } })
  const disturb = [
    () => faults.hangUp("configmaps"),
    () => faults.expireWatches("configmaps"),
    () => faults.respond("configmaps", 429, { times: 2 }),
    () => faults.forceExpired("configmaps", 1),
    () => faults.endWatches("configmaps"),
  ]
  const change = (): void => {
    const [name, namespace] = [pick(names), pick(["shop", "lab"])]
    const exists = sandbox.get(configMap, namespace, name) !== undefined
    if (exists && random() < 0.3) sandbox.delete(configMap, namespace, name)
    if (!exists || random() < 0.8) put(name, namespace, pick(["x", "y"]))
    if (random() >= 1 / 40) return
    // What has not happened by now is given up: on a slow machine refusals would gather faster than a host asks, and it would never hear anything.
    faults.clear()
    pick(disturb)()
  }
  const churn = setInterval(change, changeEveryMs)
  let life: Life | undefined
  try {
    const killedAt: number[] = []
    for (let round = 0; round < kills; round++) {
      const killed = begin()
      life = killed
      // From the moment of its start to long after its lists.
      const lines = pick([0, 1, 30, 300, 1500])
      await eventually(() => {
        expect(killed.process.ending, killed.process.said).toBeUndefined()
        expect(killed.lines, killed.process.said).toBeGreaterThanOrEqual(lines)
      })
      // On a slow machine the others may all be killed before a controller's first word: from the last one every controller has heard.
      if (round === kills - 1)
        await eventually(() => {
          killed.hear()
          expect(witnesses.filter((witness) => accountOf(witness).lives === 0).map(({ name }) => name)).toEqual([])
        })
      await killed.process.kill()
      killedAt.push(killed.lines)
      killed.hear()
    }
    const survivor = begin()
    life = survivor
    // It is in the middle of things when the churn ends.
    await eventually(() => expect(survivor.lines).toBeGreaterThan(300))
    clearInterval(churn)
    faults.clear()

    const last = new Map(sandbox.ledger.of(configMap).map((entry) => [entry.uid, entry]))
    const statesOf = ({ selection, isForbidden }: Witness): Map<string, number> => {
      const { namespace, labelSelector }: { namespace?: string; labelSelector?: string } = selections[selection] ?? {}
      const visible = [...last.values()].filter(
        (entry) =>
          !isForbidden &&
          entry.action === "applied" &&
          (namespace === undefined || entry.namespace === namespace) &&
          (labelSelector === undefined || entry.object?.metadata.labels?.tier === "x"),
      )
      return new Map(visible.map(({ uid, resourceVersion }) => [uid, Number(resourceVersion)]))
    }
    for (const witness of witnesses) {
      const states = statesOf(witness)
      await eventually(() => {
        survivor.hear()
        const { known, lasting } = accountOf(witness)
        expect(known, `${witness.name}\n${survivor.process.log}`).toEqual(states)
        if (witness.isDurable) expect(lasting, `${witness.name}, over all lives`).toEqual(new Set(states.keys()))
      })
    }
    for (const witness of witnesses) {
      const { everKnown, gone, contradictions, lives } = accountOf(witness)
      // Also of what came and went in the last life.
      for (const uid of everKnown.filter((each) => !last.has(each) || last.get(each)?.action === "deleted"))
        expect([...gone], witness.name).toContain(uid)
      expect(contradictions, witness.name).toEqual([])
      expect(lives, witness.name).toBeGreaterThan(1)
      if (witness.isForbidden) expect(everKnown).toEqual([])
    }
    // Without a checkpoint, what is deleted while no host runs is only absent from the next list.
    const forgetful = witnesses.filter(({ isDurable }) => !isDurable)
    expect(forgetful.reduce((sum, witness) => sum + accountOf(witness).lasting.size, 0)).toBeGreaterThan(
      forgetful.reduce((sum, witness) => sum + statesOf(witness).size, 0),
    )
    // The kills came at different moments, and the faults had their effects, of which a few lives may have none.
    expect(new Set(killedAt).size).toBeGreaterThan(1)
    if (isThorough())
      expect(faults.count("hung-up") + faults.count("expired") + faults.count("answered")).toBeGreaterThan(0)
  } finally {
    clearInterval(churn)
    await life?.process.kill()
    await place.close()
    await sandbox.close()
  }
})
