/**
 * A writer in a process of its own, on whatever disk it was started: it executes the commands that come on standard input, one a line, and
 * answers each with a line of JSON.
 */
import { createInterface } from "node:readline"
import type { ArchiveWriter } from "../../../src/archive/archive-writer.ts"
import { openOrBegin } from "../../../src/archive/set-aside.ts"
import { encodeFrame, START } from "../sample-frames.ts"

const [, , directory = ""] = process.argv
let opened: ReturnType<typeof openOrBegin> | undefined
let number = 0

const writer = (): ArchiveWriter => {
  opened ??= openOrBegin(directory)
  return opened.writer
}

const commands: Readonly<Record<string, () => unknown>> = {
  open: () => ({ kinds: writer().kindState("v1.Pod").completeThrough, setAside: opened?.setAside }),
  append: () => {
    number++
    const incarnation = number === 1 ? writer().nextIncarnation("watcher") : 1
    const object = JSON.stringify({ number, filler: "x".repeat(20_000) })
    const events = [{ action: "applied" as const, number, time: START + number, version: number, object }]
    const frame = encodeFrame({ gvk: "v1.Pod", newObjects: [number], events, completeThrough: String(number) })
    return writer().append("watcher", incarnation, number, frame)
  },
  commit: () => writer().commit().cut,
  sync: () => writer().sync(),
  abandon: () => writer().abandon(),
  close: () => writer().close(),
}

for await (const line of createInterface({ input: process.stdin })) {
  try {
    process.stdout.write(`${JSON.stringify({ done: (await commands[line]?.()) ?? null })}\n`)
  } catch (error) {
    const { _tag: tag, message } = error as { readonly _tag?: string; readonly message: string }
    process.stdout.write(`${JSON.stringify({ tag, message })}\n`)
  }
}
