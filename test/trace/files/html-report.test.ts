/** `htmlReport` of `kubereel/trace`: the same page as `reel convert` writes, from bytes in any format. */
import { gzipSync } from "node:zlib"
import { expect, test } from "vitest"
import { BadTraceError, DecompressionError, htmlReport } from "../../../src/trace/index.ts"
import { checkPage } from "../../page/checked-page.ts"
import { goldenTrace } from "../recording.ts"

const trace = goldenTrace("recording")

test("a trace in any format, whole or in pieces, also compressed, is one page", async () => {
  const pieces = async function* () {
    for (let at = 0; at < trace.length; at += 1000) yield trace.subarray(at, at + 1000)
  }
  const page = await htmlReport(trace)
  expect(checkPage(page)).toContain("What happened in the cluster")
  expect(await htmlReport(pieces())).toBe(page)
  expect(await htmlReport(gzipSync(trace))).toBe(page)
  expect(await htmlReport(trace, { format: "simkube" })).toBe(page)
})

test("the title is the caller's, whatever is in it", async () => {
  expect(checkPage(await htmlReport(trace, { title: "</title><script>" }))).toContain("</title><script>")
})

test("what is no trace, or is damaged, is refused", async () => {
  await expect(htmlReport(Buffer.from("hello"))).rejects.toThrow(BadTraceError)
  await expect(htmlReport(new Uint8Array(0))).rejects.toThrow(BadTraceError)
  await expect(htmlReport(trace.subarray(0, 500))).rejects.toThrow(BadTraceError)
  await expect(htmlReport(gzipSync(trace).subarray(0, 300))).rejects.toThrow(DecompressionError)
})
