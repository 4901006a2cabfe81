import { describe, expect, test } from "vitest"
import { deployment, foundBy, object, reportOf } from "../traces.ts"

const account = (name: string, namespace = "shop") => object("v1.ServiceAccount", name, {}, namespace)
const missing = ["apps/v1.Deployment shop/web: ServiceAccount robot ×1"]

describe("E0001 service_account_missing", () => {
  test.each(["serviceAccountName", "serviceAccount"])("finds a missing account in %s", (member) => {
    expect(foundBy("E0001", [{ applied: [deployment({ [member]: "robot" })] }])).toEqual(missing)
  })

  test("counts both fields once", () => {
    const both = deployment({ serviceAccountName: "robot", serviceAccount: "robot" })
    expect(foundBy("E0001", [{ applied: [both] }])).toEqual(missing)
    const [{ findings } = { findings: [] }] = reportOf([{ applied: [both] }]).rules.filter(
      ({ rule }) => rule.code === "E0001",
    )
    expect(findings[0]?.places).toEqual([
      { element: "spec.template.spec", by: "serviceAccountName" },
      { element: "spec.template.spec", by: "serviceAccount" },
    ])
  })

  test("accepts an account of the same namespace only", () => {
    const web = deployment({ serviceAccountName: "robot" })
    expect(foundBy("E0001", [{ applied: [web, account("robot")] }])).toEqual([])
    expect(foundBy("E0001", [{ applied: [web, account("robot", "other")] }])).toEqual(missing)
    expect(foundBy("E0001", [{ applied: [web, object("example.com/v1.ServiceAccount", "robot")] }])).toEqual(missing)
  })

  test("exempts the account default, and templates without account", () => {
    expect(
      foundBy("E0001", [{ applied: [deployment({ serviceAccountName: "default" }), deployment({}, "b")] }]),
    ).toEqual([])
  })

  test.each([
    ["v1.Pod", { spec: { serviceAccountName: "robot" } }],
    ["batch/v1.CronJob", { spec: { jobTemplate: { spec: { template: { spec: { serviceAccountName: "robot" } } } } } }],
    ["apps/v1.ReplicaSet", { spec: { template: { spec: { serviceAccountName: "robot" } } } }],
  ])("looks into the pods of %s", (gvk, body) => {
    expect(foundBy("E0001", [{ applied: [object(gvk, "x", body)] }])).toEqual([
      `${gvk} shop/x: ServiceAccount robot ×1`,
    ])
  })

  test("looks at the paths of a custom kind that the trace names", () => {
    const training = object("ml.example.com/v1.Training", "x", {
      spec: { workers: [{ template: { spec: {} } }, { template: { spec: { serviceAccountName: "robot" } } }] },
    })
    const trackedObjects = { "ml.example.com/v1.Training": { podSpecTemplatePaths: ["/spec/workers/*/template"] } }
    expect(foundBy("E0001", [{ applied: [training] }], { trackedObjects })).toEqual([
      "ml.example.com/v1.Training shop/x: ServiceAccount robot ×1",
    ])
    expect(foundBy("E0001", [{ applied: [training] }])).toEqual([])
  })
})
