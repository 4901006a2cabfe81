/**
 * A whole recorder that removes what is old is ended by SIGKILL while a client asks about the past: what is kept equals the server's ledger from
 * its beginning on, and so does the state at the beginning.
 *
 * Thorough with KUBEREEL_TEST_THOROUGH=1: 50 kills instead of 4.
 */
import { randomBytes } from "node:crypto"
import { createInterface } from "node:readline"
import { Readable } from "node:stream"
import type { ReadableStream } from "node:stream/web"
import { setTimeout as sleep } from "node:timers/promises"
import { expect, onTestFailed, test } from "vitest"
import { verifyRecording } from "../../../src/archive/index.ts"
import { Sandbox } from "../../../src/sandbox/index.ts"
import { isThorough } from "../../harness/effort.ts"
import { patient, slowness } from "../../harness/patience.ts"
import { everything, type RecorderProcess, until, Workplace } from "../recorder/recorder-command.ts"
import { type Change, differences, ledgerOf } from "./recorded-sandbox.ts"
import { Remainder, type State, stateAfter } from "./remainder.ts"
import { Workload } from "./workload.ts"

const perSecond = Math.ceil(250 / slowness())
const kinds = ["apps/v1.Deployment", "v1.ConfigMap"]
const seed = Number(process.env.KUBEREEL_TEST_SEED ?? Date.now() % 1_000_000)
const kills = isThorough() ? 50 : 4

test(`a recorder with retention killed ${kills} times at ${perSecond} events/s keeps an exact remainder (seed ${seed})`, {
  timeout: patient(240_000),
}, async () => {
  console.log(`retention kills: KUBEREEL_TEST_SEED=${seed}`)
  await using place = new Workplace()
  const data = place.path("data")
  const sandbox = await Sandbox.start({ bookmarkInterval: 500 })
  // What cannot be compressed fills blocks, so the beginning moves with every few hundred events.
  const workload = new Workload(sandbox, kinds, seed, (length) => randomBytes(64 * length).toString("base64"))
  const start = (): RecorderProcess =>
    place.record({
      kinds: Object.fromEntries(kinds.map((gvk) => [gvk, "{detect: all}"])),
      cluster: { server: sandbox.url },
      more: kinds.flatMap((gvk) => ["--retain-bytes", `${gvk}=1Mi`]),
    })
  let recorder = start()
  onTestFailed(() => console.log(`the last recorder said:\n${recorder.log}`))
  let isOver = false
  let answers = 0
  let refusal = ""
  const ask = async (): Promise<void> => {
    while (!isOver)
      for (const gvk of kinds) {
        const state = await askedState(recorder, gvk)
        if (typeof state === "string") {
          refusal = state
          continue
        }
        expectStateOf(ledgerOf(sandbox, gvk), state)
        answers++
        // A client that asked without a pause would have half of the CPU.
        await sleep(100)
      }
  }
  let states = 0
  let removed = 0
  let asking = Promise.resolve()
  try {
    await recorder.ready()
    workload.start(perSecond)
    asking = ask()
    for (let round = 0; round < kills; round++) {
      await Promise.race([workload.moment(800), asking])
      // On a busy machine a recorder is killed before it has answered or added anything: every fifth has caught up and answered before.
      const before = answers
      const hasAnswered = (): Promise<void> =>
        until(
          async () => answers > before,
          () => `an answer; the last was ${refusal}`,
          60_000,
        )
      if (round % 5 === 4) await Promise.race([recorder.ready(60_000).then(hasAnswered), asking])
      await recorder.kill()
      using remainder = new Remainder(data)
      for (const gvk of kinds) {
        states += expectRemainderOf(remainder, gvk, ledgerOf(sandbox, gvk), workload)
        removed = Math.max(removed, remainder.beginning(gvk))
      }
      recorder = start()
      await recorder.listening()
    }
    await until(
      async () => {
        using remainder = new Remainder(data)
        removed = Math.max(removed, ...kinds.map((gvk) => remainder.beginning(gvk)))
        return removed > 1
      },
      "something to be removed",
      60_000,
    )
    workload.stop()
    isOver = true
    await asking
    await recorder.ready()
    let isComplete = false
    await until(
      async () => {
        await whileShortened(data, async () => {
          using remainder = new Remainder(data)
          isComplete = kinds.every((gvk) => last(remainder.changes(gvk)) === last(ledgerOf(sandbox, gvk)))
        })
        return isComplete
      },
      "the last change to be recorded",
      30_000,
    )
    for (const gvk of kinds) await whileShortened(data, () => expectExport(recorder, data, gvk, ledgerOf(sandbox, gvk)))
    expect((await recorder.stop()).code).toBe(0)
    expect(verifyRecording(data)).toMatchObject({ faults: [], damagedBlocks: [] })
    console.log(`${kills} kills, ${workload.events} events, ${states} states compared, ${answers} answers`)
    expect(removed).toBeGreaterThan(1)
    expect(answers).toBeGreaterThanOrEqual(Math.floor(kills / 5))
  } finally {
    isOver = true
    workload.stop()
    await asking.catch(() => undefined)
    await sandbox.close()
  }
})

const last = (changes: ReadonlyArray<Change>): string | undefined => changes.at(-1)?.resourceVersion

/**
 * What is kept is a stretch of the ledger, and what is before it is the state at its beginning; likewise at two random moments in it. Returns how
 * many states were compared.
 */
const expectRemainderOf = (
  remainder: Remainder,
  gvk: string,
  ledger: ReadonlyArray<Change>,
  random: Pick<Workload, "below">,
): number => {
  const kept = remainder.changes(gvk)
  if (kept.length === 0) return 0
  // The ledger is ahead of a recorder that was killed.
  const recorded = ledger.slice(0, 1 + ledger.findIndex(({ resourceVersion }) => resourceVersion === last(kept)))
  expect(differences(kept, recorded.slice(-kept.length), gvk)).toEqual({})
  const moments = [0, random.below(kept.length), random.below(kept.length)].map((index) => kept[index]?.received ?? 0)
  for (const moment of [remainder.beginning(gvk), ...moments]) {
    const since = kept.filter(({ received }) => received >= moment).length
    expect(remainder.stateBefore(gvk, moment)).toEqual(stateAfter(recorded.slice(0, recorded.length - since)))
  }
  return 1 + moments.length
}

/** The objects that a running recorder has of a kind; a text: why it does not say, as it is being killed, or has just begun. */
const askedState = async (recorder: RecorderProcess, gvk: string): Promise<State | string> => {
  let text: string
  try {
    const answer = await fetch(`${await recorder.listening()}/v1/objects?kind=${gvk}&order=change`)
    text = await answer.text()
    if (answer.status !== 200) return `${answer.status} ${text}`
  } catch (error) {
    return String(error)
  }
  const { items, gaps } = JSON.parse(text) as {
    readonly items: ReadonlyArray<{
      readonly object: { readonly metadata: { readonly uid: string; readonly resourceVersion: string } }
    }>
    readonly gaps: ReadonlyArray<unknown>
  }
  expect(gaps).toEqual([])
  return new Map(items.map(({ object }) => [object.metadata.uid, object.metadata.resourceVersion]))
}

/**
 * The state was that of the server at some moment: after its newest version, and perhaps after changes that followed it and left no version, as of
 * an object that was changed and then deleted.
 */
const expectStateOf = (ledger: ReadonlyArray<Change>, state: State): void => {
  const versions = new Set(state.values())
  const newest = ledger.findLastIndex(
    ({ action, resourceVersion }) => action === "applied" && versions.has(resourceVersion),
  )
  const model = new Map(stateAfter(ledger.slice(0, newest + 1)))
  const isState = (): boolean =>
    model.size === state.size && [...model].every(([uid, version]) => state.get(uid) === version)
  if (isState()) return
  for (const { uid, action, resourceVersion } of ledger.slice(newest + 1)) {
    if (action === "applied") model.set(uid, resourceVersion)
    else model.delete(uid)
    if (isState()) return
  }
  expect([...state].sort()).toEqual([...stateAfter(ledger.slice(0, newest + 1))].sort())
}

/** Does something with a recording that retention may shorten meanwhile: then it is done again. */
const whileShortened = async (data: string, work: () => Promise<void>): Promise<void> => {
  const beginnings = (): string => {
    using remainder = new Remainder(data)
    return kinds.map((gvk) => remainder.beginning(gvk)).join()
  }
  for (;;) {
    const before = beginnings()
    try {
      return await work()
    } catch (error) {
      if (beginnings() === before) throw error
    }
  }
}

/** An export from the beginning on that is required to be complete: the state there, and then the ledger. */
const expectExport = async (
  recorder: RecorderProcess,
  data: string,
  gvk: string,
  ledger: ReadonlyArray<Change>,
): Promise<void> => {
  using remainder = new Remainder(data)
  const beginning = remainder.beginning(gvk)
  const answer = await recorder.post({
    ...{ ...everything("ndjson"), start_time: beginning, times: "received" },
    filters: { excluded_namespaces: [], excluded_labels: [], kinds: [gvk] },
  })
  expect([answer.status, answer.status === 200 ? "" : await answer.text()]).toEqual([200, ""])
  const lines: Change[] = []
  // Line by line: on a slow machine it is more than a string may have.
  for await (const line of createInterface({ input: Readable.fromWeb(answer.body as ReadableStream) })) {
    if (!line.includes('"action"')) continue
    const { uid, resourceVersion, action, name } = JSON.parse(line) as Change
    lines.push({ gvk, uid, resourceVersion, action, name })
  }
  const kept = remainder.changes(gvk)
  expect(differences(lines.slice(-kept.length), ledger.slice(-kept.length), gvk)).toEqual({})
  expect(stateAfter(lines.slice(0, -kept.length))).toEqual(stateAfter(ledger.slice(0, -kept.length)))
}
