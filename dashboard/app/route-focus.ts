let hasNavigated = false

/** Called by the router when another page is shown than the loaded one. */
export function markNavigated(): void {
  hasNavigated = true
}

/** Whether a page replaces another one: focus then moves to its heading. */
export function isClientNavigation(): boolean {
  return hasNavigated
}

/** Moves the focus to the heading of the page, unless an element of the page has it. */
export function focusHeading(): void {
  const main = document.querySelector('main')
  if (!main?.contains(document.activeElement)) main?.querySelector('h1')?.focus({ preventScroll: true })
}
