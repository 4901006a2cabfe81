/** Numbers that hold until the next, as a small drawing. */

interface StepLine {
  readonly name: string
  /** From 0 to 1, the place in the width, and the value there; `null`: there is none until the next. */
  readonly points: ReadonlyArray<readonly [place: number, value: number | null]>
  readonly isDashed?: boolean
}

interface StepChartProps {
  readonly title: string
  readonly note: string
  readonly lines: ReadonlyArray<StepLine>
  /** 0 to 1: a moment that is marked. */
  readonly cursor?: number
  readonly onPress?: (place: number) => void
}

const width = 1000

/** The drawing is as wide as there is place; its lines keep their width. */
export const StepChart = ({ title, note, lines, cursor, onPress }: StepChartProps) => {
  const values = lines.flatMap(({ points }) => points.flatMap(([, value]) => (value === null ? [] : [value])))
  const top = values.reduce((one, other) => Math.max(one, other), 0) || 1
  const base = values.reduce((one, other) => Math.min(one, other), 0)
  const height = top - base
  const press = (event: MouseEvent & { readonly currentTarget: SVGSVGElement }): void => {
    const box = event.currentTarget.getBoundingClientRect()
    if (box.width > 0) onPress?.((event.clientX - box.left) / box.width)
  }
  return (
    <figure class="step-chart">
      <figcaption>
        {title} <span class="quiet">{note}</span>
      </figcaption>
      {/* biome-ignore lint/a11y/useKeyWithClickEvents: the keys of the page move the cursor */}
      <svg
        viewBox={`0 ${-height / 20} ${width} ${height * 1.1}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={`${title}. ${note}`}
        onClick={onPress && press}
      >
        {lines.map(({ name, points, isDashed }) => (
          <path key={name} class={isDashed === true ? "dashed" : ""} d={pathOf(points, top)} />
        ))}
        {cursor !== undefined && cursor >= 0 && cursor <= 1 && (
          <path class="at" d={`M${cursor * width} ${-height / 20}v${height * 1.1}`} />
        )}
      </svg>
    </figure>
  )
}

/** The last value holds to the place of the last point. */
const pathOf = (points: StepLine["points"], top: number): string => {
  let isDown = false
  return points
    .map(([place, value]) => {
      const x = +(place * width).toFixed(2)
      const across = isDown ? `H${x}` : ""
      if (value === null) {
        isDown = false
        return across
      }
      const step = isDown ? `${across}V${top - value}` : `M${x} ${top - value}`
      isDown = true
      return step
    })
    .join("")
}
