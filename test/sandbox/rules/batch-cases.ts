import { app, containers, cronJob, cronJobs, endingPod, job, jobs, selector } from "./manifests.ts"
import { create, modify, update } from "./rules-case.ts"

export const batchCases = [
  create(jobs, "minimal job", job()),
  create(jobs, "job with labels", job({ template: { metadata: { labels: app }, ...endingPod } })),
  create(
    jobs,
    "indexed job",
    job({ completionMode: "Indexed", completions: 3, parallelism: 2, backoffLimitPerIndex: 1 }),
  ),
  create(jobs, "job of a work queue", job({ parallelism: 2, ttlSecondsAfterFinished: 5, suspend: true })),
  create(
    jobs,
    "job with a failure policy",
    job({
      podFailurePolicy: {
        rules: [
          { action: "FailJob", onExitCodes: { operator: "In", values: [1] } },
          { action: "Ignore", onPodConditions: [{ type: "DisruptionTarget" }] },
        ],
      },
    }),
  ),
  create(
    jobs,
    "job with a selector of its own",
    job({ manualSelector: true, selector, template: { metadata: { labels: app }, ...endingPod } }),
  ),
  create(
    jobs,
    "job with a selector not its own",
    job({ selector, template: { metadata: { labels: app }, ...endingPod } }),
  ),
  create(jobs, "job with a manual selector but none", job({ manualSelector: true })),
  create(jobs, "job of pods that never end", job({ template: { spec: { containers } } })),
  create(jobs, "job without a template", { spec: {} }),
  create(
    jobs,
    "job with negative numbers",
    job({ completions: -1, parallelism: -1, backoffLimit: -1, activeDeadlineSeconds: -1, ttlSecondsAfterFinished: -1 }),
  ),
  create(jobs, "indexed job without completions", job({ completionMode: "Indexed", parallelism: 1 })),
  create(jobs, "job of an unknown mode", job({ completionMode: "Other" })),
  modify(jobs, "job suspended", job({ suspend: true }), { spec: { suspend: false, parallelism: 3 } }),
  modify(jobs, "template of a job changed", job({ suspend: true }), {
    spec: { template: { spec: { containers: [{ name: "app", image: "x" }] } } },
  }),
  modify(jobs, "completions of a job changed", job({ suspend: true }), { spec: { completions: 5 } }),
  create(cronJobs, "minimal cron job", cronJob()),
  create(
    cronJobs,
    "rich cron job",
    cronJob({
      timeZone: "Europe/Berlin",
      concurrencyPolicy: "Forbid",
      suspend: true,
      startingDeadlineSeconds: 5,
      jobTemplate: { metadata: { labels: app }, ...job({ backoffLimit: 2 }) },
    }),
  ),
  create(cronJobs, "cron job without anything", {}),
  create(cronJobs, "cron job of a bad schedule", cronJob({ schedule: "often" })),
  create(cronJobs, "cron job of an out of range schedule", cronJob({ schedule: "99 * * * *" })),
  create(cronJobs, "cron job with a time zone in the schedule", cronJob({ schedule: "TZ=UTC 1 * * * *" })),
  create(cronJobs, "cron job of an unknown time zone", cronJob({ timeZone: "Nowhere/Here" })),
  create(
    cronJobs,
    "cron job of bad choices",
    cronJob({
      concurrencyPolicy: "x",
      successfulJobsHistoryLimit: -1,
      failedJobsHistoryLimit: -1,
      startingDeadlineSeconds: -1,
    }),
  ),
  create(
    cronJobs,
    "cron job of pods that never end",
    cronJob({ jobTemplate: { spec: { template: { spec: { containers } } } } }),
  ),
  create(cronJobs, "cron job of a long name", { metadata: { name: "x".repeat(53) }, ...cronJob() }),
  update(cronJobs, "cron job's schedule changed", cronJob({ suspend: true }), { spec: { schedule: "@hourly" } }),
]
