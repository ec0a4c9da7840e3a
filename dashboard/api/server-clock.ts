/** Milliseconds by which the server's clock is ahead. */
let ahead = 0

export function setClock(header: (name: string) => string | null): void {
  const time = Date.parse(header('date') ?? '')
  if (time) ahead = time - Date.now()
}

/** Milliseconds since 1970 by the server's clock, which decides about expiry. */
export function serverNow(): number {
  return Date.now() + ahead
}
