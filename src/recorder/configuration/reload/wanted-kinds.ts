/** What to record now: the configuration in force, with the kinds of the server filled in where it asks for every kind. */
import type { DiscoveredKind } from "../../../kube/discovery/discovered-kinds.ts"
import { expandEveryKind } from "../every-kind.ts"
import {
  type DetectionDefaults,
  type RecorderConfiguration,
  type TrackedKind,
  withinNamespaces,
} from "../tracked-kind.ts"

interface WantedKindsOptions {
  /** The namespaces of the command line. */
  readonly namespaces: ReadonlyArray<string>
  readonly secretsInPlainText: boolean
  readonly defaults: DetectionDefaults
}

export class WantedKinds {
  readonly #options: WantedKindsOptions
  #configuration: RecorderConfiguration
  #discovered: ReadonlyArray<DiscoveredKind> = []

  constructor(configuration: RecorderConfiguration, options: WantedKindsOptions) {
    this.#options = options
    this.#configuration = withinNamespaces(configuration, options.namespaces)
  }

  /** Whether the server's kinds matter. */
  get isEvery(): boolean {
    return this.#configuration.every !== undefined
  }

  get kinds(): ReadonlyArray<TrackedKind> {
    const { kinds, every } = this.#configuration
    return every === undefined ? kinds : expandEveryKind(kinds, every, this.#discovered, this.#options)
  }

  /** Takes another configuration; returns what to record with it. */
  configure(configuration: RecorderConfiguration): ReadonlyArray<TrackedKind> {
    this.#configuration = withinNamespaces(configuration, this.#options.namespaces)
    return this.kinds
  }

  /** Takes what the server has; returns what to record then. */
  discover(discovered: ReadonlyArray<DiscoveredKind>): ReadonlyArray<TrackedKind> {
    this.#discovered = discovered
    return this.kinds
  }
}
