/** The interactive view and its terminal: what is written to it, that it is left as it was however the view ends, and that nothing runs on. */
import { describe, expect, test } from "vitest"
import { exitCodes } from "../../../../src/cli/command-line/exit-codes.ts"
import type { EventList } from "../../../../src/cli/inspect/screen/event-list.ts"
import { loadEvents, runScreen, type ScreenSession } from "../../../../src/cli/inspect/screen/screen-session.ts"
import { memorySpool } from "../../../../src/trace/index.ts"
import { start, story } from "./inspected-story.ts"
import { type KeyboardTerminal, keyboardTerminal, shows } from "./keyboard-terminal.ts"

const enter = "\u001b[?1049h"
const leave = "\u001b[?1049l"

async function* chunks() {
  yield story
}

const run = (terminal: KeyboardTerminal, given: Partial<ScreenSession> = {}) =>
  runScreen({
    ...{ terminal, name: "a.ndjson", nowMs: start * 1000, spool: memorySpool },
    clock: { after: () => ({ cancel: () => undefined }) },
    load: (list, _, { onProgress, signal }) => loadEvents(chunks(), list, onProgress, signal),
    ...given,
  })

/** Whether the terminal is as before, and no one listens to it. */
const expectLeft = (terminal: KeyboardTerminal): void => {
  const output = terminal.standardOutput.text()
  expect(output.split(enter)).toHaveLength(2)
  expect(output.split(leave)).toHaveLength(2)
  expect(output.endsWith(`\u001b[?7h\u001b[?25h${leave}`)).toBe(true)
  expect([terminal.hasListener(), terminal.listeners(), terminal.standardOutput.listenerCount("resize")]).toEqual([
    false,
    0,
    0,
  ])
}

describe("the terminal is left as it was", () => {
  test("when the user quits", async () => {
    const terminal = keyboardTerminal()
    const ended = run(terminal)
    await shows(terminal, "Deployment")
    terminal.press("q")
    expect(await ended).toBe(exitCodes.ok)
    expectLeft(terminal)
  })

  test("after Ctrl-C, also while a trace is read that never ends", async () => {
    const terminal = keyboardTerminal()
    const load: ScreenSession["load"] = (_, __, { signal }) =>
      new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(new Error("given up"))))
    const ended = run(terminal, { load })
    terminal.interrupt()
    expect(await ended).toBe(exitCodes.interrupted)
    expectLeft(terminal)
  })

  test("when reading fails, with the error", async () => {
    const terminal = keyboardTerminal()
    const failure = new Error("the disk is gone")
    await expect(run(terminal, { load: () => Promise.reject(failure) })).rejects.toBe(failure)
    expectLeft(terminal)
  })

  test("when a key fails because a state cannot be read, with the error", async () => {
    const terminal = keyboardTerminal()
    const failure = new Error("the spool is gone")
    let take: ((list: EventList) => void) | undefined
    const listed = new Promise<EventList>((resolve) => {
      take = resolve
    })
    const ended = run(terminal, {
      load: async (list, _, { onProgress, signal }) => {
        await loadEvents(chunks(), list, onProgress, signal)
        take?.(list)
      },
    })
    const refused = expect(ended).rejects.toBe(failure)
    await shows(terminal, "Deployment")
    Object.assign(await listed, {
      state: () => {
        throw failure
      },
    })
    terminal.press("G")
    terminal.press(" ")
    await refused
    expectLeft(terminal)
  })

  test("when the process exits meanwhile", async () => {
    const terminal = keyboardTerminal()
    const before = process.listeners("exit")
    const ended = run(terminal)
    await shows(terminal, "Deployment")
    const [added] = process.listeners("exit").filter((listener) => !before.includes(listener))
    added?.(1)
    expect(terminal.standardOutput.text().endsWith(leave)).toBe(true)
    terminal.press("q")
    await ended
    expect(process.listeners("exit")).toEqual(before)
  })
})

test("while it is suspended the terminal is as before, and then the screen is there again", async () => {
  const terminal = keyboardTerminal()
  const ended = run(terminal)
  await shows(terminal, "Deployment")
  terminal.suspension()?.suspending()
  const suspended = terminal.standardOutput.text()
  expect(suspended.endsWith(leave)).toBe(true)
  terminal.suspension()?.resumed()
  const again = terminal.standardOutput.text().slice(suspended.length)
  expect(again.startsWith(enter)).toBe(true)
  expect(again).toContain("Deployment")
  terminal.press("q")
  await ended
})

test("a key repaints only the rows that it changes, another size all of them", async () => {
  const terminal = keyboardTerminal()
  const ended = run(terminal)
  await shows(terminal, "Deployment")
  const after = (act: () => void): string => {
    const { length } = terminal.standardOutput.text()
    act()
    return terminal.standardOutput.text().slice(length)
  }
  expect(after(() => terminal.press("j")).match(/\[\d+;1H/g)).toEqual(["[4;1H", "[5;1H"])
  expect(after(() => terminal.press("x"))).toBe("")
  Object.assign(terminal.standardOutput, { rows: 12, columns: 40 })
  const resized = after(() => terminal.standardOutput.emit("resize"))
  expect(resized.match(/\[\d+;1H/g)).toHaveLength(12)
  terminal.press("q")
  await ended
})

test("without a keyboard nothing is shown", async () => {
  const terminal = { ...keyboardTerminal(), onKey: () => undefined }
  expect(await run(terminal)).toBeUndefined()
  expect(terminal.standardOutput.text()).toBe("")
})
