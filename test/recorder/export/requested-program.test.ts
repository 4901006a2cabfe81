/** The program of an export request. */
import { expect, test } from "vitest"
import { readExportRequest } from "../../../src/recorder/export/request.ts"
import { requestedProgram } from "../../../src/recorder/export/start.ts"

const filters = { excluded_namespaces: [], excluded_labels: [] }

const requested = async (transform: string | undefined, more: object = {}): ReturnType<typeof requestedProgram> => {
  const body = { start_ts: 1000, end_ts: 2000, export_path: "a.ndjson", filters, transform, ...more }
  const reading = readExportRequest(JSON.stringify(body))
  if (reading.tag !== "request") throw new Error(reading.message)
  return requestedProgram(reading.request)
}

test("is parsed", async () => {
  expect(await requested("remove(status);")).toMatchObject({ program: [{ type: "remove" }] })
  expect(await requested(undefined)).toEqual({})
})

test("is refused with its line and a caret if it is none", async () => {
  expect(await requested("remove(status);\nremove(x")).toEqual({
    refusal: {
      status: 400,
      message: expect.stringMatching(
        /^transform: line 2, column 9: expected .* found the end of the program\n {2}remove\(x\n {10}\^$/,
      ),
    },
  })
})

test("is refused if it inserts something outside of the window", async () => {
  const insertion = (time: string): string =>
    `insert({apiVersion: "v1", kind: "Pod", metadata: {name: "a"}}, at ${time});`
  expect(await requested(insertion("1500"))).toMatchObject({ program: [{ type: "insert" }] })
  expect(await requested(insertion("2h"))).toMatchObject({
    refusal: {
      status: 400,
      message: expect.stringContaining("is outside of the trace, which is from 1970-01-01T00:16:40.000Z"),
    },
  })
})

test("does not go with objects prepared for a replay in NDJSON, and is not longer than 65,536 characters", async () => {
  await expect(requested("remove(status);", { sanitise: "replay" })).rejects.toThrow(
    "transform and sanitise: replay exclude each other",
  )
  await expect(requested(`# ${"x".repeat(65_536)}`)).rejects.toThrow("transform")
})
