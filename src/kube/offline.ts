/**
 * The names and values of Kubernetes: kinds, versions, selectors, quantities, redacted values. A door of its own, so that a trace is read and written
 * without the client.
 *
 * Guarantee: pure functions that talk to no server and load no other library.
 */

export { builtInResources, familiarKind } from "./kinds/built-in-resources.ts"
export { apiVersionOf, formatGvk, type GroupVersionKind, parseGvk } from "./kinds/gvk.ts"
export { kubeconfigOfContexts } from "./kubeconfig.ts"
export * as names from "./names.ts"
export {
  type Complaints,
  configKeyComplaints,
  hostLabelComplaints,
  labelComplaints,
  labelValueComplaints,
  pathSegmentComplaints,
  qualifiedNameComplaints,
  subdomainComplaints,
} from "./names.ts"
export { canonicalQuantity, quantityOf, thousandths, wholeUnits } from "./quantity.ts"
export { describeRedacted, RedactedSums, RedactedValues, valueKinds } from "./redaction/redacted-values.ts"
export { compareResourceVersions, parseResourceVersion, type ResourceVersion } from "./resource-version.ts"
export {
  type FieldRequirement,
  fieldSelectorTerms,
  matchesFields,
  parseFieldSelector,
  selectedName,
} from "./selectors/field-selector.ts"
export {
  type LabelRequirement,
  type LabelSelector,
  type LabelSelectorObject,
  matchesLabels,
  parseLabelSelector,
  requirementFault,
  requirementsOf,
  selectorMatches,
  selectorText,
  setOperators,
} from "./selectors/label-selector.ts"
export {
  HashRange,
  parseShardSelector,
  rangeOfShard,
  type Shard,
  type ShardField,
  type ShardSelector,
  shardOfName,
  shardSelectorOf,
  shardText,
} from "./selectors/shard-selector.ts"
export { hasStatus, isStatusKnown, recordsStatus, type StatusRecorded, statusAlways, statusNever } from "./statuses.ts"
