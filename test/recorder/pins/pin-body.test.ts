import { describe, expect, test } from "vitest"
import { readPinBody } from "../../../src/recorder/pins/pin-body.ts"
import { notification } from "./alertmanager.ts"

const now = 1_764_385_200_000_000

const refusalOf = (body: string): string => {
  const read = readPinBody(body, now)
  return read.tag === "refused" ? `${read.status} ${read.message}` : read.tag
}

describe("a window", () => {
  test.each([
    [1_764_385_200_000_123, 1_764_385_200_000_123],
    ["1764385200000123", 1_764_385_200_000_123],
    ["2025-11-29T03:00:00.000123Z", 1_764_385_200_000_123],
    ["2025-11-29T04:00:00+01:00", now],
    ["now", now],
    ["-1h30m", now - 5_400_000_000],
    ["+30m", now + 1_800_000_000],
  ])("from %s begins at that moment", (from, micros) => {
    const read = readPinBody(JSON.stringify({ from, until: "+1h" }), now)
    expect(read).toEqual({ tag: "pin", pin: { from: micros, until: now + 3_600_000_000, note: "", labels: {} } })
  })

  test.each([
    ["{", /^400 the body is not JSON: /],
    ["[]", /^400 not a window to pin: /],
    ["null", /^400 not a window to pin: /],
    ['{"from":"-1h"}', /^400 not a window to pin: .*until/],
    ['{"from":"-1h","until":"now","node":"x"}', /^400 not a window to pin: .*node/],
    ['{"from":"-1h","until":"now","labels":{"a":1}}', /^400 not a window to pin: .*labels/],
    ['{"from":"yesterday","until":"now"}', /^400 from and until must be .*RFC 3339 times/],
    ['{"from":-5,"until":"now"}', /^400 from and until must be/],
    ['{"from":1.5,"until":"now"}', /^400 from and until must be/],
    ['{"from":"-999999h","until":"now"}', /^400 from and until must be/],
  ])("%s is refused with a sentence", (body, message) => {
    expect(refusalOf(body)).toMatch(message)
    expect(refusalOf(body)).not.toContain("\n")
  })
})

describe("a notification of Alertmanager", () => {
  test("tells its group, when that began, and what it is about", () => {
    const alerts = [{ startsAt: "2025-11-29T02:58:00.5Z" }, { startsAt: "2025-11-29T02:57:00Z", instance: "web-1" }]
    expect(readPinBody(JSON.stringify(notification(alerts)), now)).toEqual({
      tag: "alerts",
      group: {
        group: expect.stringMatching(/^[0-9a-f]{16}$/),
        startedAt: 1_764_385_020_000_000,
        endedAt: undefined,
        note: "HighLatency: The shop answers slowly",
        labels: { alertname: "HighLatency", namespace: "shop", severity: "page" },
      },
    })
  })

  test("that all is over tells when the last alert ended", () => {
    const alerts = [
      { startsAt: "2025-11-29T02:00:00Z", endsAt: "2025-11-29T02:10:00Z" },
      { startsAt: "2025-11-29T02:00:00Z", endsAt: "2025-11-29T02:20:00Z" },
    ]
    const read = readPinBody(JSON.stringify(notification(alerts)), now)
    expect(read).toMatchObject({ group: { endedAt: 1_764_382_800_000_000 } })
  })

  test("with long texts and many labels is taken, with their beginnings", () => {
    const many = Object.fromEntries(Array.from({ length: 200 }, (_, index) => [`label_${index}`, "x".repeat(2000)]))
    const long = { ...notification([{ startsAt: "2025-11-29T02:00:00Z" }]), commonLabels: many }
    const read = readPinBody(JSON.stringify({ ...long, commonAnnotations: { summary: "y".repeat(5000) } }), now)
    if (read.tag !== "alerts") throw new Error(read.tag)
    expect(Object.keys(read.group.labels)).toHaveLength(60)
    expect([read.group.note.length, read.group.labels.label_0?.length]).toEqual([1024, 1024])
  })

  const valid = notification([{ startsAt: "2025-11-29T02:00:00Z" }])
  test.each([
    [{ ...valid, version: "3" }, /^400 not a notification of Alertmanager, version 4: .*version/],
    [{ ...valid, alerts: [] }, /^400 not a notification .*alerts/],
    [{ ...valid, alerts: [{ status: "firing", startsAt: "soon" }] }, /^400 startsAt of an alert is not an RFC 3339/],
    [{ ...valid, status: "resolved" }, /^400 endsAt of an alert that is resolved is not an RFC 3339 time/],
    [{ ...valid, groupKey: 7 }, /^400 not a notification .*groupKey/],
  ])("that is malformed is refused with a sentence", (body, message) => {
    expect(refusalOf(JSON.stringify(body))).toMatch(message)
  })
})
