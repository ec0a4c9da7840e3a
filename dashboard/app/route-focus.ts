let hasNavigated = false

/** Called by the router when another page is shown than the loaded one. */
export function markNavigated(): void {
  hasNavigated = true
}

/** Whether a page replaces another one: focus then moves to its heading. */
export function isClientNavigation(): boolean {
  return hasNavigated
}
