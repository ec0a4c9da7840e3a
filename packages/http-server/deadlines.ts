export type ConnectionDeadlines = typeof CONNECTION_DEADLINES

/** In milliseconds. */
export const CONNECTION_DEADLINES = Object.freeze({
  /** The head of a request; a connection without a byte; when the service ends, one that may be sending a request. */
  connection: { head: 15_000, idle: 60_000, lastRequest: 1000 },
  /** A client that still sends after its response: without a byte, and in total. As `lingering_timeout` and `lingering_time` of nginx. */
  lingering: { idle: 5000, total: 30_000 },
})
