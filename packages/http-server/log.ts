type Write = (message: string, fields?: Record<string, unknown>) => void

/** What the server reports: no addresses of clients, and nothing of requests. */
export interface Log {
  info: Write
  warn: Write
  error: Write
  /** Writes the first entry of a message, and how many followed. */
  summarize(level: 'warn' | 'error', message: string, fields?: Record<string, unknown>): void
}
