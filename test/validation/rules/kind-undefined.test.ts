import { describe, expect, test } from "vitest"
import { deployment, foundBy, object } from "../traces.ts"

const training = object("ml.example.com/v1.Training", "x")
const definition = (group: string, kind: string) =>
  object("apiextensions.k8s.io/v1.CustomResourceDefinition", `any.${group}`, { spec: { group, names: { kind } } }, "")
const missing = ["ml.example.com/v1.Training: CustomResourceDefinition ml.example.com/Training ×2"]

describe("E0009 kind_undefined", () => {
  test("finds a custom kind once, and counts its states", () => {
    expect(foundBy("E0009", [{ applied: [training, object("ml.example.com/v1.Training", "y")] }])).toEqual(missing)
  })

  test("accepts a kind whose definition is in the trace, in any version", () => {
    const beta = object("ml.example.com/v1beta1.Training", "z")
    expect(foundBy("E0009", [{ applied: [training, beta, definition("ml.example.com", "Training")] }])).toEqual([])
  })

  test("does not accept definitions of other kinds, nor broken ones", () => {
    const others = [definition("ml.example.com", "Model"), definition("example.com", "Training")]
    const broken = object("apiextensions.k8s.io/v1.CustomResourceDefinition", "b", { spec: null }, "")
    expect(foundBy("E0009", [{ applied: [training, training, ...others, broken] }])).toEqual(missing)
  })

  test("exempts the kinds of Kubernetes", () => {
    expect(
      foundBy("E0009", [
        { applied: [deployment({}), object("v1.Pod", "a"), object("networking.k8s.io/v1.Ingress", "b")] },
      ]),
    ).toEqual([])
  })
})
