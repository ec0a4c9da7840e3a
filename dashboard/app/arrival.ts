let hasArrived = false

/** For the router: another page is shown than the one that this document was loaded for. */
export function arrive(): void {
  hasArrived = true
}

/** Whether a page stands where another one stood: then the reader is taken to its heading, which nothing else would do. */
export function cameFromElsewhere(): boolean {
  return hasArrived
}
