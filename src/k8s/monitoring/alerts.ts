/**
 * The alerts. Each says what is being lost or soon will be, and what to do; docs/guides/in-cluster.md explains each of them by
 * name.
 */

/** One alert, as far as it differs from others. */
export interface Alert {
  readonly name: string
  /** PromQL. Every metric is one of our own. */
  readonly expression: string
  /** How long the expression must be true; `undefined`: fires at once. */
  readonly for: string | undefined
  readonly severity: "critical" | "warning"
  readonly summary: string
  readonly description: string
}

/**
 * Whether a counter has grown in the last 10 minutes. A recorder that was down counts what it missed before it is scraped for the first time, in a series
 * that is new with its pod: `increase` sees no growth in that.
 */
const hasGrown = (counter: string): string =>
  `increase(${counter}[10m]) > 0 or (${counter} > 0 unless ${counter} offset 10m)`

export const alerts: ReadonlyArray<Alert> = [
  {
    name: "KubereelDown",
    expression: "absent(kubereel_ready)",
    for: "5m",
    severity: "critical",
    summary: "No recorder is running.",
    description:
      "Nothing is being recorded. The API server keeps changes for about 5 minutes: a recorder that is back by then misses nothing.",
  },
  {
    name: "KubereelNotReady",
    expression: "kubereel_ready == 0",
    for: "15m",
    severity: "warning",
    summary: "A kind is still in its first list, or nothing is being recorded.",
    description: "Lists take a minute per 100,000 objects. /readyz says why, and /readyz?verbose names the kinds.",
  },
  {
    name: "KubereelKindNotRecorded",
    expression: 'kubereel_kind_state{state=~"failing|forbidden|stopped"} == 1',
    for: "5m",
    severity: "critical",
    summary: "{{ $labels.kind }} is {{ $labels.state }}.",
    description:
      "Its changes are not being recorded. /readyz?verbose and the log give the reason and, if a permission is missing, the rule to add.",
  },
  {
    name: "KubereelConfigurationInvalid",
    expression: "kubereel_configuration_valid == 0",
    for: "2m",
    severity: "warning",
    summary: "The changed configuration is invalid.",
    description:
      "The recorder continues with the previous configuration. The log names file, line and key, and the values allowed there.",
  },
  {
    name: "KubereelGap",
    expression: hasGrown("kubereel_kind_gaps_total"),
    for: undefined,
    severity: "warning",
    summary: "Changes of {{ $labels.kind }} are missing from the recording.",
    description:
      "The API server no longer had them. Every export that includes their time shows the gap; the log has the reason.",
  },
  {
    name: "KubereelLate",
    expression: hasGrown("kubereel_kind_late_total"),
    for: undefined,
    severity: "warning",
    summary: "Changes of {{ $labels.kind }} were received later than they happened.",
    description:
      "None of them is missing, but their times are estimates. The recorder was down or disconnected, or the API server's stream was silent or behind: /v1/coverage says when and which.",
  },
  {
    name: "KubereelLagging",
    expression: "kubereel_store_lag_seconds > 5",
    for: "2m",
    severity: "warning",
    summary: "Received data has been waiting for the disk for {{ $value | humanizeDuration }}.",
    description: "The disk is too slow or the recorder has too little CPU. Once the mailboxes are full, watches stall.",
  },
  {
    name: "KubereelMailboxStalled",
    expression: "rate(kubereel_mailbox_stalled_seconds_total[5m]) > 0.1",
    for: "5m",
    severity: "warning",
    summary: "{{ $labels.actor }} is waiting for {{ $labels.mailbox }}.",
    description:
      "The receiver does not keep up. The API server closes a watch that is not read, and the recorder resumes it: nothing is lost for the first minutes.",
  },
  {
    name: "KubereelDiskFailing",
    expression: "kubereel_store_failing == 1",
    for: "1m",
    severity: "critical",
    summary: "The recording cannot be written.",
    description:
      "The volume is full, missing or hanging; the log says which. Nothing is dropped while there is room in memory. Free or add space: the recorder then continues by itself.",
  },
  {
    name: "KubereelStoreSilent",
    expression: "kubereel_store_answer_age_seconds > 5",
    for: "1m",
    severity: "warning",
    summary: "The recorder's store has not responded for {{ $value | humanizeDuration }}.",
    description:
      "Its thread is inside a system call, as when the disk hangs, or gets no CPU time. What was received waits in memory. Look at the node's disk, or at the network of a remote volume.",
  },
  {
    name: "KubereelRecordingSetAside",
    expression: hasGrown("kubereel_store_set_asides_total"),
    for: undefined,
    severity: "critical",
    summary: "The recording was damaged and was set aside.",
    description:
      "A new one has begun with a gap. The log names the directory of the old one; reel store salvage copies what is sound of it. Replace the volume if its disk loses data.",
  },
  {
    name: "KubereelDiskFull",
    expression: "kubereel_store_disk_free_bytes < 0.03 * kubereel_store_disk_size_bytes",
    for: "1m",
    severity: "critical",
    summary: "The recording's volume is full: {{ $value | humanize1024 }}B are left.",
    description:
      "With a claim: enlarge it; the recorder then continues by itself. With an emptyDir: export now, because the pod is evicted when it exceeds the limit, and the recording is lost with it.",
  },
  {
    name: "KubereelDiskFilling",
    expression: "predict_linear(kubereel_store_disk_free_bytes[1h], 4 * 3600) < 0",
    for: "15m",
    severity: "warning",
    summary: "The recording's volume will be full within 4 hours.",
    description:
      "This assumes that it keeps growing as in the last hour. Enlarge the claim, or export and start again with a larger --size.",
  },
  {
    name: "KubereelRetentionHeldUp",
    expression: "kubereel_store_retention_held_up == 1",
    for: "30m",
    severity: "warning",
    summary: "Retention waits for an export or a query.",
    description:
      "What is being read is not removed, so the recording grows beyond its limit. The log names the exports: let their clients read faster, or request less. A lease of a reader that has ended expires by itself.",
  },
  {
    name: "KubereelActorRestarting",
    expression: "increase(kubereel_actor_restarts_total[15m]) > 2",
    for: undefined,
    severity: "warning",
    summary: "{{ $labels.actor }} keeps crashing.",
    description:
      "It resumes where it stopped. A watcher that crashes 5 times in 10 minutes is not restarted again. The log has the reason.",
  },
  {
    name: "KubereelRestarting",
    // When a container restarts, its series continues and resets to 0; "and" excludes the CPU time of other programs.
    expression: "resets(process_cpu_seconds_total[30m]) > 1 and on (namespace, pod) kubereel_ready",
    for: undefined,
    severity: "warning",
    summary: "The recorder keeps restarting.",
    description:
      "The usual reason is running out of memory: check with kubectl describe pod. --expected-objects of reel k8s raises the limit.",
  },
  {
    name: "KubereelUnreadableLines",
    expression: "increase(kubereel_kind_malformed_lines_total[15m]) > 0",
    for: undefined,
    severity: "warning",
    summary: "The API server, or a proxy, sends invalid JSON for {{ $labels.kind }}.",
    description: "The recorder repeats the request and misses nothing as long as the next response is intact.",
  },
  {
    name: "KubereelClockSkew",
    expression: "abs(kubereel_kind_clock_skew_seconds) > 5",
    for: "10m",
    severity: "warning",
    summary: "The node's clock and the API server's differ by {{ $value | humanizeDuration }}.",
    description: "Events have the recorder's times, objects contain the cluster's: the two do not match.",
  },
]
