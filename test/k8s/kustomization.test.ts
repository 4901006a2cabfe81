/**
 * The files in k8s/ are what `reel k8s` prints. After an intended change, `npm test -- test/k8s/kustomization.test.ts -u`
 * writes the files again.
 */
import { readdir, readFile } from "node:fs/promises"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { expect, test } from "vitest"
import { parse } from "yaml"
import dashboard from "../../src/k8s/monitoring/dashboard.json" with { type: "json" }
import { imageNeeded, objectsOf, printed } from "./printed.ts"

const folder = fileURLToPath(new URL("../../k8s", import.meta.url))
const examples = fileURLToPath(new URL("../../examples/host", import.meta.url))

test("the base equals the output for the default configuration", async () => {
  const { code, text, error } = await printed("--offline")
  expect({ code, error }).toEqual({ code: 0, error: imageNeeded() })
  await expect(text).toMatchFileSnapshot(join(folder, "base/recorder.yaml"))
})

/** What an option adds to the manifests, as documents. */
const additions = async (...words: ReadonlyArray<string>): Promise<string> => {
  const plain = (await printed("--offline")).objects.map(nameOf)
  const [header = "", ...documents] = (await printed("--offline", ...words)).text.split(/^---\n/m)
  const added = documents.filter((each) => objectsOf(each).some((object) => !plain.includes(nameOf(object))))
  return [header, ...added].join("---\n")
}

const nameOf = ({ kind, metadata }: { kind: string; metadata: { name: string } }): string => `${kind}/${metadata.name}`

test("the component volume-claim adds the same as --volume-claim", async () => {
  await expect(await additions("--volume-claim")).toMatchFileSnapshot(
    join(folder, "components/volume-claim/volume-claim.yaml"),
  )
})

test("the component monitoring adds the same as --monitoring", async () => {
  await expect(await additions("--monitoring")).toMatchFileSnapshot(
    join(folder, "components/monitoring/monitoring.yaml"),
  )
})

test("the dashboard for manual import equals the one in the manifests", async () => {
  await expect(`${JSON.stringify(dashboard, undefined, 2)}\n`).toMatchFileSnapshot(
    join(folder, "components/monitoring/dashboard.json"),
  )
})

test("the overlay of a controller host equals the output for the example in TypeScript", async () => {
  const words = ["--host", join(examples, "typescript"), "--crd", join(examples, "simplepod-crd.yaml"), "--offline"]
  const { code, text, error } = await printed(...words)
  expect({ code, error }).toEqual({ code: 0, error: imageNeeded("reel k8s --host") })
  await expect(text).toMatchFileSnapshot(join(folder, "overlays/host/host.yaml"))
})

test("the overlay of Simulations equals the output without their kinds, which are those of crds", async () => {
  const { code, text, error } = await printed("--simulation")
  expect({ code, error }).toEqual({ code: 0, error: imageNeeded("reel k8s --simulation") })
  const [header = "", ...documents] = text.split(/^---\n/m)
  const isKind = (document: string): boolean => objectsOf(document)[0]?.kind === "CustomResourceDefinition"
  const kinds = objectsOf(await readFile(join(folder, "crds/simulations.yaml"), "utf8"))
  expect(documents.filter(isKind).flatMap(objectsOf)).toEqual(kinds)
  const others = [header, ...documents.filter((each) => !isKind(each))].join("---\n")
  await expect(others).toMatchFileSnapshot(join(folder, "overlays/simulation/simulation.yaml"))
})

test("every file of a kustomization exists, and every file is in one", async () => {
  const files = (await readdir(folder, { recursive: true })).filter((path) => /\.(?:ya?ml|json)$/.test(path))
  const mentioned = new Set(["components/monitoring/dashboard.json"])
  for (const path of files.filter((each) => each.endsWith("kustomization.yaml"))) {
    mentioned.add(path)
    const { resources } = parse(await readFile(join(folder, path), "utf8")) as { resources: ReadonlyArray<string> }
    for (const resource of resources) {
      const target = join(path, "..", resource)
      mentioned.add(target.endsWith(".yaml") ? target : join(target, "kustomization.yaml"))
    }
  }
  expect([...mentioned].sort()).toEqual(files.sort())
})
