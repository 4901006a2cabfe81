/** Ready questions, as views over `changes`. docs/reference/facts.md says what each answers. In DuckDB's SQL. */

/** One object's changes, in order. */
const object = "PARTITION BY cluster, gvk, uid ORDER BY time, sequence"

const where = "time, cluster, namespace, kind, name"
const who = "manager, username"

/** By name. Each may use those before it. */
export const views: Readonly<Record<string, string>> = {
  image_changes: `SELECT ${where}, before, images AS after, ${who}
    FROM (SELECT *, lag(images) OVER (${object}) AS before FROM changes WHERE images IS NOT NULL)
    WHERE operation = 'changed' AND before IS NOT NULL AND before <> images`,
  deploys: `SELECT ${where}, operation, images, ${who} FROM changes
    WHERE images IS NOT NULL AND kind <> 'Pod' AND owner IS NULL AND (operation = 'created'
      OR len(list_filter(changed, lambda path: path LIKE 'spec.template%' OR path LIKE 'spec.jobTemplate.%')) > 0)`,
  scaling: `SELECT ${where}, before, replicas AS after, owner, ${who}
    FROM (SELECT *, lag(replicas) OVER (${object}) AS before FROM changes WHERE replicas IS NOT NULL)
    WHERE operation = 'changed' AND before <> replicas`,
  restarts: `SELECT ${where}, restarts - before AS added, restarts, ended AS reason, node, owner
    FROM (SELECT *, lag(restarts) OVER (${object}) AS before,
        last_value(CASE WHEN reason <> 'CrashLoopBackOff' THEN reason END IGNORE NULLS) OVER (${object}) AS ended
      FROM changes WHERE kind = 'Pod')
    WHERE restarts > before`,
  oom_kills: `SELECT ${where}, node, owner, memory AS requested FROM changes WHERE kind = 'Pod' AND reason = 'OOMKilled'`,
  evictions: `SELECT ${where}, reason, node, owner FROM changes
    WHERE kind = 'Pod' AND reason IN ('Evicted', 'EvictionByEvictionAPI', 'PreemptionByScheduler', 'DeletionByTaintManager',
      'DeletionByPodGC', 'TerminationByKubelet', 'Preempting', 'NodeShutdown', 'NodeLost')
    QUALIFY row_number() OVER (${object}) = 1`,
  node_not_ready: `SELECT time, cluster, name, phase, reason, until, date_diff('second', time, until) AS seconds
    FROM (SELECT *, lead(time) OVER (${object}) AS until
      FROM (SELECT *, lag(phase) OVER (${object}) AS before FROM changes WHERE kind = 'Node' AND gvk = 'v1.Node')
      WHERE before IS DISTINCT FROM phase OR operation IN ('deleted', 'vanished'))
    WHERE phase <> 'Ready' AND operation NOT IN ('deleted', 'vanished')`,
  deletions: `SELECT ${where}, operation, owner, username FROM changes WHERE operation IN ('deleted', 'vanished')`,
  who: `SELECT cluster, coalesce(username, manager) AS who, kind, operation, count(*) AS changes, min(time) AS since, max(time) AS until
    FROM changes WHERE coalesce(username, manager) IS NOT NULL GROUP BY ALL`,
  waste: `SELECT cluster, namespace, coalesce(owner, name) AS owner, why, count(DISTINCT uid) AS pods,
      sum(hours) AS pod_hours, sum(hours * cpu) AS cpu_hours, sum(hours * memory) / 1073741824 AS memory_gib_hours
    FROM (SELECT *, coalesce(reason, phase) AS why, date_diff('millisecond', time, coalesce(lead(time) OVER (${object}),
          (SELECT max(time) FROM changes))) / 3600000 AS hours FROM changes WHERE kind = 'Pod')
    WHERE node IS NOT NULL AND operation NOT IN ('deleted', 'vanished') AND (phase = 'Pending' OR (phase = 'Running' AND reason IN
      ('CrashLoopBackOff', 'ImagePullBackOff', 'ErrImagePull', 'CreateContainerConfigError', 'CreateContainerError', 'RunContainerError')))
    GROUP BY ALL`,
}
