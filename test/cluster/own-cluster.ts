/** Set-up of every file of the cluster suite: KUBEREEL_TEST_KUBECONFIG names the cluster of its worker, which no other file uses meanwhile. */
import { kubeconfigsVariable } from "./control-plane.ts"
import { worker } from "./free-ports.ts"

const kubeconfig = process.env[kubeconfigsVariable]?.split("\n")[worker - 1]
if (kubeconfig === undefined) throw new Error(`worker ${worker} has no cluster`)
process.env.KUBEREEL_TEST_KUBECONFIG = kubeconfig
