/** What an export request means for its job: whether it waits for owner look-ups, up to when it knows everything, and which streams concern it. */
import fc from "fast-check"
import { describe, expect, test } from "vitest"
import type { RecorderConfiguration } from "../../../src/recorder/configuration/tracked-kind.ts"
import type { ExportRequest } from "../../../src/recorder/export/request.ts"
import { knownThrough, needsOwners, podStreamsOf } from "../../../src/recorder/export/start.ts"
import { compileFilters } from "../../../src/trace/index.ts"

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

describe("the end of a trace", () => {
  const watching = [{ state: "failing" }, { state: "watching" }] as const

  test("is the end of the window if it is over and something is watched: an open watch misses nothing", () => {
    expect(knownThrough({ knownUntil: undefined }, watching, 100, 100)).toEqual({ knownUntil: 100 })
    expect(knownThrough({ knownUntil: undefined }, watching, 101, 100)).toEqual({})
  })

  test("is what the recording says if nothing is watched, as while the server cannot be reached", () => {
    expect(knownThrough({ knownUntil: undefined }, [{ state: "failing" }, { state: "listing" }], 50, 100)).toEqual({})
    expect(knownThrough({ knownUntil: undefined }, [], 50, 100)).toEqual({})
  })

  test("of a recording without its recorder is never after the end of the recording, whatever the time is", () => {
    const time = fc.nat(1000)
    fc.assert(
      fc.property(time, time, time, (knownUntil, until, now) => {
        const { knownUntil: end = 0 } = knownThrough({ knownUntil }, watching, until, now)
        expect(end).toBe(until <= knownUntil ? until : 0)
      }),
    )
  })
})

describe("gaps and late changes of the stream of pods", () => {
  const kinds = (...given: ReadonlyArray<readonly [gvkText: string, trackLifecycle: boolean]>) =>
    ({
      kinds: given.map(([gvkText, trackLifecycle]) => ({ gvkText, trackLifecycle })),
    }) as unknown as RecorderConfiguration
  const of = (format: ExportRequest["format"], ...wanted: ReadonlyArray<string>) =>
    ({
      format,
      selects: compileFilters({ excluded_namespaces: [], excluded_labels: [], kinds: wanted }),
    }) as unknown as ExportRequest
  const [deployments, configMaps, pods, lives] = ["apps/v1.Deployment", "v1.ConfigMap", "v1.Pod", "lifecycle/v1.Pod"]

  test("concern traces in SimKube's format with kinds that track lifecycles, and no others", () => {
    const recorded = kinds([deployments, true], [configMaps, false])
    expect(podStreamsOf(of("simkube", deployments), recorded)).toEqual([lives])
    expect(podStreamsOf(of("simkube", configMaps), recorded)).toEqual([])
    for (const format of ["ndjson", "kwok"] as const)
      expect(podStreamsOf(of(format, deployments), recorded)).toEqual([])
    expect(podStreamsOf(of("simkube", deployments), kinds([deployments, false]))).toEqual([])
  })

  test("are those of Pods, if lifecycles come from the same stream, and of an earlier stream of their own", () => {
    expect(podStreamsOf(of("simkube", deployments), kinds([deployments, true], [pods, false]))).toEqual([pods, lives])
  })
})
