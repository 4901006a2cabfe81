/** Whether the pods of a replay follow their recorded lives, and how the cluster reaches the webhook that tells them. */
import { isIP } from "node:net"
import { followRecordedLives } from "../../simulation/pods/followed-pods.ts"
import { LifeScout } from "../../simulation/pods/life-scout.ts"
import { PassingLives } from "../../simulation/pods/life-source.ts"
import type { RepetitionsOptions } from "../../simulation/replay/repetitions.ts"
import { registeredWebhook, type WebhookAddress } from "../../simulation/webhook/pod-webhook.ts"
import type { ReplayOrder, Say } from "./replay-order.ts"
import type { ReplayStage } from "./replay-stage.ts"
import { isLoopback } from "./replay-target.ts"
import type { ReplaySource } from "./source/replay-source.ts"

/** The trace as each run reads it, and what gives the run's pods their lives. */
export const podsOf = (
  { pods, webhookAddress }: Pick<ReplayOrder, "pods" | "webhookAddress">,
  { source, target }: Pick<ReplayStage<unknown>, "source" | "target">,
  say: Say,
): Pick<RepetitionsOptions, "open" | "followPods"> => {
  const { open } = source
  if (pods === "cluster") return { open }
  let passing = new PassingLives()
  const address = addressOf(webhookAddress, target.isHere)
  const followPods = followRecordedLives({
    client: target.podsClient,
    source: () => (source.isReadOnce ? passing : new LifeScout(open)),
    webhook: address && registeredWebhook(target.podsClient, address),
    random: Math.random,
    onProblem: say,
  })
  if (!source.isReadOnce) return { open, followPods }
  const openOnce: ReplaySource["open"] = async (signal) => {
    passing = new PassingLives()
    return passing.items(await open(signal))
  }
  return { open: openOnce, followPods }
}

const loopback = "127.0.0.1"

const addressOf = (given: ReplayOrder["webhookAddress"], isHere: boolean): WebhookAddress | undefined => {
  if (given === undefined) return isHere ? { host: loopback, listen: { address: loopback, port: 0 } } : undefined
  const { host, port } = given
  // The host may be that of a proxy or a NAT in front of this machine.
  const address = isLoopback(host) ? (isIP(host) === 0 ? loopback : host) : "::"
  return { host, listen: { address, port } }
}
