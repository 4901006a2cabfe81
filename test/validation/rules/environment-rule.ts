/** What holds for variables from Secrets as for those from ConfigMaps. */
import { describe, expect, test } from "vitest"
import { container, deployment, foundBy, object } from "../traces.ts"

export interface EnvironmentRule {
  readonly code: string
  readonly kind: string
  /** Members of a variable, and of `envFrom`. */
  readonly keyRef: string
  readonly ref: string
}

export const describeEnvironmentRule = ({ code, kind, keyRef, ref }: EnvironmentRule): void => {
  const missing = (name: string) => [`apps/v1.Deployment shop/web: ${kind} ${name} ×1`]
  const variable = (reference: object) => ({ env: [{ name: "A", valueFrom: { [keyRef]: reference } }] })

  describe(code, () => {
    test.each(["containers", "initContainers", "ephemeralContainers"])("finds variables of %s", (list) => {
      const web = deployment(container(variable({ name: "db", key: "password" }), list))
      expect(foundBy(code, [{ applied: [web] }])).toEqual(missing("db"))
      const all = deployment(container({ envFrom: [{ [ref]: { name: "all" } }] }, list))
      expect(foundBy(code, [{ applied: [all] }])).toEqual(missing("all"))
    })

    test("compares the name, not the key", () => {
      const web = deployment(container(variable({ name: "db", key: "password" })))
      expect(foundBy(code, [{ applied: [web, object(`v1.${kind}`, "db")] }])).toEqual([])
      expect(foundBy(code, [{ applied: [web, object(`v1.${kind}`, "password")] }])).toEqual(missing("db"))
    })

    test("respects namespaces", () => {
      const web = deployment(container(variable({ name: "db", key: "password" })))
      expect(foundBy(code, [{ applied: [web, object(`v1.${kind}`, "db", {}, "other")] }])).toEqual(missing("db"))
    })

    test("exempts optional references, and variables with values of their own", () => {
      const optional = { name: "db", key: "a", optional: true }
      const spec = container({
        env: [{ name: "A", value: "b" }, ...variable(optional).env],
        envFrom: [{ [ref]: optional }],
      })
      expect(foundBy(code, [{ applied: [deployment(spec)] }])).toEqual([])
    })

    test("counts states, not variables", () => {
      const web = deployment(container({ env: [1, 2].flatMap(() => variable({ name: "db", key: "a" }).env) }))
      expect(foundBy(code, [{ applied: [web] }, { applied: [web] }])).toEqual([
        `apps/v1.Deployment shop/web: ${kind} db ×2`,
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
            { env: [null, { valueFrom: null }, { valueFrom: { [keyRef]: 1 } }], envFrom: {} },
          ],
        },
        { containers: [{ env: [{ valueFrom: { [keyRef]: { name: null } } }], envFrom: [{ [ref]: [] }] }] },
      ]
      expect(foundBy(code, [{ applied: specs.map((spec) => deployment(spec)) }])).toEqual([])
    })
  })
}
