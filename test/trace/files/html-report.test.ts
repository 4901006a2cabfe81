/** `htmlReport` of `kubereel/trace`: the same page as `reel convert` writes, from bytes in any format. */
import { gzipSync } from "node:zlib"
import { expect, test } from "vitest"
import { BadTraceError, DecompressionError, htmlReport } from "../../../src/trace/index.ts"
import { goldenTrace } from "../recording.ts"

const trace = goldenTrace("recording")

const built = { script: "page()", style: "" }

test("a trace in any format, whole or in pieces, also compressed, is one page", async () => {
  const pieces = async function* () {
    for (let at = 0; at < trace.length; at += 1000) yield trace.subarray(at, at + 1000)
  }
  const page = await htmlReport(trace, { page: built })
  expect(page).toContain("<title>What happened in the cluster</title>")
  expect(page).toMatch(/data-events>[\w+/=]+<.script>/)
  expect(await htmlReport(pieces(), { page: built })).toBe(page)
  expect(await htmlReport(gzipSync(trace), { page: built })).toBe(page)
  expect(await htmlReport(trace, { format: "simkube", page: built })).toBe(page)
})

test("the title is the caller's, whatever is in it", async () => {
  const page = await htmlReport(trace, { title: "</title><script>", page: built })
  expect(page).toContain("<title>&lt;/title&gt;&lt;script&gt;</title>")
})

const report = (bytes: Uint8Array): Promise<string> => htmlReport(bytes, { page: built })

test("what is no trace, or is damaged, is refused", async () => {
  await expect(report(Buffer.from("hello"))).rejects.toThrow(BadTraceError)
  await expect(report(new Uint8Array(0))).rejects.toThrow(BadTraceError)
  await expect(report(trace.subarray(0, 500))).rejects.toThrow(BadTraceError)
  await expect(report(gzipSync(trace).subarray(0, 300))).rejects.toThrow(DecompressionError)
})
