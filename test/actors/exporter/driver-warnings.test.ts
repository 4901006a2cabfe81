import { expect, test } from "vitest"
import type { ExportJob } from "../../../src/actors/exporter/exporter-interface.ts"
import { openedExport, recordingOf } from "./owned-recording.ts"

const training = "ml.example.com/v1.Training"
const deployment = "apps/v1.Deployment"

const warningsOf = async (job: Pick<ExportJob, "format"> & Partial<ExportJob>): Promise<ReadonlyArray<string>> => {
  const objects = [deployment, training].map((gvk) => ({ gvk, name: gvk.slice(-4), owners: [], rest: { spec: {} } }))
  const trackedObjects = { [deployment]: {}, [training]: { podSpecTemplatePaths: ["/spec/template"] } }
  const opened = openedExport(recordingOf(objects), [deployment, training], { trackedObjects, ...job })
  await opened.close()
  return opened.started.warnings
}

test("an export for SimKube says beforehand what SimKube's driver cannot do with its objects", async () => {
  expect(await warningsOf({ format: "simkube" })).toEqual([
    `SimKube's driver adds a pod template to ${training} at /spec/template, where its objects have none`,
  ])
})

test("objects that are not exported and other formats have nothing to do with that driver", async () => {
  const filters = { excluded_namespaces: ["shop"], excluded_labels: [] }
  expect(await warningsOf({ format: "simkube", filters })).toEqual([])
  expect(await warningsOf({ format: "ndjson" })).toEqual([])
  expect(await warningsOf({ format: "kwok" })).toEqual([])
})
