import { Writable } from "node:stream"
import { describe, expect, test } from "vitest"
import { createLogSink } from "../../../src/cli/record.ts"

/** A reader that takes nothing until told to, and then a number of pieces. */
const reluctantReader = () => {
  const taken: Array<string> = []
  const held: Array<() => void> = []
  let isReading = false
  const stream = new Writable({
    highWaterMark: 16,
    write(piece: Buffer, _, done) {
      const take = (): void => {
        taken.push(piece.toString())
        done()
      }
      if (isReading) take()
      else held.push(take)
    },
  })
  const read = async (): Promise<void> => {
    isReading = true
    for (const take of held.splice(0)) take()
    await new Promise((resolve) => setImmediate(resolve))
  }
  const pause = (): void => {
    isReading = false
  }
  return { stream, taken, read, pause }
}

/** Lines of ten bytes into a sink that holds a hundred. */
const sunk = () => {
  const reader = reluctantReader()
  const sink = createLogSink({
    stream: reader.stream,
    limitBytes: 100,
    dropped: (lines) => sink.write(`-${lines} lines\n`),
  })
  const say = (from: number, count: number): void => {
    for (let number = from; number < from + count; number++) sink.write(`${String(number).padStart(9, "0")}\n`)
  }
  return { ...reader, sink, say }
}

describe("a log that no one reads", () => {
  test("takes no more memory than its limit, drops further lines, and reports how many when it is read", async () => {
    const { stream, taken, read, pause, say } = sunk()
    say(0, 1000)
    expect(stream.writableLength).toBe(100)
    await read()
    expect(taken).toHaveLength(11)
    expect(taken.slice(-2)).toEqual(["000000009\n", "-990 lines\n"])
    pause()
    say(1000, 20)
    await read()
    expect(taken.slice(-2)).toEqual(["000001009\n", "-10 lines\n"])
    say(2000, 1)
    expect(taken.at(-1)).toBe("000002000\n")
  })

  test("reports at the end how much is missing, as its last line", async () => {
    const { taken, read, say, sink } = sunk()
    say(0, 15)
    sink.close()
    sink.close()
    await read()
    expect(taken.slice(-2)).toEqual(["000000009\n", "-5 lines\n"])
  })

  test("reports it before the next line if the stream failed and so never drained", () => {
    const told: Array<number> = []
    const written: Array<string> = []
    const state = { writableLength: 100 }
    // Like a pipe whose other end is gone: its content is discarded, and nothing drains.
    const broken = new Writable()
    Object.defineProperty(broken, "writableLength", { get: () => state.writableLength })
    const sink = createLogSink({
      stream: broken,
      limitBytes: 100,
      dropped: (lines) => told.push(lines),
      write: (line) => written.push(line),
    })
    sink.write("one\n")
    sink.write("two\n")
    expect(written).toEqual([])
    state.writableLength = 50
    sink.write("three\n")
    expect(written).toEqual([])
    state.writableLength = 0
    sink.write("four\n")
    expect([told, written]).toEqual([[3], ["four\n"]])
  })

  test("is written completely while it is read", async () => {
    const { taken, read, say, sink } = sunk()
    await read()
    say(0, 1000)
    sink.close()
    expect(taken).toHaveLength(1000)
    expect(taken.at(-1)).toBe("000000999\n")
  })
})
