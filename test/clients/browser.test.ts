/**
 * Our pages in a browser: that they run and load nothing whatever a trace says, can be read on a phone, in the dark, and where a server forbids
 * their style. Runs if `KUBEREEL_CHROMIUM` is the path of a Chromium.
 */

import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { traceDiffPage } from "../../src/cli/diff/trace-diff.ts"
import { compareTraces, type TraceItem } from "../../src/trace/index.ts"
import { type Described, event, gap, header, ownedBy } from "../trace/views/items.ts"
import { type Browser, type OpenPage, openBrowser, type Screen } from "./browser.ts"
import { skipBecause } from "./skip-because.ts"

const path = process.env.KUBEREEL_CHROMIUM

const phone: Screen = { width: 390, height: 844, scheme: "dark" }
const desk: Screen = { width: 1280, height: 900, scheme: "light" }

const hostile = `</script></style><script>document.title='run'</script>"'><img src=x onerror="document.title='run'">`

/** Forty Deployments with a pod each, of which one runs out of memory; names that no cluster should have. */
const incident = (image: string): ReadonlyArray<TraceItem> => {
  const objects = Array.from({ length: 40 }, (_, index) => {
    const metadata = { name: index === 30 ? hostile : `service-${index}`, namespace: "shop", uid: `d${index}` }
    const deployment: Described = { apiVersion: "apps/v1", kind: "Deployment", metadata, spec: { image } }
    return deployment
  })
  const podOf = (deployment: Described, state: object): Described =>
    ownedBy(
      {
        apiVersion: "v1",
        kind: "Pod",
        metadata: { name: `${deployment.metadata.name}-x`, namespace: "shop", uid: `p${deployment.metadata.uid}` },
        status: { phase: "Running", containerStatuses: [{ name: "main", state }] },
      },
      deployment,
    )
  const broken = objects[30] as Described
  return [
    header(0, 3600),
    ...objects.flatMap((deployment) => [
      event("existed", -1, deployment),
      event("existed", -1, podOf(deployment, { running: {} })),
    ]),
    event("applied", 100, { ...broken, spec: { image: `${image}${"y".repeat(300)}`, command: hostile } }),
    gap("v1.Pod", 150, 190),
    event("applied", 200, podOf(broken, { terminated: { reason: "OOMKilled", exitCode: 137 } })),
    event("applied", 201, podOf(broken, { waiting: { reason: "CrashLoopBackOff", message: hostile } })),
    event("applied", 900, podOf(broken, { running: {} })),
  ]
}

const traceOf = (items: ReadonlyArray<TraceItem>) => ({
  open: async () =>
    (async function* () {
      yield items
    })(),
})

/** Contrast of each text and its ground, as WCAG 2 computes it, where it is below 4.5: also that of a bar's name and the bar. */
const poorContrast = `(() => {
  const channel = (value) => value / 255 <= 0.04045 ? value / 255 / 12.92 : ((value / 255 + 0.055) / 1.055) ** 2.4
  const numbers = (color) => color.match(/[\\d.]+/g).map(Number)
  const light = (color) => { const [r, g, b] = numbers(color); return 0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b) }
  const isOpaque = (color) => (numbers(color)[3] ?? 1) === 1
  const groundOf = (element) => {
    for (let at = element; at; at = at.parentElement) { const { backgroundColor } = getComputedStyle(at); if (isOpaque(backgroundColor)) return backgroundColor }
    return "rgb(255, 255, 255)"
  }
  const poor = []
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT)
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const element = node.parentElement
    if (node.data.trim() === "" || element.closest("title") || element.getClientRects().length === 0) continue
    const bar = element.localName === "text" ? element.parentElement.previousElementSibling : null
    const ground = bar?.localName === "rect" ? getComputedStyle(bar).fill : groundOf(element)
    const { color, fill } = getComputedStyle(element)
    const [low, high] = [light(element.localName === "text" ? fill : color), light(ground)].sort((a, b) => a - b)
    const contrast = (high + 0.05) / (low + 0.05)
    if (contrast < 4.5) poor.push(contrast.toFixed(2) + " " + node.data.slice(0, 40))
  }
  return poor
})()`

let browser: Browser | undefined
const pages = new Map<string, string>()
const server = createServer((request, response) => {
  const page = pages.get(request.url ?? "")
  response.writeHead(page === undefined ? 404 : 200, {
    "content-type": "text/html",
  })
  response.end(page)
})

beforeAll(async () => {
  if (path === undefined) return
  const [before, after] = [incident("shop:1"), incident("shop:2")]
  const comparison = await compareTraces(traceOf(before), traceOf(after), { fields: "all", tolerance: 0 })
  pages.set("/diff", traceDiffPage([hostile, "b.ndjson"], comparison))
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  browser = await openBrowser(path)
})
afterAll(async () => {
  await browser?.close()
  server.close()
})

const open = (page: string, screen: Screen, skip: (note: string) => never): Promise<OpenPage> => {
  if (browser === undefined) return skipBecause(skip, "KUBEREEL_CHROMIUM does not name a Chromium")
  return browser.open(`http://127.0.0.1:${(server.address() as AddressInfo).port}${page}`, screen)
}

describe.each(["/diff"])("the page %s", (address) => {
  test("runs nothing and loads nothing, whatever the trace says", async ({ skip }) => {
    const { evaluate, requests, complaints } = await open(address, desk, skip)
    expect(await evaluate("document.title")).toContain("</script>")
    expect(await evaluate("document.querySelectorAll('img, script').length")).toBe(0)
    // Browsers ask for an icon by themselves.
    expect(requests.filter((url) => !url.endsWith("/favicon.ico"))).toHaveLength(1)
    expect(complaints.filter((text) => !text.includes("404"))).toEqual([])
  })

  test.for([desk, phone])("can be read on a screen of $width pixels, $scheme", async (screen, { skip }) => {
    const { evaluate } = await open(address, screen, skip)
    expect(await evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")).toBe(0)
    expect(await evaluate(poorContrast)).toEqual([])
  })
})
