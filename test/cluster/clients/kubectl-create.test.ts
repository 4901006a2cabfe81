/**
 * The subcommands of `kubectl create`, which send protobuf: dry runs against the cluster and the sandbox come to the same
 * object. And `kubectl auth`, for which the sandbox allows everything.
 */

import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { normalised } from "../../sandbox/protobuf/recorded-objects.ts"
import { kubectl } from "../command.ts"
import { openTestCluster, type TestCluster } from "../guard.ts"
import { type SandboxCluster, startSandboxCluster } from "./sandbox-cluster.ts"

let real: TestCluster
let ours: SandboxCluster
beforeAll(async () => {
  real = await openTestCluster()
  ours = await startSandboxCluster()
})
afterAll(() => ours?.close())

const commands = [
  "configmap made --from-literal=a=b --from-literal=empty=",
  "secret generic made --from-literal=a=b",
  "secret docker-registry made --docker-username=u --docker-password=p",
  "namespace made-by-kubectl",
  "serviceaccount made",
  "deployment made --image=nginx --replicas=0 --port=80",
  "job made --image=busybox -- true",
  "cronjob made --image=busybox --schedule=@hourly",
  "service clusterip made --tcp=80:8080",
  "service externalname made --external-name=example.com",
  "service loadbalancer made --tcp=80",
  "quota made --hard=pods=10,requests.cpu=1500m",
  "poddisruptionbudget made --selector=app=web --min-available=50%",
  "priorityclass made --value=10 --preemption-policy=Never",
  "role made --verb=get,list --resource=pods,deployments.apps",
  "rolebinding made --role=r --serviceaccount=default:bot",
  "clusterrole made --verb=get --non-resource-url=/healthz",
  "clusterrolebinding made --clusterrole=cr --user=x --group=y",
]

describe("kubectl create", () => {
  test.each(commands)("%s", async (command) => {
    const words = command.split(" ")
    const dashes = words.indexOf("--")
    const flags = ["--dry-run=server", "-o", "json"]
    const all = ["create", ...(dashes < 0 ? [...words, ...flags] : words.toSpliced(dashes, 0, ...flags))]
    const [expected, found] = await Promise.all([kubectl(real, ...all), kubectl(ours.cluster, ...all)])
    expect(JSON.parse(normalised(found))).toEqual(JSON.parse(normalised(expected)))
  })

  test("token", async () => {
    const token = await kubectl(ours.cluster, "create", "token", "default", "--duration=10m")
    expect(token.split(".")).toHaveLength(3)
  })
})

describe("kubectl auth", () => {
  test("can-i: yes", async () => {
    expect(await kubectl(ours.cluster, "auth", "can-i", "delete", "namespaces")).toBe("yes\n")
    expect(await kubectl(ours.cluster, "auth", "can-i", "--list")).toMatch(/\*\.\* +\[\] +\[\] +\[\*\]/)
  })

  test("whoami: one of system:masters", async () => {
    expect(await kubectl(ours.cluster, "auth", "whoami")).toContain("system:masters")
  })
})
