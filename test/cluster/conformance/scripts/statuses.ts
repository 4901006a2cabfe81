/** The subresource `/status`, of Jobs with another manager: no controller touches them. */

import type { Json, JsonObject } from "../../exact-json.ts"
import { apply, get, inNamespace, mergePatch, post, put, type Script, strategicPatch } from "../script.ts"
import { unmanagedJob } from "./objects.ts"

const jobs = inNamespace("batch/v1", "jobs")
const j = `${jobs}/j`
const now = "2020-01-01T00:00:00Z"

const statuses: Script = {
  name: "status",
  area: "writes",
  steps: [
    post("a job that nobody manages", jobs, unmanagedJob("j"), { capture: { whole: "" } }),
    get("get status", `${j}/status`),
    mergePatch("patch status", `${j}/status`, { status: { startTime: now, active: 1, ready: 0 } }),
    mergePatch("spec through the status is ignored", `${j}/status`, { spec: { parallelism: 5 } }),
    mergePatch("labels through the status", `${j}/status`, { metadata: { labels: { a: "b" } } }),
    put("put status", `${j}/status`, {
      ...unmanagedJob("j"),
      status: { startTime: now, active: 2, terminating: 0, ready: 1 },
    }),
    put("a stale version", `${j}/status`, { ...unmanagedJob("j"), metadata: { name: "j", resourceVersion: "1" } }),
    mergePatch("an impossible status", `${j}/status`, { status: { succeeded: -1 } }),
    mergePatch("an unknown field", `${j}/status`, { status: { nope: 1 } }),
    mergePatch(
      "an unknown field, strictly",
      `${j}/status`,
      { status: { nope: 1 } },
      {
        query: { fieldValidation: "Strict" },
      },
    ),
    strategicPatch("conditions", `${j}/status`, {
      status: { conditions: [{ type: "Suspended", status: "False", lastTransitionTime: now }] },
    }),
    apply("applied", `${j}/status`, "applier", {
      apiVersion: "batch/v1",
      kind: "Job",
      metadata: { name: "j" },
      status: { ready: 1 },
    }),
    mergePatch("dry run", `${j}/status`, { status: { active: 3 } }, { query: { dryRun: "All" } }),
    mergePatch("of nothing", `${jobs}/nope/status`, { status: { active: 3 } }),
    get("read", j),
    put("status through the object is ignored", j, (captured): Json => {
      const job = captured.get("whole") as JsonObject
      const { managedFields: _fields, resourceVersion: _version, ...metadata } = job.metadata as JsonObject
      return { ...job, metadata, status: { active: 99 } }
    }),
    post("created with a status", jobs, { ...unmanagedJob("k"), status: { active: 4 } }),
    mergePatch("a namespace's status", "/api/v1/namespaces/<ns>/status", {
      status: { conditions: [{ type: "example.com/x", status: "True", lastTransitionTime: now }] },
    }),
  ],
}

export const statusScripts: readonly Script[] = [statuses]
