/**
 * The `Accept` header, read as the API server reads it: clauses by descending quality, more specific ones first, equal
 * ones in the client's order. Unknown parameters are ignored.
 */

/** One clause: `application/json;as=Table;v=v1;g=meta.k8s.io`. Names and types in lower case. */
export interface AcceptClause {
  readonly type: string
  readonly subtype: string
  readonly parameters: ReadonlyMap<string, string>
}

/** Best first. An empty header gives no clause: the server chooses. */
export const parseAccept = (header: string): ReadonlyArray<AcceptClause> =>
  header
    .split(",")
    .filter((clause) => clause.trim() !== "")
    .map(parseClause)
    .sort((left, right) => right.quality - left.quality || specificity(right) - specificity(left))

/** Whether the clause accepts `application/<subtype>`. `application/*` accepts nothing: the real server responds with 406. */
export const takes = (clause: AcceptClause, subtype: string): boolean =>
  clause.type === "*" ? clause.subtype === "*" : clause.type === "application" && clause.subtype === subtype

const parseClause = (text: string): AcceptClause & { readonly quality: number } => {
  const [media = "", ...rest] = text.split(";").map((part) => part.trim())
  const [type = "", subtype = "*"] = media.toLowerCase().split("/")
  const parameters = new Map<string, string>()
  for (const parameter of rest) {
    const equals = parameter.indexOf("=")
    if (equals > 0) parameters.set(parameter.slice(0, equals).trim().toLowerCase(), parameter.slice(equals + 1).trim())
  }
  const quality = Number(parameters.get("q") ?? "1")
  return { type, subtype, parameters, quality: Number.isFinite(quality) ? quality : 1 }
}

const specificity = ({ type, subtype }: AcceptClause): number => (type === "*" ? 0 : subtype === "*" ? 1 : 2)
