/**
 * Runs the controller of simplepod-controller.ts in a process of its own.
 *
 *   kubectl apply -f examples/host/simplepod-crd.yaml
 *   reel host examples/host/typescript                # beside other controllers: simplepod.yaml makes it a module
 *   node examples/host/typescript/simplepod.ts        # alone; the cluster of KUBECONFIG or ~/.kube/config
 *   kubectl apply -f - <<< '{apiVersion: slinky.dev/v1, kind: SimplePod, metadata: {name: web}, spec: {image: nginx}}'
 */
import { runControllers } from "kubereel/host"
import { simplePods } from "./simplepod-controller.ts"

export default simplePods

if (import.meta.main) {
  const running = await runControllers([simplePods])
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => void running.close())
  await running.closed
}
