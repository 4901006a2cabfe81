/** Findings in words. */
import type { Finding } from "../../validation/findings.ts"
import type { Place, Subject } from "../../validation/rule.ts"

/** `apps/v1.Deployment shop/web`; the kind alone if the finding is about a kind. */
export const subjectText = ({ gvk, namespace, name }: Subject): string => {
  const own = namespace === "" ? name : `${namespace}/${name}`
  return [gvk === "" ? "(no kind)" : gvk, own].filter((part) => part !== "").join(" ")
}

/** `Secret db`; where a finding is about the object itself, the field. */
const referenceText = ({ kind, name, places }: Pick<Finding, "kind" | "name" | "places">): string =>
  [kind, name].filter((part) => part !== "").join(" ") || places.map(placeText).join(", ")

/** `spec.template.spec.containers[*].env[*].valueFrom.secretKeyRef.name` */
export const placeText = ({ element, by }: Place): string => (element === "" ? by : `${element}.${by}`)

/** `apps/v1.Deployment shop/web: Secret db`; the subject alone if it is itself what is missing. */
export const findingText = (finding: Pick<Finding, "subject" | "kind" | "name" | "places">): string =>
  finding.name !== "" && finding.name === finding.subject.name
    ? subjectText(finding.subject)
    : `${subjectText(finding.subject)}: ${referenceText(finding)}`
