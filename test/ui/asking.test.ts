/** What the page asks, when, and what it gives up. Time passes when the test says so. */

import { expect, test } from "vitest"
import { Asking } from "../../src/ui/shell/asking.ts"
import { type HistorySource, SourceError } from "../../src/ui/source/source.ts"
import { rowAt, rowCount } from "../../src/ui/state/rows.ts"
import { firstState, type PageState } from "../../src/ui/state/state.ts"
import { type Input, updated } from "../../src/ui/state/updates.ts"
import { fakeSource } from "./fake-source.ts"

const from = 1_700_000_000_000_000
const minute = 60_000_000

/** A page without a screen. `asked`: names of questions, in order; `givenUp` those of which the signal was aborted. */
const pageOn = (source: HistorySource) => {
  const asked: string[] = []
  const givenUp: string[] = []
  const noting = <Q extends ReadonlyArray<unknown>, A>(name: string, ask: (...question: Q) => A) => {
    return (...question: Q): A => {
      asked.push(name)
      const signal = question.find((each) => each instanceof AbortSignal)
      signal?.addEventListener("abort", () => givenUp.push(name))
      return ask(...question)
    }
  }
  const noted: HistorySource = {
    ...source,
    overview: noting("overview", source.overview),
    lanes: noting("lanes", source.lanes),
    tiles: noting("tiles", source.tiles),
    histogram: noting("histogram", source.histogram),
    findings: noting("findings", source.findings),
  }
  const timers = new Set<{ readonly milliseconds: number; readonly run: () => void }>()
  let state: PageState = firstState
  let isHidden = false
  const send = (input: Input): void => {
    const next = updated(state, input)
    // As the page does: a state that is the same is not followed.
    if (next === state) return
    state = next
    asking.follow(state)
  }
  const asking = new Asking(noted, {
    send,
    later: (milliseconds, run) => {
      const timer = { milliseconds, run }
      timers.add(timer)
      return () => timers.delete(timer)
    },
    isHidden: () => isHidden,
  })
  send({ type: "resized", rows: 20, width: 800 })
  return {
    ...{ asked, givenUp, send, asking },
    state: () => state,
    hide: () => {
      isHidden = true
    },
    /** Runs the timers that are set now. */
    pass: (): void => {
      for (const timer of [...timers]) if (timers.delete(timer)) timer.run()
    },
    /** Until every answer that is on its way has arrived. */
    calm: async (): Promise<void> => {
      for (let turn = 0; turn < 200; turn++) await Promise.resolve()
    },
  }
}

const recording = { span: { from, to: from + 30 * minute }, namespaces: ["shop"], deployments: 60 }

test("a recording is shown without anyone doing anything: its only namespace is open, and the rows in sight are drawn", async () => {
  const page = pageOn(fakeSource(recording))
  await page.calm()
  const { window, lists, tiles, found, failures } = page.state()
  expect(window).toEqual({ from: from + 15 * minute, to: from + 30 * minute })
  expect(lists.get("namespace/shop")?.total).toBe(60)
  expect(tiles.has("deployment.shop.0")).toBe(true)
  expect(found.progress).toBe(1)
  expect(failures.size).toBe(0)
  expect(page.asked.filter((name) => name === "tiles").length).toBeLessThanOrEqual(3)
})

test("a window that moves is asked about once, when it has come to rest", async () => {
  const page = pageOn(fakeSource(recording))
  await page.calm()
  page.asked.length = 0
  for (let step = 0; step < 50; step++) page.send({ type: "panned", by: -0.01 })
  await page.calm()
  expect(page.asked).toEqual([])
  page.pass()
  await page.calm()
  expect(page.asked.toSorted()).toEqual(["findings", "histogram", "lanes", "lanes", "tiles"])
})

test("rows that arrive one by one do not make the rest be asked for again", async () => {
  const slow = fakeSource(recording)
  const page = pageOn({
    ...slow,
    tiles: async (asked, each, signal) => {
      const late: Array<() => void> = []
      await slow.tiles(asked, (tile) => late.push(() => each(tile)), signal)
      for (const give of late) {
        await Promise.resolve()
        give()
      }
    },
  })
  await page.calm()
  await page.calm()
  expect(page.state().tiles.size).toBeGreaterThan(20)
  expect(page.asked.filter((name) => name === "tiles").length).toBeLessThanOrEqual(2)
  expect(page.givenUp.filter((name) => name === "tiles").length).toBeLessThanOrEqual(1)
})

const silent = () => new Promise<never>(() => undefined)

test.each([
  ["rows", { tiles: silent, histogram: silent }, ["histogram", "tiles"]],
  ["what went wrong", { findings: silent }, ["findings"]],
])("questions about a window that is left are given up: %s", async (_, never, givenUp) => {
  const page = pageOn({ ...fakeSource(recording), ...never })
  await page.calm()
  page.send({ type: "zoomed", factor: 0.5, at: 0.5 })
  page.pass()
  await page.calm()
  expect(page.givenUp.toSorted()).toEqual(expect.arrayContaining(givenUp))
})

test("what went wrong is asked for when the first rows are drawn", async () => {
  const page = pageOn({ ...fakeSource(recording), tiles: silent })
  await page.calm()
  expect(page.asked).toContain("tiles")
  expect(page.asked).not.toContain("findings")
})

test("a page that nobody sees asks nothing", async () => {
  const page = pageOn(fakeSource({ ...recording, isLive: true }))
  await page.calm()
  page.asked.length = 0
  page.hide()
  for (let second = 0; second < 5; second++) {
    page.pass()
    await page.calm()
  }
  expect(page.asked).toEqual([])
})

test("a page that follows the present asks once a second where it is", async () => {
  const page = pageOn(fakeSource({ ...recording, isLive: true }))
  await page.calm()
  expect(page.state().isFollowing).toBe(true)
  page.asked.length = 0
  page.pass()
  await page.calm()
  expect(page.asked).toContain("overview")
})

test("a server that is busy is asked again, told about when it stays busy, and forgotten when it answers", async () => {
  let isDown = true
  const source = fakeSource(recording)
  const page = pageOn({
    ...source,
    histogram: async (asked, signal) => {
      if (isDown) throw new SourceError("busy", "too many questions at once")
      return source.histogram(asked, signal)
    },
  })
  for (let time = 1; time <= 3; time++) {
    await page.calm()
    expect(page.state().failures.has("histogram")).toBe(time === 3)
    if (time < 3) page.pass()
  }
  expect(page.state().failures.get("histogram")).toEqual({ code: "busy", message: "too many questions at once" })
  isDown = false
  page.pass()
  await page.calm()
  expect(page.state().failures.size).toBe(0)
  expect(page.state().histogram).toBeDefined()
})

test("a reader without a token is asked for one, and everything is asked again with it", async () => {
  let token = ""
  const source = fakeSource(recording)
  const page = pageOn({
    ...source,
    overview: async (signal) => {
      if (token === "") throw new SourceError("unauthorized", "a token is needed")
      return source.overview(signal)
    },
  })
  await page.calm()
  expect(page.state().failures.get("overview")?.code).toBe("unauthorized")
  page.pass()
  await page.calm()
  expect(page.asked).toEqual(["overview"])
  token = "t"
  page.asking.retry()
  await page.calm()
  expect(page.state().overview?.name).toBe("demo.kubereel")
  expect(page.state().failures.size).toBe(0)
})

test("what is open far down a long list stays open, and in its place, when the window moves", async () => {
  const page = pageOn(fakeSource({ ...recording, deployments: 1000 }))
  await page.calm()
  for (const top of [300, 500, 700]) {
    page.send({ type: "scrolled", top })
    await page.calm()
  }
  page.send({ type: "toggled", row: 710 })
  await page.calm()
  const isOpen = () => rowAt(page.state(), 710)?.isOpen
  expect([rowCount(page.state()), isOpen()]).toEqual([1 + 1000 + 1 + 3, true])
  page.send({ type: "scrolled", top: 0 })
  page.send({ type: "panned", by: -0.1 })
  page.pass()
  await page.calm()
  expect([rowCount(page.state()), isOpen()]).toEqual([1 + 1000 + 1 + 3, true])
  // It is asked for again once it is in sight.
  page.send({ type: "scrolled", top: 700 })
  await page.calm()
  const { lists, settled } = page.state()
  expect(lists.get("namespace/shop")?.spans.get(3)).toEqual(settled)
})

test("while the page follows the present, findings stay until the window is examined again", async () => {
  const source = fakeSource({ ...recording, isLive: true })
  let end = recording.span.to
  let isHeld = false
  let release = (): void => undefined
  const page = pageOn({
    ...source,
    overview: async (signal) => ({ ...(await source.overview(signal)), span: { from, to: end } }),
    findings: async (asked, each, signal) => {
      if (isHeld) await new Promise<void>((resolve) => (release = resolve))
      await source.findings(asked, each, signal)
    },
  })
  await page.calm()
  const { length } = page.state().found.findings
  expect(length).toBeGreaterThan(0)
  isHeld = true
  end += 20_000_000
  page.pass()
  await page.calm()
  expect(page.asked.filter((name) => name === "findings")).toHaveLength(2)
  expect(page.state().found).toMatchObject({ progress: 1, findings: { length } })
  release()
  await page.calm()
  const { found } = page.state()
  expect([found.span.to, found.progress, found.findings.length, found.next]).toEqual([end, 1, length, undefined])
})

test("an object is brought into sight although the page follows the present, and the answer takes longer than a second", async () => {
  const source = fakeSource({ ...recording, isLive: true })
  let end = recording.span.to
  let release = (): void => undefined
  const page = pageOn({
    ...source,
    overview: async (signal) => ({ ...(await source.overview(signal)), span: { from, to: end } }),
    laneOf: async (asked, signal) => {
      await new Promise<void>((resolve, reject) => {
        release = resolve
        signal.addEventListener("abort", () => reject(signal.reason))
      })
      return source.laneOf(asked, signal)
    },
  })
  await page.calm()
  page.send({ type: "opened", object: { gvk: "v1.Pod", namespace: "shop", name: "web-0-7d9f8c0", uid: "" } })
  await page.calm()
  const first = release
  for (let second = 0; second < 3; second++) {
    end += 1_000_000
    page.pass()
    await page.calm()
  }
  first()
  await page.calm()
  expect(page.state().row).toBe("pod.shop.0.0")
})
