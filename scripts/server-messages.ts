/** From the process of a test group to the runner, and from there to the process that starts shared servers. */
export interface ServerRequest {
  kind: 'server'
  name: string
}

/** From the runner to the process of a test group, in which no test has ended for this time (scripts/silence.ts). */
export interface SilenceMessage {
  kind: 'silent'
  silentMs: number
}

/** The answer: where the server listens, or why it did not start. */
export interface ServerReply {
  kind: 'server'
  name: string
  address?: string
  error?: string
}
