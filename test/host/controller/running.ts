/** Controllers on a sandbox over real HTTP, with a custom kind, on a clock that advances a little with every turn of the event loop. */

import { onTestFinished } from "vitest"
import {
  type DefinedController,
  type RunningControllers,
  type RunOptions,
  runControllers,
} from "../../../src/host/controllers.ts"
import { ApiClient, type ApiObject, type Kind } from "../../../src/kube/index.ts"
import { Sandbox } from "../../../src/sandbox/index.ts"
import { ManualClock } from "../../runtime/manual-clock.ts"
import { turn } from "../../runtime/until.ts"

export interface Widget extends ApiObject {
  readonly spec: { readonly size: number }
  readonly status?: { readonly size?: number }
}

export const widgetKind: Kind = {
  gvk: { group: "example.com", version: "v1", kind: "Widget" },
  plural: "widgets",
  namespaced: true,
}

const definitions: Kind = {
  gvk: { group: "apiextensions.k8s.io", version: "v1", kind: "CustomResourceDefinition" },
  plural: "customresourcedefinitions",
  namespaced: false,
}

const open = { type: "object", "x-kubernetes-preserve-unknown-fields": true }

const widgetDefinition = {
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name: "widgets.example.com" },
  spec: {
    group: "example.com",
    names: { plural: "widgets", kind: "Widget" },
    scope: "Namespaced",
    versions: [
      {
        name: "v1",
        served: true,
        storage: true,
        subresources: { status: {} },
        schema: { openAPIV3Schema: { type: "object", properties: { spec: open, status: open } } },
      },
    ],
  },
}

export interface TestCluster {
  readonly clock: ManualClock
  readonly sandbox: Sandbox
  readonly api: ApiClient
  readonly troubles: string[]
  readonly run: (controllers: ReadonlyArray<DefinedController>, options?: RunOptions) => Promise<RunningControllers>
  readonly installWidgets: () => Promise<void>
  readonly createWidget: (name: string, size?: number, metadata?: Partial<ApiObject["metadata"]>) => Promise<Widget>
  /** Turns the event loop, and passes a little time with every turn, until the condition holds. */
  readonly until: (condition: () => boolean | Promise<boolean>, msPerTurn?: number) => Promise<void>
  /** The promise's value; time passes meanwhile. */
  readonly passing: <T>(promise: Promise<T>) => Promise<T>
}

export const startCluster = async ({ withWidgets = true, lifecycle = false } = {}): Promise<TestCluster> => {
  const clock = new ManualClock()
  const sandbox = await Sandbox.start({ clock, bookmarkInterval: 0, lifecycle })
  const api = new ApiClient({ server: sandbox.endpoint, userAgent: "test" })
  const troubles: string[] = []
  const running: RunningControllers[] = []
  const until: TestCluster["until"] = async (condition, msPerTurn = 5) => {
    while (!(await condition())) {
      clock.advance(msPerTurn)
      await turn()
    }
  }
  const passing: TestCluster["passing"] = async (promise) => {
    let isDone = false
    const done = (): void => {
      isDone = true
    }
    promise.then(done, done)
    await until(() => isDone)
    return promise
  }
  onTestFinished(async () => {
    await passing(Promise.all(running.map((one) => one.close())))
    api.close()
    await sandbox.close()
  })
  const installWidgets = async (): Promise<void> => {
    await api.create(definitions, widgetDefinition)
  }
  if (withWidgets) await installWidgets()
  return {
    clock,
    sandbox,
    api,
    troubles,
    run: async (controllers, options = {}) => {
      const one = await runControllers(controllers, {
        server: sandbox.endpoint,
        clock,
        random: () => 0,
        onTrouble: (detail) => troubles.push(detail),
        ...options,
      })
      running.push(one)
      return one
    },
    installWidgets,
    createWidget: (name, size = 1, metadata = {}) =>
      api.create<Widget>(widgetKind, {
        apiVersion: "example.com/v1",
        kind: "Widget",
        metadata: { namespace: "default", ...metadata, name },
        spec: { size },
      }),
    until,
    passing,
  }
}
