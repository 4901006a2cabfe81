/** Pinned windows as the page asks for them and shows them. */
import { describe, expect, test } from "vitest"
import { httpSource } from "../../src/ui/source/http-source.ts"
import { firstState } from "../../src/ui/state/state.ts"
import { updated } from "../../src/ui/state/updates.ts"

const pin = {
  ...{ id: "20261129t0312-1f2e3d4c", from: "2026-11-29T03:12:00Z", until: "2026-11-29T03:22:00.000001Z", note: "slow" },
  ...{ source: "alert", labels: {}, created: "2026-11-29T03:42:00Z", place: "lost", bytes: 0 },
}
const shown = {
  ...{ id: pin.id, note: "slow", isAlert: true, isLost: true, alert: "" },
  ...{ from: Date.parse(pin.from) * 1000, until: Date.parse("2026-11-29T03:22:00Z") * 1000 + 1 },
}
const { signal } = new AbortController()

/** A server; `said`: what was asked of it. */
const sourceAt = (base: string, answer: (path: string) => Response) => {
  const said: string[] = []
  const source = httpSource({
    base,
    token: () => "secret",
    fetch: async (input, init) => {
      const url = String(input)
      said.push([init?.method ?? "GET", url, init?.body].filter((each) => each !== undefined).join(" "))
      return answer(new URL(url).pathname)
    },
  })
  return { source, said }
}

const kinds = [
  { type: "kind", gvk: "v1.Pod", since: 1, until: 2, namespaced: true },
  { type: "end", since: 1, until: Date.now() * 1000 },
]
const answered = (path: string): Response =>
  path.endsWith("/pins")
    ? Response.json({ items: [pin] })
    : new Response(kinds.map((item) => JSON.stringify(item)).join("\n"), {
        headers: { date: new Date().toUTCString() },
      })

describe("the page of a recorder", () => {
  test("lists pins, makes and removes them, and knows their addresses, below any prefix", async () => {
    const { source, said } = sourceAt("http://recorder.example/a/b/ui/", answered)
    const { pins } = source
    expect(await pins?.list(signal)).toEqual([shown])
    await pins?.add({ from: 5, until: 9, note: "mine" }, signal)
    await pins?.remove(pin.id, signal)
    expect(said).toEqual([
      "GET http://recorder.example/a/b/v1/pins",
      'POST http://recorder.example/a/b/v1/pins {"from":5,"until":9,"note":"mine"}',
      `DELETE http://recorder.example/a/b/v1/pins/${pin.id}`,
    ])
    expect(pins?.address(pin.id)).toBe(`http://recorder.example/a/b/pins/${pin.id}/ui/`)
    expect((await source.overview(signal)).pin).toBeUndefined()
  })

  test.each([403, 404])(
    "shows nothing of pins where the answer is %i, and a failure where there is another",
    async (status) => {
      const refusing = sourceAt("http://host/ui/", () => new Response("no", { status }))
      expect(await refusing.source.pins?.list(signal)).toBeUndefined()
      const failing = sourceAt("http://host/ui/", () => new Response("no", { status: 500 }))
      await expect(failing.source.pins?.list(signal)).rejects.toThrow("no")
    },
  )
})

test("the page of a pin has its window, does not follow the present, and offers no pins of its own", async () => {
  const { source } = sourceAt(`http://host/pins/${pin.id}/ui/`, answered)
  expect(source.pins).toBeUndefined()
  const overview = await source.overview(signal)
  expect([overview.pin, overview.isLive]).toEqual([shown, false])
  const state = updated(firstState, { type: "overview", overview })
  expect([state.window, state.isFollowing]).toEqual([{ from: shown.from, to: shown.until }, false])
  const link = { type: "link", link: "#from=2026-11-29T03:13:00Z&to=2026-11-29T03:14:00Z" } as const
  const linked = updated(updated(firstState, link), { type: "overview", overview })
  expect(linked.window.to - linked.window.from).toBe(60_000_000)
})

test("the pane of pins opens only where there may be some, and closes when there may be none", () => {
  const key = { type: "key", key: "p", isShifted: false } as const
  expect(updated(firstState, key).pane).toBe("none")
  const open = updated(updated(firstState, { type: "pins", pins: [] }), key)
  expect(open.pane).toBe("pins")
  expect(updated(open, key).pane).toBe("none")
  expect(updated(open, { type: "pins", pins: undefined }).pane).toBe("none")
})
