/** The value of one property of each item. */
export function pluck<T, Key extends keyof T>(items: readonly T[], key: Key): T[Key][] {
  return items.map((item) => item[key])
}
