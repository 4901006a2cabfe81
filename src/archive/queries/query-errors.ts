/** Questions that have no answer. What is wrong with the recording itself is an ArchiveError. */
import * as Schema from "effect/Schema"

/** The question names something that cannot be: a continuation of another question, a kind that was never recorded, a path that is none. */
export class QuestionRefused extends Schema.TaggedError<QuestionRefused>()("QuestionRefused", {
  /** What is wrong, on one line, without a full stop. */
  problem: Schema.String,
  /** What was looked for: a wrong request, something that is not in the recording, or something that is not kept any more. */
  fault: Schema.Literals(["request", "not-recorded", "gone"]),
}) {
  override get message(): string {
    return this.problem
  }
}
