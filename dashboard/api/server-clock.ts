/** Milliseconds that the server's clock is ahead of this one. */
let ahead = 0

export function setClock(header: (name: string) => string | null): void {
  const time = Date.parse(header('date') ?? '')
  if (time) ahead = time - Date.now()
}

/** Milliseconds since 1970, as the server counts them: what expires, expires by its clock. */
export function serverNow(): number {
  return Date.now() + ahead
}
