/** `GET /v1/events` of a recorder as users run it, with clients that go on, do not read, or ask too much. */
import { get, type IncomingMessage } from "node:http"
import fc from "fast-check"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { exitCodes } from "../../../src/cli/command-line/exit-codes.ts"
import { eventsCommand } from "../../../src/cli/events.ts"
import {
  maximumSubscriptions,
  maximumSubscriptionsPerClient,
  Subscriptions,
} from "../../../src/recorder/http/subscriptions.ts"
import { Sandbox } from "../../../src/sandbox/index.ts"
import { capturedTerminal } from "../../cli/captured-terminal.ts"
import { type RecorderProcess, until, Workplace } from "../recorder/recorder-command.ts"

interface Item {
  readonly type: string
  readonly sequence: number
  readonly name?: string
  readonly isSelected?: boolean
  readonly reason?: string
  readonly object?: { readonly data?: Readonly<Record<string, string>> }
  readonly differences?: ReadonlyArray<object>
}

/** Items as they come; the last one that is not whole is left out, as a client must. */
class Follower {
  readonly items: Item[] = []
  readonly #response: IncomingMessage
  #text = ""
  readonly ended: Promise<void>
  #told: () => void = () => undefined

  private constructor(response: IncomingMessage) {
    this.#response = response
    const separator = /event-stream/.test(response.headers["content-type"] ?? "") ? "\n\n" : "\n"
    response.setEncoding("utf8").on("data", (text: string) => {
      this.#text += text
      const whole = this.#text.split(separator)
      this.#text = whole.pop() ?? ""
      for (const each of whole) this.items.push(itemIn(each))
      this.#told()
    })
    this.ended = new Promise((resolve) => response.on("close", resolve).on("error", () => undefined))
  }

  static async start(url: string, headers: Record<string, string> = {}, agent?: false): Promise<Follower> {
    const response = await new Promise<IncomingMessage>((resolve, reject) => {
      get(url, { headers, ...(agent === false && { agent }) }, resolve).on("error", reject)
    })
    if (response.statusCode !== 200) throw new Error(`${response.statusCode}`)
    return new Follower(response)
  }

  get changes(): ReadonlyArray<Item> {
    return this.items.filter(({ type }) => type !== "progress")
  }

  /** Until an item is there. */
  async until(isIt: (item: Item) => boolean): Promise<Item> {
    for (;;) {
      const found = this.items.find(isIt)
      if (found !== undefined) return found
      await new Promise<void>((resolve) => {
        this.#told = resolve
      })
    }
  }

  pause(): void {
    this.#response.pause()
  }

  resume(): void {
    this.#response.resume()
  }

  leave(): void {
    this.#response.destroy()
  }
}

/** Of a line, or of a Server-Sent Event, whose id and event must be those of the item. */
const itemIn = (text: string): Item => {
  const [, id, event, data] = /^id: (\d+)\nevent: (\w+)\ndata: ([^\n]*)$/.exec(text) ?? []
  const item = JSON.parse(data ?? text) as Item
  if (data !== undefined) expect([Number(id), event]).toEqual([item.sequence, item.type])
  return item
}

let place: Workplace
let sandbox: Sandbox
let recorder: RecorderProcess
const start = (more: ReadonlyArray<string> = []): RecorderProcess =>
  place.record({ cluster: { server: sandbox.url }, kinds: { "v1.ConfigMap": "{}", "apps/v1.Deployment": "{}" }, more })
const put = (name: string, data: Readonly<Record<string, string>>, labels = {}): void => {
  sandbox.put("v1.ConfigMap", { metadata: { namespace: "shop", name, labels }, data })
}
beforeAll(async () => {
  place = new Workplace()
  sandbox = await Sandbox.start()
  put("first", { a: "1" })
  recorder = start()
  await recorder.ready()
})
afterAll(async () => {
  await place.close()
  await sandbox.close()
})

const events = async (query = ""): Promise<string> => `${await recorder.listening()}/v1/events${query}`

test("what changes is told as it is committed, from now on or from the beginning, as lines or as Server-Sent Events", async () => {
  const live = await Follower.start(await events(), { Accept: "text/event-stream" })
  // Whoever begins now is told where that is.
  await live.until(({ type }) => type === "progress")
  const past = await Follower.start(await events("?after=0&kind=configmaps"))
  await past.until(({ name }) => name === "first")
  put("second", { text: 'line\nbreak \u2028 "quotes" \u{1F600}' })
  put("second", { text: "other" })
  sandbox.delete("v1.ConfigMap", "shop", "second")
  for (const follower of [live, past]) {
    await follower.until(({ type }) => type === "deleted")
    const told = follower.changes.filter(({ name }) => name === "second")
    expect(told.map(({ type }) => type)).toEqual(["created", "changed", "deleted"])
    expect(told[0]?.object?.data?.text).toBe('line\nbreak \u2028 "quotes" \u{1F600}')
    follower.leave()
  }
})

test("filters: names, labels with the change by which an object no longer matches, and the fields that differ", async () => {
  const query = "?kind=configmaps&namespace=shop&labels=app%3Dweb&objects=false&differences=true"
  const follower = await Follower.start(await events(query))
  await follower.until(({ type }) => type === "progress")
  put("other", { a: "1" }, { app: "db" })
  put("matching", { a: "1" }, { app: "web" })
  put("matching", { a: "2" }, { app: "web" })
  put("matching", { a: "3" }, { app: "db" })
  put("matching", { a: "4" }, { app: "db" })
  put("last", { a: "1" }, { app: "web" })
  await follower.until(({ name }) => name === "last")
  expect(follower.changes.map(({ name, type, isSelected }) => [name, type, isSelected])).toEqual([
    ["matching", "created", undefined],
    ["matching", "changed", undefined],
    ["matching", "changed", false],
    ["last", "created", undefined],
  ])
  expect(follower.changes[1]?.differences).toEqual([{ path: "data.a", before: "1", after: "2" }])
  expect(follower.changes.every(({ object }) => object === undefined)).toBe(true)
  follower.leave()
})

test("after a kill of the recorder, a client goes on where it was, and reel events --follow by itself", async () => {
  const terminal = capturedTerminal()
  const words = ["-f", "--since", "0", "-k", "configmaps", "--name", "counted", "--server", await recorder.listening()]
  const following = eventsCommand().run(words, terminal)
  const follower = await Follower.start(await events("?kind=configmaps&name=counted"))
  await follower.until(({ type }) => type === "progress")
  put("counted", { count: "1" })
  // What changes after that was printed is told by the stream, and not by the first answer.
  await until(
    () => terminal.standardOutput.text().includes("shop/counted"),
    () => terminal.standardError.text(),
  )
  for (let count = 2; count <= 20; count++) put("counted", { count: String(count) })
  const last = await follower.until(({ object }) => object?.data?.count === "10")
  const printed = (): ReadonlyArray<string> => terminal.standardOutput.text().match(/data\.count: "\d+" → "\d+"/g) ?? []
  const isPrinted = async (line: string): Promise<void> => {
    while (!printed().includes(line)) await new Promise((resolve) => setTimeout(resolve, 20))
  }
  // From now on it goes on by itself.
  await isPrinted('data.count: "9" → "10"')
  const port = new URL(await recorder.listening()).port
  await recorder.kill()
  await follower.ended
  for (let count = 21; count <= 30; count++) put("counted", { count: String(count) })
  recorder = start(["--listen", port])
  await recorder.ready()
  const again = await Follower.start(await events("?kind=configmaps&name=counted"), {
    "Last-Event-ID": String(last.sequence),
  })
  await again.until(({ object }) => object?.data?.count === "30")
  const counts = [...follower.changes.filter(({ sequence }) => sequence <= last.sequence), ...again.changes].map(
    ({ object }) => Number(object?.data?.count),
  )
  expect(counts).toEqual(Array.from({ length: 30 }, (_, index) => index + 1))
  again.leave()
  await isPrinted('data.count: "29" → "30"')
  terminal.interrupt()
  expect(await following).toBe(exitCodes.ok)
  expect(printed()).toEqual(Array.from({ length: 29 }, (_, index) => `data.count: "${index + 1}" → "${index + 2}"`))
})

test("a recorder that is stopped says so in the last item; reel events --follow prints that, and goes on when it is back", async () => {
  const terminal = capturedTerminal()
  const words = ["-f", "--since", "0", "-k", "configmaps", "--name", "kept", "--server", await recorder.listening()]
  const printed = (): string => terminal.standardOutput.text()
  const isPrinted = (text: string): Promise<void> => until(() => printed().includes(text), printed)
  const following = eventsCommand().run(words, terminal)
  const follower = await Follower.start(await events(), { Accept: "text/event-stream" })
  put("kept", { count: "1" })
  await isPrinted("created")
  // What changes after the first answer was printed is told by the stream.
  put("kept", { count: "2" })
  await isPrinted('data.count: "1" → "2"')
  const port = new URL(await recorder.listening()).port
  const { code } = await recorder.stop()
  expect(code).toBe(exitCodes.ok)
  await follower.ended
  const { type, sequence, reason } = follower.items.at(-1) ?? {}
  expect([type, reason, sequence]).toEqual(["end", "stopping", follower.items.at(-2)?.sequence])
  put("kept", { count: "3" })
  recorder = start(["--listen", port])
  await recorder.ready()
  await isPrinted('data.count: "2" → "3"')
  terminal.interrupt()
  expect(await following).toBe(exitCodes.ok)
  expect(terminal.standardError.text()).toContain("ended the stream: it is stopping; trying again in 0.5 s")
})

test("a client that does not read delays no one, and gets everything when it does", async () => {
  const slow = await Follower.start(await events("?kind=configmaps&name=large"), {}, false)
  const quick = await Follower.start(await events("?kind=configmaps&name=large"), {}, false)
  await slow.until(({ type }) => type === "progress")
  slow.pause()
  const text = "x".repeat(200_000)
  for (let count = 1; count <= 50; count++) put("large", { count: String(count), text: `${count}${text}` })
  await quick.until(({ object }) => object?.data?.count === "50")
  slow.resume()
  await slow.until(({ object }) => object?.data?.count === "50")
  for (const { changes } of [slow, quick])
    expect(changes.map(({ object }) => Number(object?.data?.count))).toEqual(
      Array.from({ length: 50 }, (_, index) => index + 1),
    )
  slow.leave()
  quick.leave()
})

describe("what cannot be followed", () => {
  test.each([
    ["?after=yesterday", 400, "after must be now or the sequence number of an event"],
    ["?since=0", 400, "unknown parameter"],
    ["?kind=nonsense", 404, "no recorded kind is called"],
    ["?after=999999999", 410, "it is not the one that had event 999999999"],
  ])("%s is %i", async (query, status, text) => {
    const response = await fetch(await events(query))
    expect([response.status, await response.text()]).toEqual([status, expect.stringContaining(text)])
  })

  test("too many subscriptions of one client are refused until one of them ends", async () => {
    const followers = await Promise.all(
      Array.from({ length: maximumSubscriptionsPerClient }, async () => Follower.start(await events(), {}, false)),
    )
    const refused = await fetch(await events())
    expect([refused.status, refused.headers.get("retry-after")]).toEqual([429, "5"])
    await refused.text()
    followers[0]?.leave()
    const status = async (): Promise<number> => {
      const response = await fetch(await events())
      await response.body?.cancel()
      return response.status
    }
    while ((await status()) !== 200) await new Promise((resolve) => setTimeout(resolve, 20))
    for (const follower of followers) follower.leave()
  })
})

test("places of subscriptions are bounded in all and for each client, and given back once", () => {
  fc.assert(
    fc.property(fc.array(fc.record({ client: fc.nat(11), leaves: fc.boolean() }), { maxLength: 300 }), (steps) => {
      const subscriptions = new Subscriptions()
      const held: Array<{ readonly client: number; readonly giveBack: () => void }> = []
      for (const { client, leaves } of steps) {
        const own = held.findIndex((each) => each.client === client)
        if (leaves && own >= 0) {
          held[own]?.giveBack()
          held[own]?.giveBack()
          held.splice(own, 1)
          continue
        }
        const place = subscriptions.take(String(client))
        const mine = held.filter((each) => each.client === client).length
        const isFree = held.length < maximumSubscriptions && mine < maximumSubscriptionsPerClient
        expect("giveBack" in place).toBe(isFree)
        if ("giveBack" in place) held.push({ client, giveBack: place.giveBack })
      }
    }),
  )
})

test("once all subscriptions are to end, all are told, and the end waits for the last", async () => {
  const subscriptions = new Subscriptions()
  const first = subscriptions.take("ann")
  let hasEnded = false
  const ended = subscriptions.end().then(() => {
    hasEnded = true
  })
  const late = subscriptions.take("bob")
  if (!("giveBack" in first && "giveBack" in late)) throw new Error("there are places")
  await subscriptions.stopping
  first.giveBack()
  await Promise.resolve()
  expect([hasEnded, subscriptions.count]).toEqual([false, 1])
  late.giveBack()
  await ended
})
