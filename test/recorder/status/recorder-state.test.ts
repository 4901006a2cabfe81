/** When changes of status were recorded, over the lives of several recorders of one directory. */
import { expect, test } from "vitest"
import { keptSettings } from "../../../src/archive/index.ts"
import { isStatusKnown, statusAlways, statusNever } from "../../../src/kube/offline.ts"
import {
  encodeRecorderState,
  type RecorderState,
  statusRecordedBefore,
  statusRecordedNow,
} from "../../../src/recorder/status/recorder-state.ts"
import { tracked } from "../recorded/recorded-sandbox.ts"

const deployments = "apps/v1.Deployment"
const state = (kinds: RecorderState["kinds"], more: Partial<RecorderState> = {}): RecorderState => ({
  ...{ kinds, statuses: [], appeared: [] },
  ...more,
})
const statusOf = (given: RecorderState, gvk: string) =>
  keptSettings(new Map([["recorder", encodeRecorderState(given)]])).statusOf(gvk)

test("a kind that is recorded for the first time has its status from its beginning, or never", () => {
  const kinds = [tracked(deployments), tracked("v1.Service", "content"), tracked("v1.ConfigMap", "content")]
  const statusRecorded = statusRecordedNow(kinds, {}, 100)
  expect(statusRecorded).toEqual({
    [deployments]: statusAlways,
    "v1.Service": statusNever,
    "v1.ConfigMap": statusAlways,
  })
  const given = state(kinds, { statusRecorded })
  expect(statusOf(given, deployments)).toEqual(statusAlways)
  expect(statusOf(given, "v1.Service")).toEqual(statusNever)
})

test("settings that change begin or end it; a kind that is not recorded meanwhile keeps what it had", () => {
  const begun = statusRecordedNow([tracked(deployments)], { [deployments]: statusNever }, 100)
  expect(begun).toEqual({ [deployments]: { from: 100, to: statusAlways.to } })
  expect(statusRecordedNow([], begun, 200)).toEqual(begun)
  expect(statusRecordedNow([tracked(deployments)], begun, 200)).toEqual(begun)
  const ended = statusRecordedNow([tracked(deployments, "content")], begun, 300)
  expect(ended).toEqual({ [deployments]: { from: 100, to: 300 } })
  expect(statusRecordedNow([tracked(deployments, "spec")], ended, 400)).toEqual(ended)
  expect(statusRecordedNow([tracked(deployments)], ended, 500)).toEqual({
    [deployments]: { from: 500, to: statusAlways.to },
  })
})

test("an object's status is known if its last change and the moment are in that time", () => {
  const status = { from: 100, to: 300 }
  expect(isStatusKnown(status, 100, 300)).toBe(true)
  expect(isStatusKnown(status, 99, 200)).toBe(false)
  expect(isStatusKnown(status, 200, 301)).toBe(false)
  expect(isStatusKnown(statusAlways, 1, 2)).toBe(true)
  expect(isStatusKnown(statusNever, 1, 2)).toBe(false)
})

test("a state that an earlier version wrote says it by its settings", () => {
  const old = state([tracked(deployments, "content"), tracked("v1.Pod")], {
    former: [tracked("v1.Service", "content")],
  })
  expect(statusOf(old, deployments)).toEqual(statusNever)
  expect(statusOf(old, "v1.Service")).toEqual(statusNever)
  expect(statusOf(old, "v1.Pod")).toEqual(statusAlways)
  expect(statusOf(old, "example.com/v1.Unknown")).toEqual(statusAlways)
  expect(statusRecordedNow([tracked(deployments)], statusRecordedBefore(old), 100)[deployments]?.from).toBe(100)
})

test("of a kind without a status nothing is missing, and a text that cannot be read says nothing", () => {
  const kinds = [tracked("v1.Secret", "content")]
  expect(statusOf(state(kinds, { statusRecorded: { "v1.Secret": statusNever } }), "v1.Secret")).toEqual(statusAlways)
  expect(keptSettings(new Map([["recorder", "{"]])).statusOf(deployments)).toEqual(statusAlways)
  expect(keptSettings(new Map()).detectOf(deployments)).toBe("")
})
