/** Whether an export waits for owner look-ups. */
import { expect, test } from "vitest"
import type { RecorderConfiguration } from "../../../src/recorder/configuration/tracked-kind.ts"
import type { ExportRequest } from "../../../src/recorder/export/request.ts"
import { needsOwners } from "../../../src/recorder/export/start.ts"

const request = (format: ExportRequest["format"], excluded_owned?: boolean) =>
  ({
    format,
    filters: {
      excluded_namespaces: [],
      excluded_labels: [],
      ...(excluded_owned !== undefined && { excluded_owned }),
    },
  }) as unknown as ExportRequest

const configuration = (trackLifecycle: boolean) => ({ kinds: [{ trackLifecycle }] }) as unknown as RecorderConfiguration

test("replay formats leave out owned objects unless told otherwise, so ownership must be known", () => {
  for (const format of ["simkube", "kwok"] as const) {
    expect(needsOwners(request(format), configuration(false))).toBe(true)
    expect(needsOwners(request(format, false), configuration(false))).toBe(false)
  }
  expect(needsOwners(request("ndjson"), configuration(true))).toBe(false)
  expect(needsOwners(request("ndjson", true), configuration(false))).toBe(true)
})

test("lifecycles are grouped by their owners in SimKube's format only", () => {
  expect(needsOwners(request("simkube", false), configuration(true))).toBe(true)
  expect(needsOwners(request("kwok", false), configuration(true))).toBe(false)
})
