/** How many requests the page has under way, against a server that keeps them waiting. */

import { createServer, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import { expect, onTestFinished, test } from "vitest"
import { httpSource } from "../../src/ui/source/http-source.ts"

const asked = { from: 0, to: 1000, width: 10 }

/** A server that answers when it is told to. */
const serverOf = async () => {
  const held: ServerResponse[] = []
  let arrived: (() => void) | undefined
  const server = createServer((_, response) => {
    held.push(response)
    arrived?.()
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  const source = httpSource({ base: `http://127.0.0.1:${port}/ui/`, fetch, token: () => undefined })
  return {
    ...{ held, source },
    /** Until so many requests have come. */
    until: async (count: number): Promise<void> => {
      while (held.length < count)
        await new Promise<void>((resolve) => {
          arrived = resolve
        })
    },
    answer: (index: number): void => {
      held[index]?.end(`${JSON.stringify({ type: "end", counts: [index] })}\n`)
    },
  }
}

test("two requests are under way at most, and the third follows the first that is answered", async () => {
  const { held, source, until, answer } = await serverOf()
  const { signal } = new AbortController()
  const answers = [1, 2, 3].map(() => source.histogram(asked, signal))
  await until(2)
  expect(held.length).toBe(2)
  answer(1)
  await until(3)
  answer(0)
  answer(2)
  expect((await Promise.all(answers)).map(([count]) => count).toSorted()).toEqual([0, 1, 2])
})

test("a request that is given up while it waits is never made, and does not hold up the next", async () => {
  const { held, source, until, answer } = await serverOf()
  const { signal } = new AbortController()
  const first = [1, 2].map(() => source.histogram(asked, signal))
  await until(2)
  const waiting = new AbortController()
  const givenUp = source.histogram(asked, waiting.signal)
  const next = source.histogram(asked, signal)
  waiting.abort(new Error("no longer wanted"))
  await expect(givenUp).rejects.toThrow("no longer wanted")
  answer(0)
  await until(3)
  answer(1)
  answer(2)
  await Promise.all([...first, next])
  expect(held.length).toBe(3)
})

test("a request that fails gives its turn to the next", async () => {
  const { held, source, until, answer } = await serverOf()
  const { signal } = new AbortController()
  const failing = [1, 2].map(() => source.histogram(asked, signal).catch((error: Error) => error.message))
  await until(2)
  const next = source.histogram(asked, signal)
  held[0]?.destroy()
  held[1]?.writeHead(429).end("too many questions at once\n")
  await until(3)
  answer(2)
  expect([...(await next)]).toEqual([2])
  expect((await Promise.all(failing)).toSorted()).toEqual([
    "the server cannot be reached",
    "too many questions at once",
  ])
})
