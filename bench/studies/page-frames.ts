/**
 * What the page costs the browser that shows a recording: the time until the first rows are painted, the memory of the tab, and the processor time of a frame
 * while the window is dragged. Chromium draws in software, as on a machine without a GPU; 43 rows of 1,600 pixels are in sight.
 *
 *   npx node bench/studies/page-frames.ts DIRECTORY LINK [frames=240]
 *
 * LINK is a fragment of the page's address that opens rows, such as `namespace=shop`: only rows of objects are drawn.
 *
 * Last measured (2026-11-29, 2 shared cores, Node 26.10, Chromium 156), 100,000 Deployments with 10 million changes, `namespace=namespace-1`, ranges of three runs:
 *
 *   rows drawn   cold 660 to 970 ms, warm 380 to 460 ms
 *   a frame      p50 16.7, p95 16.8 ms (60 Hz); main thread 6.6 to 6.9 ms, of which script 1.4 to 1.5
 *   memory       tab 45 to 47 MB of its own, 102 to 103 MB with its part of what is shared
 */

import { spawn } from "node:child_process"
import { once } from "node:events"
import { readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import type { CDPSession, Page } from "playwright-core"
import { Chromium, chromiumPath, desk } from "../../test/browser/chromium.ts"

const reel = fileURLToPath(new URL("../../bin/reel.js", import.meta.url))

/** `http://127.0.0.1:PORT/SECRET/ui/` of `reel ui`, and a way to end it. */
const serve = async (directory: string): Promise<{ readonly url: string; readonly stop: () => void }> => {
  const child = spawn(process.execPath, [reel, "ui", "--no-open", directory], { stdio: ["ignore", "pipe", "inherit"] })
  let said = ""
  for (;;) {
    const [piece] = await once(child.stdout, "data")
    said += String(piece)
    const url = /http:\/\/\S+/.exec(said)?.[0]
    if (url !== undefined) return { url, stop: () => child.kill() }
  }
}

/** Notes in the page when the first row was painted, and how long frames took. */
const noting = `
globalThis.noted = { painted: 0, frames: [] }
const put = CanvasRenderingContext2D.prototype.putImageData
CanvasRenderingContext2D.prototype.putImageData = function (image, ...place) {
  put.call(this, image, ...place)
  if (noted.painted === 0 && new Uint32Array(image.data.buffer).some((pixel) => pixel !== 0))
    requestAnimationFrame(() => setTimeout(() => { noted.painted ||= performance.now() }))
}
let last = 0
const frame = (now) => { noted.frames.push(now - last); last = now; requestAnimationFrame(frame) }
requestAnimationFrame(frame)`

type Cost = Readonly<Record<"task" | "script" | "layout" | "renderer" | "processes", number>>

/** s of the main thread so far, and of processes. */
const costOf = async (tab: CDPSession, browser: CDPSession): Promise<Cost & { readonly pid: number }> => {
  const { metrics } = await tab.send("Performance.getMetrics")
  const value = (name: string): number => metrics.find((each) => each.name === name)?.value ?? 0
  const { processInfo } = await browser.send("SystemInfo.getProcessInfo")
  const renderers = processInfo
    .filter(({ type }) => type === "renderer")
    .toSorted((one, other) => other.cpuTime - one.cpuTime)
  return {
    ...{ task: value("TaskDuration"), script: value("ScriptDuration") },
    layout: value("LayoutDuration") + value("RecalcStyleDuration"),
    ...{ renderer: renderers[0]?.cpuTime ?? 0, pid: renderers[0]?.id ?? 0 },
    processes: processInfo.reduce((sum, { cpuTime }) => sum + cpuTime, 0),
  }
}

const noted = async (page: Page): Promise<{ readonly painted: number; readonly frames: ReadonlyArray<number> }> =>
  JSON.parse(String(await page.evaluate("JSON.stringify(noted)")))

const measure = async (directory: string, link: string, frames: number): Promise<void> => {
  const path = chromiumPath()
  if (path === undefined) return
  const served = await serve(directory)
  await using chromium = await Chromium.start(path)
  await using opened = await chromium.open("about:blank", { ...desk, width: 1912, height: 1150 })
  const { page } = opened
  const tab = await page.context().newCDPSession(page)
  const browser = await page.context().browser()?.newBrowserCDPSession()
  if (browser === undefined) return
  await tab.send("Performance.enable")
  await page.addInitScript(noting)
  try {
    for (const time of ["cold", "warm"]) {
      await page.goto("about:blank")
      await page.goto(`${served.url}#${link}`)
      while ((await noted(page)).painted === 0) await page.waitForTimeout(20)
      console.log(`${time}: first rows painted after ${Math.round((await noted(page)).painted)} ms`)
    }
    await page.getByRole("button", { name: /^What went wrong \(\d+\)$/ }).waitFor({ timeout: 120_000 })
    const box = await page.locator("canvas.tiles").boundingBox()
    const rows = await page.locator("[role=row]").count()
    if (box === null) return
    console.log(`${rows} rows of ${box.width} pixels`)
    const [middle, top] = [box.x + box.width / 2, box.y + 100]
    const before = await costOf(tab, browser)
    await page.evaluate("noted.frames.length = 0")
    await page.mouse.move(middle, top)
    await page.mouse.down()
    for (let frame = 0; frame < frames; frame++) await page.mouse.move(middle + 200 * Math.sin(frame / 20), top)
    const after = await costOf(tab, browser)
    const { frames: walls } = await noted(page)
    await page.mouse.up()
    const count = walls.length
    const each = (name: keyof Cost): string => (((after[name] - before[name]) * 1000) / count).toFixed(1)
    const sorted = walls.toSorted((one, other) => one - other)
    const at = (part: number): string => (sorted[Math.floor(sorted.length * part)] ?? 0).toFixed(1)
    console.log(
      `${count} frames; each, ms of the main thread: ${each("task")}, of which script ${each("script")}, style and layout ${each("layout")}`,
    )
    console.log(
      `  of the tab's process: ${each("renderer")}, of all of the browser: ${each("processes")}; from frame to frame p50 ${at(0.5)}, p95 ${at(0.95)}`,
    )
    await tab.send("HeapProfiler.collectGarbage")
    const { usedSize } = await tab.send("Runtime.getHeapUsage")
    const memory = readFileSync(`/proc/${after.pid}/smaps_rollup`, "utf8")
    const kilobytes = (name: string): number => Number(new RegExp(`^${name}:\\s+(\\d+)`, "m").exec(memory)?.[1] ?? 0)
    const own = kilobytes("Private_Clean") + kilobytes("Private_Dirty")
    console.log(
      `memory: JavaScript ${(usedSize / 1e6).toFixed(0)} MB, the tab's process ${(own / 1000).toFixed(0)} MB of its own, ${(kilobytes("Pss") / 1000).toFixed(0)} MB with its part of what is shared`,
    )
  } finally {
    served.stop()
  }
}

const [directory, link, frames = "240"] = process.argv.slice(2)
if (directory === undefined || link === undefined) throw new Error("which recording, and which rows?")
await measure(directory, link, Number(frames))
