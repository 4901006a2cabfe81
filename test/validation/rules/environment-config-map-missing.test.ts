import { describe, expect, test } from "vitest"
import { container, deployment, foundBy, object } from "../traces.ts"

const missing = (name: string) => [`apps/v1.Deployment shop/web: ConfigMap ${name} ×1`]
const variable = (reference: object) => ({ env: [{ name: "A", valueFrom: { configMapKeyRef: reference } }] })

describe("E0003", () => {
  test.each(["containers", "initContainers", "ephemeralContainers"])("finds variables of %s", (list) => {
    const web = deployment(container(variable({ name: "db", key: "password" }), list))
    expect(foundBy("E0003", [{ applied: [web] }])).toEqual(missing("db"))
    const all = deployment(container({ envFrom: [{ configMapRef: { name: "all" } }] }, list))
    expect(foundBy("E0003", [{ applied: [all] }])).toEqual(missing("all"))
  })

  test("compares the name, not the key", () => {
    const web = deployment(container(variable({ name: "db", key: "password" })))
    expect(foundBy("E0003", [{ applied: [web, object("v1.ConfigMap", "db")] }])).toEqual([])
    expect(foundBy("E0003", [{ applied: [web, object("v1.ConfigMap", "password")] }])).toEqual(missing("db"))
  })

  test("respects namespaces", () => {
    const web = deployment(container(variable({ name: "db", key: "password" })))
    expect(foundBy("E0003", [{ applied: [web, object("v1.ConfigMap", "db", {}, "other")] }])).toEqual(missing("db"))
  })

  test("exempts optional references, and variables with values of their own", () => {
    const optional = { name: "db", key: "a", optional: true }
    const spec = container({
      env: [{ name: "A", value: "b" }, ...variable(optional).env],
      envFrom: [{ configMapRef: optional }],
    })
    expect(foundBy("E0003", [{ applied: [deployment(spec)] }])).toEqual([])
  })

  test("counts states, not variables", () => {
    const web = deployment(container({ env: [1, 2].flatMap(() => variable({ name: "db", key: "a" }).env) }))
    expect(foundBy("E0003", [{ applied: [web] }, { applied: [web] }])).toEqual([
      "apps/v1.Deployment shop/web: ConfigMap db ×2",
    ])
  })

  test("survives null and scalars where lists and objects belong", () => {
    const specs = [
      { containers: null },
      {
        containers: [
          null,
          1,
          { env: null },
          { env: [null, { valueFrom: null }, { valueFrom: { configMapKeyRef: 1 } }], envFrom: {} },
        ],
      },
      { containers: [{ env: [{ valueFrom: { configMapKeyRef: { name: null } } }], envFrom: [{ configMapRef: [] }] }] },
    ]
    expect(foundBy("E0003", [{ applied: specs.map((spec) => deployment(spec)) }])).toEqual([])
  })
})
