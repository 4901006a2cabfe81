import { describe, expect, test } from "vitest"
import { container, deployment, foundBy, object } from "../traces.ts"

const missing = (name: string) => [`apps/v1.Deployment shop/web: Secret ${name} ×1`]
const variable = (reference: object) => ({ env: [{ name: "A", valueFrom: { secretKeyRef: reference } }] })

describe("E0002", () => {
  test.each(["containers", "initContainers", "ephemeralContainers"])("finds variables of %s", (list) => {
    const web = deployment(container(variable({ name: "db", key: "password" }), list))
    expect(foundBy("E0002", [{ applied: [web] }])).toEqual(missing("db"))
    const all = deployment(container({ envFrom: [{ secretRef: { name: "all" } }] }, list))
    expect(foundBy("E0002", [{ applied: [all] }])).toEqual(missing("all"))
  })

  test("compares the name, not the key", () => {
    const web = deployment(container(variable({ name: "db", key: "password" })))
    expect(foundBy("E0002", [{ applied: [web, object("v1.Secret", "db")] }])).toEqual([])
    expect(foundBy("E0002", [{ applied: [web, object("v1.Secret", "password")] }])).toEqual(missing("db"))
  })

  test("respects namespaces", () => {
    const web = deployment(container(variable({ name: "db", key: "password" })))
    expect(foundBy("E0002", [{ applied: [web, object("v1.Secret", "db", {}, "other")] }])).toEqual(missing("db"))
  })

  test("exempts optional references, and variables with values of their own", () => {
    const optional = { name: "db", key: "a", optional: true }
    const spec = container({
      env: [{ name: "A", value: "b" }, ...variable(optional).env],
      envFrom: [{ secretRef: optional }],
    })
    expect(foundBy("E0002", [{ applied: [deployment(spec)] }])).toEqual([])
  })

  test("counts states, not variables", () => {
    const web = deployment(container({ env: [1, 2].flatMap(() => variable({ name: "db", key: "a" }).env) }))
    expect(foundBy("E0002", [{ applied: [web] }, { applied: [web] }])).toEqual([
      "apps/v1.Deployment shop/web: Secret db ×2",
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
          { env: [null, { valueFrom: null }, { valueFrom: { secretKeyRef: 1 } }], envFrom: {} },
        ],
      },
      { containers: [{ env: [{ valueFrom: { secretKeyRef: { name: null } } }], envFrom: [{ secretRef: [] }] }] },
    ]
    expect(foundBy("E0002", [{ applied: specs.map((spec) => deployment(spec)) }])).toEqual([])
  })
})
