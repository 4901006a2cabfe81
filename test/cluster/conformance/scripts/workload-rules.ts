/**
 * Validation of workload objects, and their immutable fields. Jobs have no controller and CronJobs are suspended; for
 * the others, what controllers write is left out of the comparison.
 */

import { apply, get, inNamespace, mergePatch, post, put, type Script } from "../script.ts"
import { emptyReplicaSet, emptyStatefulSet, nodelessDaemonSet, suspendedCronJob, unmanagedJob } from "./objects.ts"

const jobs = inNamespace("batch/v1", "jobs")
const cronJobs = inNamespace("batch/v1", "cronjobs")
const of = (plural: string, ...name: readonly string[]): string => inNamespace("apps/v1", plural, ...name)

const jobRules: Script = {
  name: "jobs",
  area: "rules",
  steps: [
    post("a job", jobs, unmanagedJob("a")),
    mergePatch("its default labels are stored at the first change, which may be none", `${jobs}/a`, {}),
    mergePatch("and once only", `${jobs}/a`, {}),
    mergePatch("without labels it has those of its template again", `${jobs}/a`, { metadata: { labels: null } }),
    mergePatch("but the labels are not", `${jobs}/a/status`, { metadata: { labels: null } }),
    post("indexed", jobs, unmanagedJob("b", { completionMode: "Indexed", completions: 3, parallelism: 2 })),
    post("indexed without completions", jobs, unmanagedJob("c", { completionMode: "Indexed" })),
    post(
      "restart policy that is not lawful",
      jobs,
      unmanagedJob("c", {
        template: { spec: { restartPolicy: "Always", containers: [{ name: "c", image: "x" }] } },
      }),
    ),
    post("a selector of its own", jobs, unmanagedJob("c", { selector: { matchLabels: { a: "b" } } })),
    post(
      "a manual selector",
      jobs,
      unmanagedJob("m", {
        manualSelector: true,
        selector: { matchLabels: { a: "b" } },
        template: {
          metadata: { labels: { a: "b" } },
          spec: { restartPolicy: "Never", containers: [{ name: "c", image: "x" }] },
        },
      }),
    ),
    post("suspended", jobs, unmanagedJob("s", { suspend: true, backoffLimit: 2, ttlSecondsAfterFinished: 100 })),
    mergePatch("parallelism", `${jobs}/a`, { spec: { parallelism: 4 } }),
    mergePatch("completions must not change", `${jobs}/a`, { spec: { completions: 4 } }),
    mergePatch("template must not change", `${jobs}/a`, { spec: { template: { metadata: { labels: { x: "y" } } } } }),
    mergePatch("manager must not change", `${jobs}/a`, { spec: { managedBy: "example.com/other" } }),
    post(
      "negative numbers",
      jobs,
      unmanagedJob("n", {
        parallelism: -1,
        completions: -1,
        backoffLimit: -1,
        activeDeadlineSeconds: -1,
      }),
    ),
    post("a cron job", cronJobs, suspendedCronJob("a")),
    post("a bad schedule", cronJobs, suspendedCronJob("b", { schedule: "every day" })),
    post("a schedule with a zone", cronJobs, suspendedCronJob("b", { schedule: "TZ=UTC 0 0 * * *" })),
    post("a bad time zone", cronJobs, suspendedCronJob("b", { timeZone: "Nowhere/City" })),
    post("a time zone", cronJobs, suspendedCronJob("z", { timeZone: "Europe/Berlin" })),
    post("a bad policy", cronJobs, suspendedCronJob("b", { concurrencyPolicy: "Sometimes" })),
    post("a name that is too long", cronJobs, suspendedCronJob("x".repeat(53))),
    mergePatch("another schedule", `${cronJobs}/a`, { spec: { schedule: "@yearly" } }),
  ],
}

const workloadRules: Script = {
  name: "workloads",
  area: "rules",
  controlled: true,
  steps: [
    post("a ReplicaSet", of("replicasets"), emptyReplicaSet("r")),
    mergePatch("its selector must not change", of("replicasets", "r"), {
      spec: { selector: { matchLabels: { x: "y" } } },
    }),
    mergePatch("its template may", of("replicasets", "r"), {
      spec: { template: { metadata: { annotations: { x: "y" } } } },
    }),
    post("a StatefulSet", of("statefulsets"), emptyStatefulSet("s")),
    mergePatch("what must not change of it", of("statefulsets", "s"), { spec: { serviceName: "x" } }),
    mergePatch("what may change of it", of("statefulsets", "s"), { spec: { minReadySeconds: 5 } }),
    post(
      "with claims",
      of("statefulsets"),
      emptyStatefulSet("c", {
        volumeClaimTemplates: [
          {
            metadata: { name: "data" },
            spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } },
          },
        ],
      }),
    ),
    post("a DaemonSet", of("daemonsets"), nodelessDaemonSet("d")),
    mergePatch("its selector must not change either", of("daemonsets", "d"), {
      spec: { selector: { matchLabels: { x: "y" } } },
    }),
    mergePatch("its update strategy", of("daemonsets", "d"), {
      spec: { updateStrategy: { type: "OnDelete", rollingUpdate: null } },
    }),
    mergePatch(
      "whoever changes the template does not own its generation",
      of("daemonsets", "d"),
      { spec: { template: { spec: { terminationGracePeriodSeconds: 5 } } } },
      { query: { fieldManager: "second" } },
    ),
    put("whoever leaves the generation out does", of("daemonsets", "d"), nodelessDaemonSet("d"), {
      query: { fieldManager: "third" },
    }),
    mergePatch(
      "so does whoever sets it, in vain",
      of("daemonsets", "d"),
      { metadata: { annotations: { "deprecated.daemonset.template.generation": "77" } } },
      { query: { fieldManager: "fourth" } },
    ),
    put("through the status too", of("daemonsets", "d", "status"), nodelessDaemonSet("d"), {
      query: { fieldManager: "fifth" },
    }),
    apply("an applied DaemonSet", of("daemonsets", "e"), "applier", nodelessDaemonSet("e")),
    post("a ControllerRevision", of("controllerrevisions"), {
      apiVersion: "apps/v1",
      kind: "ControllerRevision",
      metadata: { name: "c" },
      revision: 1,
      data: { any: ["thing"] },
    }),
    mergePatch("its data must not change", of("controllerrevisions", "c"), { data: { any: "x" } }),
    mergePatch("its revision may", of("controllerrevisions", "c"), { revision: 2 }),
    post("a ReplicationController", inNamespace("v1", "replicationcontrollers"), {
      apiVersion: "v1",
      kind: "ReplicationController",
      metadata: { name: "rc" },
      spec: {
        replicas: 0,
        template: { metadata: { labels: { a: "b" } }, spec: { containers: [{ name: "c", image: "x" }] } },
      },
    }),
    get("its scale", inNamespace("v1", "replicationcontrollers", "rc", "scale")),
  ],
}

export const workloadRuleScripts: readonly Script[] = [jobRules, workloadRules]
