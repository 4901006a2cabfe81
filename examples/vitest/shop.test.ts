/** A test as an operator's author writes it: `npx vitest run examples/vitest`. */
import { expect, test } from "vitest"
import { withCluster } from "./with-cluster.ts"

test(
  "a Deployment gets as many ready pods as it wants",
  withCluster(async ({ sandbox }) => {
    sandbox.put("apps/v1.Deployment", {
      metadata: { name: "shop", namespace: "default" },
      spec: {
        replicas: 2,
        selector: { matchLabels: { app: "shop" } },
        template: { metadata: { labels: { app: "shop" } }, spec: { containers: [{ name: "main", image: "shop:1" }] } },
      },
    })
    await expect
      .poll(() => sandbox.get("apps/v1.Deployment", "default", "shop")?.status, { timeout: 20_000 })
      .toMatchObject({ readyReplicas: 2 })
  }),
  30_000,
)
