/** The operator of docs/guides/sandbox.md's reader: any that can be stopped. */
import { defineController, runControllers } from "kubereel/host"

const deployments = defineController({
  name: "my-operator",
  for: "apps/v1.Deployment",
  reconcile: async () => undefined,
})

export const startMyOperator = ({ server }: { readonly server: string }) =>
  runControllers([deployments], { server: { server, headers: [] } })
