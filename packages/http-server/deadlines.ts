/** In milliseconds. */
export interface ConnectionDeadlines {
  /** The head of a request; a connection without a byte; when the service ends, one that may be sending a request. */
  connection: { head: number; idle: number; lastRequest: number }
  /** A client that still sends after its response: without a byte, and in total. As `lingering_timeout` and `lingering_time` of nginx. */
  lingering: { idle: number; total: number }
}

export const CONNECTION_DEADLINES: Readonly<ConnectionDeadlines> = Object.freeze({
  connection: { head: 15_000, idle: 60_000, lastRequest: 1000 },
  lingering: { idle: 5000, total: 30_000 },
})
