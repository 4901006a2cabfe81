/**
 * What somebody should be told of. Each names what is being lost, or soon will be, and what to do; docs/guides/in-cluster.md
 * says more about each, by name.
 */

export interface Alert {
  readonly name: string
  /** PromQL. Every metric is one of the recorder's own. */
  readonly expression: string
  /** How long it has to hold; `undefined`: not at all. */
  readonly for: string | undefined
  readonly severity: "critical" | "warning"
  readonly summary: string
  readonly description: string
}

export const alerts: ReadonlyArray<Alert> = [
  {
    name: "KubereelDown",
    expression: "absent(kubereel_ready)",
    for: "5m",
    severity: "critical",
    summary: "No recorder answers.",
    description:
      "Nothing is being recorded. The API server keeps what happens for about 5 minutes: a recorder that is back by then misses nothing.",
  },
  {
    name: "KubereelNotReady",
    expression: "kubereel_ready == 0",
    for: "15m",
    severity: "warning",
    summary: "A kind is still in its first list.",
    description: "Lists take a minute for each 100,000 objects. /readyz?verbose names the kind.",
  },
  {
    name: "KubereelKindNotRecorded",
    expression: 'kubereel_kind_state{state=~"failing|forbidden|stopped"} == 1',
    for: "5m",
    severity: "critical",
    summary: "{{ $labels.kind }} is {{ $labels.state }}.",
    description:
      "Its changes are not being recorded. /readyz?verbose and the log say why, and for a missing permission which rule to add.",
  },
  {
    name: "KubereelConfigurationInvalid",
    expression: "kubereel_configuration_valid == 0",
    for: "2m",
    severity: "warning",
    summary: "The changed configuration cannot be used.",
    description:
      "Recording goes on with the one before it. The log names file, line and key, and what is allowed there.",
  },
  {
    name: "KubereelGap",
    expression: "increase(kubereel_kind_gaps_total[10m]) > 0",
    for: undefined,
    severity: "warning",
    summary: "Changes of {{ $labels.kind }} are missing from the recording.",
    description:
      "The API server no longer had them. The gap is in every export that includes its time; the log says why it came about.",
  },
  {
    name: "KubereelLagging",
    expression: "kubereel_store_lag_seconds > 5",
    for: "2m",
    severity: "warning",
    summary: "What was received waits {{ $value | humanizeDuration }} for the disk.",
    description: "The disk is too slow or the recorder has too little CPU. Once the mailboxes are full, watches stall.",
  },
  {
    name: "KubereelMailboxStalled",
    expression: "rate(kubereel_mailbox_stalled_seconds_total[5m]) > 0.1",
    for: "5m",
    severity: "warning",
    summary: "{{ $labels.actor }} waits for {{ $labels.mailbox }}.",
    description:
      "The receiver does not keep up. The API server hangs up on a watch that is not read, and the recorder resumes: nothing is lost for minutes.",
  },
  {
    name: "KubereelDiskFailing",
    expression: "kubereel_store_failing == 1",
    for: "1m",
    severity: "critical",
    summary: "The recording cannot be written.",
    description:
      "The volume is full or gone; the log says which. Nothing is dropped while there is room in memory. Give the volume room: the recorder goes on by itself.",
  },
  {
    name: "KubereelDiskFull",
    expression: "kubereel_store_disk_free_bytes < 0.03 * kubereel_store_disk_size_bytes",
    for: "1m",
    severity: "critical",
    summary: "The recording's volume is full: {{ $value | humanize1024 }}B are left.",
    description:
      "A claim: enlarge it, the recorder goes on by itself. An emptyDir: export now, because the pod is evicted when it exceeds its limit, and the recording is gone with it.",
  },
  {
    name: "KubereelDiskFilling",
    expression: "predict_linear(kubereel_store_disk_free_bytes[1h], 4 * 3600) < 0",
    for: "15m",
    severity: "warning",
    summary: "The recording's volume will be full within 4 hours.",
    description:
      "If it goes on growing as in the last hour. Enlarge the claim, or export and begin anew with a larger --size.",
  },
  {
    name: "KubereelActorRestarting",
    expression: "increase(kubereel_actor_restarts_total[15m]) > 2",
    for: undefined,
    severity: "warning",
    summary: "{{ $labels.actor }} keeps crashing.",
    description:
      "It resumes where it was. A watcher that crashes 5 times in 10 minutes is stopped. The log has the reason.",
  },
  {
    name: "KubereelRestarting",
    // Of a container that restarts, the series goes on and begins at 0 again; "and" leaves other programs' CPU time out.
    expression: "resets(process_cpu_seconds_total[30m]) > 1 and on (namespace, pod) kubereel_ready",
    for: undefined,
    severity: "warning",
    summary: "The recorder keeps restarting.",
    description:
      "Out of memory is the usual reason: kubectl describe pod says so. --expected-objects of reel k8s raises its limit.",
  },
  {
    name: "KubereelUnreadableLines",
    expression: "increase(kubereel_kind_malformed_lines_total[15m]) > 0",
    for: undefined,
    severity: "warning",
    summary: "The API server, or a proxy, sends what is no JSON for {{ $labels.kind }}.",
    description: "The recorder asks again and misses nothing as long as the next answer is whole.",
  },
  {
    name: "KubereelClockSkew",
    expression: "abs(kubereel_kind_clock_skew_seconds) > 5",
    for: "10m",
    severity: "warning",
    summary: "The node's clock and the API server's differ by {{ $value | humanizeDuration }}.",
    description: "Times of events are the recorder's, those in objects the cluster's: they do not fit together.",
  },
]
