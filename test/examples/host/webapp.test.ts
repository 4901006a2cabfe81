import { join } from "node:path"
import { test } from "vitest"
import { patient } from "../../harness/patience.ts"
import { examples } from "./toolchains.ts"
import { lifeOfWebApps } from "./webapp-life.ts"

test(
  "the WebApp operator owns what it makes, rolls pods with shared settings, says what is missing, and cleans up",
  {
    timeout: patient(60_000),
  },
  () =>
    lifeOfWebApps(
      ["webapp.yaml", "webapp.ts", "webapp-types.ts"].map((file) => [join(examples, "webapp", file), file] as const),
    ),
)
