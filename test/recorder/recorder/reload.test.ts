/** A recorder whose configuration changes while it runs, by people and by ConfigMaps. */
import { renameSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { describe, test } from "vitest"
import { Sandbox } from "../../../src/sandbox/index.ts"
import { patient } from "../../harness/patience.ts"
import { configurationOf, Workplace } from "./recorder-command.ts"

const before = { "v1.ConfigMap": "{}", "v1.ServiceAccount": "{}" }
const after = { "v1.ConfigMap": "{}", "v1.Service": "{}" }

/** Atomically, as editors and the kubelet do it. */
const replace = (place: Workplace, text: string): void => {
  const file = join(place.directory, "config.yml")
  writeFileSync(`${file}.new`, text)
  renameSync(`${file}.new`, file)
}

describe.concurrent("a recorder", { timeout: patient(40_000) }, () => {
  test.for(["told by SIGHUP", "that notices by itself"])(
    "%s records the kinds of a changed configuration",
    async (how, { expect }) => {
      await using place = new Workplace()
      await using sandbox = await Sandbox.start()
      for (const gvk of ["v1.ConfigMap", "v1.ServiceAccount", "v1.Service"]) {
        sandbox.put(gvk, { metadata: { namespace: "shop", name: "one" } })
      }
      const recorder = place.record({ cluster: { server: sandbox.url }, kinds: before })
      await recorder.ready()
      const watches = sandbox.watchCount("configmaps")
      replace(place, configurationOf(after))
      if (how === "told by SIGHUP") recorder.child.kill("SIGHUP")
      await recorder.says(/the configuration has changed: v1\.Service added, v1\.ServiceAccount removed/)
      await recorder.inState("v1.Service", /watching/)
      expect(await recorder.kind("v1.ServiceAccount")).toMatch(/is not there/)
      sandbox.put("v1.ConfigMap", { metadata: { namespace: "shop", name: "two" } })
      await recorder.until(async () => (await recorder.exported()).length === 3, "three objects")
      expect((await recorder.exported()).map(({ gvk, name }) => `${gvk} ${name}`).sort()).toEqual([
        "v1.ConfigMap one",
        "v1.ConfigMap two",
        "v1.Service one",
      ])
      // The stream of the kind that stayed was never reopened.
      expect(sandbox.watchCount("configmaps")).toBe(watches)
      expect(await recorder.metric('kubereel_configuration_reloads_total{result="applied"}')).toBe(1)
    },
  )

  test("with an invalid configuration says where, continues with the previous one, and applies the next valid one", async ({
    expect,
  }) => {
    await using place = new Workplace()
    await using sandbox = await Sandbox.start()
    const recorder = place.record({ cluster: { server: sandbox.url }, kinds: before })
    await recorder.ready()
    replace(place, "trackedObjects:\n  v1.ConfigMap: {detekt: all}\n")
    recorder.child.kill("SIGHUP")
    await recorder.says(/the changed configuration is invalid/)
    await recorder.says(/config\.yml:2.*detekt/)
    expect(await recorder.metric("kubereel_configuration_valid")).toBe(0)
    expect((await recorder.get("/readyz")).status).toBe(200)
    sandbox.put("v1.ServiceAccount", { metadata: { namespace: "shop", name: "still" } })
    await recorder.until(async () => (await recorder.exported()).length === 1, "an object of the kind before")
    replace(place, configurationOf(after))
    recorder.child.kill("SIGHUP")
    await recorder.says(/v1\.Service added/)
    expect(await recorder.metric("kubereel_configuration_valid")).toBe(1)
  })
})
