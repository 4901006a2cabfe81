import { expect, test } from "vitest"
import { Answering, type AnswerStream } from "../../../src/actors/reader/answering.ts"
import type { Question } from "../../../src/actors/reader/question.ts"
import { KnownIntact } from "../../../src/archive/index.ts"
import { recordSample } from "../../archive/sample-recording.ts"
import { temporaryDirectory } from "../../harness/temporary-directory.ts"

/** A client that takes a piece at a time. */
class Client {
  readonly pieces: Buffer[] = []
  error: string | undefined
  #isGone = false
  #taken = Promise.withResolvers<void>()
  readonly stream: AnswerStream = {
    writable: async () => {
      await turns(1)
      if (this.pieces.length > 0) await this.#taken.promise
      return !this.#isGone
    },
    send: (piece: Uint8Array) => {
      this.pieces.push(Buffer.from(piece))
      this.#taken = Promise.withResolvers<void>()
    },
    end: (error = "") => {
      this.error = error
    },
  }

  take(): void {
    this.#taken.resolve()
  }

  leave(): void {
    this.#isGone = true
    this.#taken.resolve()
  }

  get text(): string {
    return Buffer.concat(this.pieces).toString()
  }
}

const question: Question = { about: "changes", from: 0, to: Number.MAX_SAFE_INTEGER, withObjects: true, known: [] }

const turns = async (count: number): Promise<void> => {
  for (let turn = 0; turn < count; turn++) await new Promise((resolve) => setImmediate(resolve))
}

const sample = (): string => {
  const directory = temporaryDirectory()
  recordSample(directory).close()
  return directory
}

test("an answer comes as fast as its client takes it, and ends once", async () => {
  const answering = new Answering(sample(), new KnownIntact())
  const client = new Client()
  answering.start(question, client.stream)
  await turns(5)
  // One turn's worth, which is a piece of 64 KiB and the rest of the last object.
  const sent = client.pieces.length
  expect([1, 2]).toContain(sent)
  await turns(50)
  expect(client.pieces.length).toBe(sent)
  expect(client.error).toBeUndefined()
  while (client.error === undefined) {
    client.take()
    await turns(2)
  }
  expect(client.error).toBe("")
  const lines = client.text.trimEnd().split("\n")
  expect(lines.length).toBe(3 * 120 + 1)
  expect(JSON.parse(lines.at(-1) ?? "")).toMatchObject({ type: "end" })
})

test("a client that goes away, or does not take its answer, holds up no other", async () => {
  const answering = new Answering(sample(), new KnownIntact())
  const [slow, gone, quick] = [new Client(), new Client(), new Client()]
  for (const client of [slow, gone, quick]) answering.start(question, client.stream)
  await turns(10)
  gone.leave()
  const [taken, sent] = [gone.pieces.length, slow.pieces.length]
  while (quick.error === undefined) {
    quick.take()
    await turns(2)
  }
  expect([quick.error, slow.pieces.length, gone.pieces.length]).toEqual(["", sent, taken])
  answering.stop()
  expect(slow.error).toBe("the recorder is stopping")
})

test("what went wrong is looked for after questions that are quick, unless their clients do not take the answers", async () => {
  const answering = new Answering(sample(), new KnownIntact())
  const ended: string[] = []
  const start = (name: string, about: Question["about"]): Client => {
    const client = new Client()
    const end = (error = ""): void => {
      client.error = error
      ended.push(name)
    }
    answering.start({ ...question, about }, { ...client.stream, end })
    return client
  }
  const found = start("findings", "findings")
  const changes = start("changes", "changes")
  while (ended.length === 0) {
    found.take()
    changes.take()
    await turns(1)
  }
  expect(ended).toEqual(["changes"])
  const stuck = start("stuck", "changes")
  while (ended.length === 1) {
    found.take()
    await turns(1)
  }
  expect([ended, found.error, stuck.error]).toEqual([["changes", "findings"], "", undefined])
  answering.stop()
})

test("a question that has no answer is refused at once", () => {
  const answering = new Answering(sample(), new KnownIntact())
  const start = (more: Partial<Question>) => () => answering.start({ ...question, ...more }, new Client().stream)
  expect(start({ kinds: ["Nonsense"] })).toThrow(expect.objectContaining({ fault: "not-recorded" }))
  expect(start({ labels: "a===" })).toThrow(expect.objectContaining({ fault: "question" }))
  expect(() => new Answering("/nowhere", new KnownIntact()).start(question, new Client().stream)).toThrow(
    expect.objectContaining({ fault: "recording" }),
  )
})
