/** Numbers given as an integer or a percentage of a total (apimachinery intstr). */

export type IntOrPercent = number | string

/** Anything but a number or a percentage counts as 0; the server refuses it anyway. */
export const scaledValue = (value: IntOrPercent | undefined, total: number, roundUp: boolean): number => {
  if (typeof value === "number") return value
  const percent = Number(/^(-?\d+)%$/.exec(value ?? "")?.[1] ?? 0)
  const exact = (percent * total) / 100
  return roundUp ? Math.ceil(exact) : Math.floor(exact)
}
