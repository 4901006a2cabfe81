/** What is told of a pin below its own address. */
import { createServer } from "node:http"
import * as Effect from "effect/Effect"
import { expect, test } from "vitest"
import type { Pin } from "../../../src/archive/index.ts"
import type { Access, Reader } from "../../../src/recorder/access/access.ts"
import { RequestBodies } from "../../../src/recorder/http/body/request-bodies.ts"
import { answerPinned, type PinSources, pinJson, pinnedPath } from "../../../src/recorder/http/pins.ts"
import { ManualClock } from "../../runtime/manual-clock.ts"

const pin: Pin = {
  ...{ id: "a-1", from: 0, until: 9_000_000, note: "the shop of Ann", source: "alert", labels: { customer: "Ann" } },
  ...{ createdMicros: 0, place: "kept", bytes: 700 },
}
const never = () => Effect.die("not asked for here")
const sources: PinSources = {
  pins: { list: never, find: () => Effect.succeed(pin), add: never, alert: never, remove: never },
  copies: { answer: () => Promise.reject(new Error("not asked for here")), forget: async () => undefined },
  nowMicros: () => 0,
}

const told = async (reader: Reader | undefined): Promise<unknown> => {
  const access: Access = {
    decide: async () => ({ tag: "allowed", who: "ann", ...(reader && { reader }) }),
    close: () => undefined,
  }
  const server = createServer((request, response) => {
    const path = request.url ?? ""
    const below = pinnedPath(path)
    if (below === undefined) throw new Error(`${path} is below no pin`)
    const discard = () => void request.resume()
    const asked = {
      request,
      response,
      path,
      from: "here",
      access,
      bodies: new RequestBodies(new ManualClock()),
      discard,
      reject: discard,
    }
    void Effect.runPromise(answerPinned(asked, below, sources, never))
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  try {
    const address = server.address()
    const port = typeof address === "object" ? address?.port : undefined
    return await (await fetch(`http://127.0.0.1:${port}/pins/a-1/v1/pins`)).json()
  } finally {
    server.closeAllConnections()
    server.close()
  }
}

test("who may read only a part is told which window it is, and not what others wrote about it", async () => {
  const part = await told({ identity: { username: "ann" }, mayRead: async () => true })
  const window = { id: "a-1", from: "1970-01-01T00:00:00Z", until: "1970-01-01T00:00:09Z", place: "kept", bytes: 700 }
  expect(part).toEqual({ items: [window] })
  expect(await told(undefined)).toEqual({ items: [pinJson(pin)] })
})
